//! The member list of a group: its fibres, their results, and the first failure.
//!
//! All of it is under one short lock, with one list of callers that wait for something to end. A
//! fibre is entered before it starts; its result is kept before the fibre is counted down, which
//! happens once. So a caller that finds no fibre running finds every result.
//!
//! Each end wakes all waiting callers, usually only the group's body. The user's values are dropped
//! outside of the lock.

use crate::faults;
use crate::selection::{ListArm, Listed};
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, Unwind, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitKind, WaitObject};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

/// Why a group fails.
#[derive(Debug)]
pub enum Failure<E> {
    /// A fibre, or the body, has returned an error.
    Error(E),
    /// A fibre has panicked.
    Panicked(Box<dyn Any + Send>),
    /// The time is over.
    TimedOut,
    /// Somebody has cancelled the group, or the caller.
    Cancelled,
}

/// Fibres are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished;

/// The member list.
#[derive(Debug)]
pub struct Members<T, E> {
    state: Locked<State<T, E>>,
    /// How many fibres may run at once.
    most: usize,
}

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct State<T, E> {
    /// How many fibres have been entered, and have not ended.
    running: usize,
    /// How many fibres with a result have been entered: the number of the next one.
    entered: u64,
    /// Results that have not been taken, by the number of their fibre.
    results: BTreeMap<u64, T>,
    /// The numbers of fibres in the order they ended. Those of results that were taken in another
    /// order are passed over.
    order: VecDeque<u64>,
    /// The number of the fibre with the next result in the order of starts.
    next: u64,
    /// Whether it has failed. Stays when the failure is taken.
    failed: bool,
    /// The first failure.
    failure: Option<Failure<E>>,
    /// The callers that wait for something to end.
    waiting: WaitList,
}

impl<T, E> State<T, E> {
    /// Takes the result of the fibre that ended first.
    fn take_first(&mut self) -> Option<T> {
        let results = &mut self.results;
        std::iter::from_fn(|| self.order.pop_front()).find_map(|number| results.remove(&number))
    }

    /// Takes the result of the fibre that was started first.
    fn take_next(&mut self) -> Option<T> {
        let result = self.results.remove(&self.next);
        if result.is_some() {
            self.next += 1;
            // Nobody asks for the other order.
            self.order.clear();
        }
        result
    }
}

impl<T, E> Members<T, E> {
    /// Members, at most so many fibres at once.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            state: Locked::new(State {
                running: 0,
                entered: 0,
                results: BTreeMap::new(),
                order: VecDeque::new(),
                next: 0,
                failed: false,
                failure: None,
                waiting: WaitList::new(),
            }),
            most,
        }
    }

    /// Enters a fibre, and returns its number among those with a result. Blocks the fibre (or
    /// thread) while there are as many as there may be. `None`: the group has failed.
    pub fn enter(&self, has_result: bool) -> Option<u64> {
        let enters = |state: &mut State<T, E>| match (state.failed, state.running < self.most) {
            (true, _) => Some(None),
            (false, false) => None,
            (false, true) => {
                let number = state.entered;
                state.running += 1;
                state.entered += u64::from(has_result);
                Some(Some(number))
            }
        };
        self.wait_until(Limit::None, enters).flatten()
    }

    /// Keeps the result of the fibre with this number, which has not been counted down.
    pub fn keep(&self, number: u64, result: T) {
        if planted(faults::group::COUNTS_DOWN_BEFORE_IT_KEEPS) {
            self.ended();
        }
        let mut state = self.state.lock();
        let superfluous = match state.failed {
            true => Some(result),
            false => {
                state.order.push_back(number);
                state.results.insert(number, result)
            }
        };
        drop(state);
        drop(superfluous);
    }

    /// Counts down a fibre, which has ended.
    pub fn ended(&self) {
        let mut state = self.state.lock();
        state.running = state.running.saturating_sub(1);
        let all = state.waiting.claim_all(0);
        drop(state);
        all.resume();
    }

    /// Notes a failure, unless there has been one, and drops the results that nobody will take. The
    /// first panic of a destructor goes on when all are gone.
    pub fn fail(&self, failure: Failure<E>) {
        let mut state = self.state.lock();
        let superfluous = match state.failed && !planted(faults::group::LAST_FAILURE_COUNTS) {
            true => Some(failure),
            false => state.failure.replace(failure),
        };
        state.failed = true;
        let results = std::mem::take(&mut state.results);
        let all = state.waiting.claim_all(0);
        drop(state);
        all.resume();
        let mut panics = Unwind::none();
        panics.note_drops(superfluous);
        panics.note_drops(results.into_values());
        panics.go_on_if_none_does();
    }

    /// Drops the results that nobody has taken or will take. The first panic goes on when all are
    /// gone.
    pub fn drop_results(&self) {
        let results = std::mem::take(&mut self.state.lock().results);
        let mut panics = Unwind::none();
        panics.note_drops(results.into_values());
        panics.go_on();
    }

    /// The next result in the order of ends; `None` if none will come.
    pub fn next(&self) -> Option<T> {
        self.take(State::take_first)
    }

    /// The next result in the order of starts; `None` if none will come.
    pub fn next_in_order(&self) -> Option<T> {
        self.take(State::take_next)
    }

    /// Waits for what `take` takes.
    fn take(&self, take: fn(&mut State<T, E>) -> Option<T>) -> Option<T> {
        let look = |state: &mut State<T, E>| match take(state) {
            None if state.failed || state.running == 0 => Some(None),
            None => None,
            result => Some(result),
        };
        self.wait_until(Limit::None, look).flatten()
    }

    /// Waits until no fibre is left.
    ///
    /// # Errors
    ///
    /// [`Unfinished`], if the limit came first.
    pub fn wait_for_all(&self, limit: Limit) -> Result<(), Unfinished> {
        let look = |state: &mut State<T, E>| (state.running == 0).then_some(());
        self.wait_until(limit, look).ok_or(Unfinished)
    }

    /// How many fibres run.
    pub fn running(&self) -> usize {
        self.state.lock().running
    }

    /// Whether there has been a failure.
    pub fn has_failed(&self) -> bool {
        self.state.lock().failed
    }

    /// Takes the first failure.
    pub fn take_failure(&self) -> Option<Failure<E>> {
        self.state.lock().failure.take()
    }

    /// [`next`](Self::next) or [`next_in_order`](Self::next_in_order), as an arm of a selection.
    #[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
    pub(crate) fn next_arm(&self, in_order: bool) -> ListArm<NextOf<'_, T, E>> {
        let members = self;
        ListArm::new(NextOf { members, in_order })
    }

    /// The end of all fibres, as an arm of a selection.
    #[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
    pub(crate) fn end_arm(&self) -> ListArm<EndOf<'_, T, E>> {
        ListArm::new(EndOf(self))
    }

    /// Waits until `look`, under the lock, finds something; `None` if the limit comes first. Blocks
    /// the fibre (or thread).
    fn wait_until<R>(
        &self,
        limit: Limit,
        mut look: impl FnMut(&mut State<T, E>) -> Option<R>,
    ) -> Option<R> {
        yield_point();
        loop {
            let mut found = None;
            let enter = |state: &mut State<T, E>| {
                found = look(state);
                found.is_none()
            };
            let awaited = WaitObject::placeless(WaitKind::Scope);
            // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it; those that
            // are claimed are resumed.
            let outcome = unsafe {
                ListWait::new(awaited, limit).in_list(
                    &self.state,
                    |state| &mut state.waiting,
                    enter,
                )
            };
            match outcome {
                Outcome::TimedOut | Outcome::Cancelled => return None,
                Outcome::Woken(_) | Outcome::NotParked if found.is_some() => return found,
                Outcome::Woken(_) | Outcome::NotParked => {}
            }
        }
    }
}

impl<T, E> Drop for Members<T, E> {
    /// Drops what is left, each by itself. A panic ends here: the group has ended already.
    fn drop(&mut self) {
        let (results, failure) = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.results), state.failure.take())
        };
        let mut panics = Unwind::none();
        panics.note_drops(failure);
        panics.note_drops(results.into_values());
    }
}

/// A wait for a result.
#[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
pub(crate) struct NextOf<'a, T, E> {
    /// The member list.
    members: &'a Members<T, E>,
    /// Whether it is that of the fibre which was entered next.
    in_order: bool,
}

impl<T, E> Listed for NextOf<'_, T, E> {
    type State = State<T, E>;
    type Output = Option<T>;

    fn locked(&self) -> &Locked<State<T, E>> {
        &self.members.state
    }

    fn list(state: &mut State<T, E>) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State<T, E>) -> Option<Option<T>> {
        let result = match self.in_order {
            true => state.take_next(),
            false => state.take_first(),
        };
        match result {
            None => (state.failed || state.running == 0).then_some(None),
            result => Some(result),
        }
    }

    fn is_there(&self, state: &State<T, E>) -> bool {
        let has = |number: &u64| state.results.contains_key(number);
        let result = match self.in_order {
            true => has(&state.next),
            false => state.order.iter().any(has),
        };
        result || state.failed || state.running == 0
    }

    fn handed(&self) -> Option<Option<T>> {
        None
    }
}

/// A wait for the end of all fibres.
#[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
pub(crate) struct EndOf<'a, T, E>(&'a Members<T, E>);

impl<T, E> Listed for EndOf<'_, T, E> {
    type State = State<T, E>;
    type Output = ();

    fn locked(&self) -> &Locked<State<T, E>> {
        &self.0.state
    }

    fn list(state: &mut State<T, E>) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State<T, E>) -> Option<()> {
        self.is_there(state).then_some(())
    }

    fn is_there(&self, state: &State<T, E>) -> bool {
        state.running == 0
    }

    fn handed(&self) -> Option<()> {
        None
    }
}
