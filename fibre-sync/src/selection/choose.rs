//! How a selection chooses one of its arms, and waits if it must.
//!
//! First the selection tries each arm by itself. If it can complete none, one waiter enters the
//! lists of all, in two steps:
//!
//! 1. *Joint* arms, those of channels, may serve another selection, which may be doing the same. So
//!    the selection takes their locks in the order of their addresses, and tries these arms once
//!    more. If none is ready, all enter their lines. A selection never stands in some lines and not
//!    in others: two selections that could serve each other find each other, and none finds itself.
//!    All locks are held for a few instructions for each arm.
//! 2. The other arms enter one after the other, each under its own lock. Once the first has
//!    entered, a waker may claim the waiter. An arm that finds itself ready takes nothing yet: the
//!    selection first claims its own waiter. If it wins, no waker can, so it leaves all lists and
//!    tries that arm. If it loses, that waker has chosen.
//!
//! The claim of the one waiter decides, so nothing is handed to a selection that has chosen another
//! arm, and no wake-up has to be passed on. All arms leave their lists before the waiter's frame
//! ends, and then say which waker has won. Both the winner and a waker that lost have taken a node
//! out; the loser has noted that in the node ([`WaitList::leave`](crate::WaitList::leave)).
//!
//! Arms for time enter no list. The wait ends at the first of their moments. That is not a limit of
//! the call: a selection without a limit still does not notice cancellation. At that moment, and
//! when the limit comes, the selection tries all arms once more.

use super::case::Candidate;
use super::order::Order;
use crate::faults;
use fibre_core::internal::{LockedArm, Outcome, Wait, Waiter, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Entered, Left, Limit, WaitError, WaitKind, WaitObject};
use std::cell::Cell;
use std::fmt;

/// An arm, and which one it is.
pub struct Standing<'s> {
    /// The arm.
    case: &'s mut dyn Candidate,
    /// Which one it is.
    number: usize,
}

impl<'s> Standing<'s> {
    /// The arm of this number.
    pub fn new(number: usize, case: &'s mut dyn Candidate) -> Self {
        Self { case, number }
    }

    /// Which one it is.
    fn number(&self) -> usize {
        self.number
    }

    /// The arm, if it is a joint one.
    fn joint(&self) -> Option<&dyn LockedArm> {
        // SAFETY: this is its selection, which has it by `&mut`.
        unsafe { self.case.joint() }
    }

    /// Where its lock is, for a joint arm; the others come after these.
    fn address(&self) -> usize {
        self.joint().map_or(usize::MAX, LockedArm::address)
    }
}

impl fmt::Debug for Standing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// The outcome of a selection.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// The arm of this number, which has its output.
    Arm(usize),
    /// None: the limit came first, or none can be completed now.
    None(Option<WaitError>),
    /// There is no arm that can be chosen.
    Closed,
}

/// Chooses one of these arms. `limit`: until when to wait; `None` for not at all.
pub fn choose<const ARMS: usize>(
    arms: [&mut dyn Candidate; ARMS],
    order: Order,
    limit: Option<Result<Limit, WaitError>>,
) -> Chosen {
    let mut number = 0;
    let mut arms = arms.map(|case| {
        number += 1;
        Standing::new(number - 1, case)
    });
    match limit {
        None => choose_among(&mut arms, order),
        Some(Ok(limit)) => choose_within(&mut arms, order, limit),
        Some(Err(error)) => Chosen::None(Some(error)),
    }
}

/// Chooses an arm that can be completed now. Blocks nothing.
pub(crate) fn choose_among(arms: &mut [Standing<'_>], order: Order) -> Chosen {
    let open = open(arms);
    if open.is_empty() {
        return Chosen::Closed;
    }
    order.arrange(open, Standing::number);
    attempt(open).map_or(Chosen::None(None), Chosen::Arm)
}

/// Waits until one of the arms has been chosen, or the limit comes first. Blocks the fibre, or the
/// thread if the caller is not a fibre.
pub(crate) fn choose_within(arms: &mut [Standing<'_>], order: Order, limit: Limit) -> Chosen {
    let open = open(arms);
    if open.is_empty() {
        return Chosen::Closed;
    }
    loop {
        yield_point();
        order.arrange(open, Standing::number);
        if let Some(number) = attempt(open) {
            return Chosen::Arm(number);
        }
        match wait(open, limit) {
            Waited::Chosen(number) => return Chosen::Arm(number),
            Waited::Over(error) => return Chosen::None(Some(error)),
            Waited::LookAgain => {}
        }
    }
}

/// The arms that can be chosen, which come first from now on.
fn open<'a, 's>(arms: &'a mut [Standing<'s>]) -> &'a mut [Standing<'s>] {
    let mut count = 0;
    for index in 0..arms.len() {
        if arms[index].case.is_open() {
            arms.swap(count, index);
            count += 1;
        }
    }
    &mut arms[..count]
}

/// Completes one of the arms, in their order, if one can be; which one it was.
fn attempt(arms: &mut [Standing<'_>]) -> Option<usize> {
    arms.iter_mut()
        .find_map(|arm| arm.case.attempt().then_some(arm.number))
}

/// What has come of a wait.
enum Waited {
    /// The arm of this number has been chosen.
    Chosen(usize),
    /// The limit has come.
    Over(WaitError),
    /// An arm may be ready.
    LookAgain,
}

/// Waits for an arm, or the limit.
fn wait(arms: &mut [Standing<'_>], limit: Limit) -> Waited {
    let joint = gather_joint(arms);
    let due = arms.iter().filter_map(|arm| arm.case.due()).min();
    let kind = match arms.iter().any(|arm| arm.case.is_from_outside()) {
        true => WaitKind::SelectOutside,
        false => WaitKind::Select,
    };
    let wait = ArmsWait {
        arms,
        joint,
        entered: Cell::new(joint),
        found: Cell::new(None),
    };
    let park = Wait::new(WaitObject::placeless(kind), limit).until(due);
    let publish = |waiter: &Waiter, _| wait.publish(waiter);
    let withdraw = |waiter: &Waiter| wait.leave(waiter);
    // SAFETY: wakers reach the waiter by the arms only, as their contract says. If `publish`
    // returns `false`, no arm stands in a list; and all have left after `withdraw`.
    let outcome = unsafe { park.park_among(publish, withdraw) };
    let found = wait.found.get().map(|index| &mut arms[index]);
    match (outcome, found) {
        (Outcome::Woken(token), Some(arm)) => look(arm, |case| case.woken(token)),
        (Outcome::NotParked, Some(arm)) => {
            let Some(joint) = arm.joint() else {
                return look(arm, |case| case.attempt());
            };
            joint.carry_out();
            look(arm, |case| case.woken(0))
        }
        (Outcome::Woken(_) | Outcome::NotParked, None) => Waited::LookAgain,
        (Outcome::TimedOut, _) => look_at_last(arms, limit),
        (Outcome::Cancelled, _) => Waited::Over(WaitError::Cancelled),
    }
}

/// Puts the joint arms before the others, in the order of their locks. Returns how many there are.
fn gather_joint(arms: &mut [Standing<'_>]) -> usize {
    if arms.iter().all(|arm| arm.joint().is_none()) {
        return 0;
    }
    arms.sort_unstable_by_key(Standing::address);
    arms.partition_point(|arm| arm.joint().is_some())
}

/// Completes an arm that has been found.
fn look(arm: &mut Standing<'_>, complete: impl FnOnce(&mut dyn Candidate) -> bool) -> Waited {
    match complete(&mut *arm.case) {
        true => Waited::Chosen(arm.number),
        false => Waited::LookAgain,
    }
}

/// Looks at all arms once more, as a moment has come: that of an arm, or that of the limit.
fn look_at_last(arms: &mut [Standing<'_>], limit: Limit) -> Waited {
    if let Some(number) = attempt(arms) {
        return Waited::Chosen(number);
    }
    match limit.is_timed() && limit.next_look().is_none() {
        true => Waited::Over(WaitError::TimedOut),
        false => Waited::LookAgain,
    }
}

/// A wait of a selection.
struct ArmsWait<'w, 's> {
    /// The arms, joint ones first.
    arms: &'w [Standing<'s>],
    /// How many are joint.
    joint: usize,
    /// The arms before this one stand in their lists.
    entered: Cell<usize>,
    /// The one that has been chosen, or may be.
    found: Cell<Option<usize>>,
}

impl ArmsWait<'_, '_> {
    /// Enters all lists. `false`: an arm has been found instead.
    fn publish(&self, waiter: &Waiter) -> bool {
        if let Some(index) = self.enter_joint(waiter) {
            self.found.set(Some(index));
            return false;
        }
        for (index, arm) in self.arms.iter().enumerate().skip(self.joint) {
            // SAFETY: arms and waiter stay where they are until `leave`.
            match unsafe { arm.case.enter(waiter) } {
                Entered::Waits => self.entered.set(index + 1),
                Entered::Ready => {
                    let wins =
                        waiter.claim(0).is_some() || planted(faults::select::TAKES_WITHOUT_A_CLAIM);
                    if wins {
                        self.leave(waiter);
                        self.found.set(Some(index));
                    }
                    return !wins;
                }
            }
        }
        true
    }

    /// The first step: a last look at the joint arms, and their way into the lines. Returns the one
    /// that has been carried out.
    fn enter_joint(&self, waiter: &Waiter) -> Option<usize> {
        let arms = &self.arms[..self.joint];
        let all = || arms.iter().filter_map(|arm| arm.joint());
        let mut locked = None;
        for arm in all() {
            if locked.replace(arm.address()) != Some(arm.address()) {
                arm.lock();
            }
        }
        let blind = planted(faults::select::NO_SECOND_LOOK_UNDER_THE_LOCKS);
        // SAFETY: all locks are held.
        let done = all().position(|arm| !blind && unsafe { arm.attempt_locked() });
        if done.is_none() {
            // SAFETY: all locks are held; the arms stay where they are until `leave`.
            all().for_each(|arm| unsafe { arm.enter_locked(waiter) });
        }
        all().for_each(LockedArm::unlock);
        done
    }

    /// Leaves all lists, and finds the arm of the waker that has claimed the waiter.
    fn leave(&self, waiter: &Waiter) {
        let stays = planted(faults::select::ARM_STAYS_IN_ITS_LINE);
        let entered = &self.arms[..self.entered.get()];
        for (index, arm) in entered.iter().enumerate().skip(stays.into()) {
            let left = match arm.joint() {
                Some(joint) => joint.leave_line(),
                // SAFETY: it has entered, and leaves once.
                None => unsafe { arm.case.leave(waiter) },
            };
            if left == Left::Here {
                self.found.set(Some(index));
            }
        }
    }
}
