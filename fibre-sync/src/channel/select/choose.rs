//! How a selection chooses one of its arms, and waits if it must.
//!
//! First each arm is tried by itself, in an order that begins somewhere else each time, so
//! that no arm that is always ready keeps the others from being chosen.
//!
//! If none can be carried out, the locks of all channels are taken, in the order of their
//! addresses; the arms are tried once more; and if it is still so, all enter their lines. So
//! there is no moment at which a selection stands in some lines and not in others: two
//! selections that could serve each other find each other, and none finds itself. All locks
//! are held for a few instructions for each arm.
//!
//! All places have the same waiter. The waker that claims it by one of them has carried out that
//! arm when the selection goes on, or has closed its channel. So a wake-up is never meant for
//! another waiter, and need not be passed on. The other places leave their lines before the
//! waiter's frame ends.

use super::arm::Arm;
use crate::faults;
use fibre_core::internal::{Outcome, Waiter, park_among, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitKind, WaitObject};
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits until one of the arms has been carried out, and is the chosen one, or the limit comes
/// first. Blocks the fibre, or the thread if the caller is not a fibre. The arms are sorted.
pub(crate) fn choose(arms: &mut [&dyn Arm], limit: Limit) -> Outcome {
    yield_point();
    if choose_now(arms) {
        return Outcome::NotParked;
    }
    arms.sort_unstable_by_key(|arm| arm.address());
    let arms = &*arms;
    let start = turn(arms.len());
    let publish = |waiter: &Waiter, _| publish(arms, start, waiter);
    let awaited = WaitObject::placeless(WaitKind::Select);
    let stays = planted(faults::select::ARM_STAYS_IN_ITS_LINE);
    let withdraw = |_: &Waiter| arms.iter().skip(stays.into()).for_each(|arm| arm.leave());
    // SAFETY: the waiter is reached by the arms' places only, each under its channel's lock; if
    // `publish` returns `false`, none has entered; and all have left after `withdraw`.
    let outcome = unsafe { park_among(awaited, limit, publish, withdraw) };
    match outcome {
        Outcome::Woken(token) => arms[token as usize].note_chosen(),
        Outcome::NotParked => arms.iter().for_each(|arm| arm.carry_out()),
        Outcome::TimedOut | Outcome::Cancelled => {}
    }
    outcome
}

/// Carries out one of the arms that can be, which is then the chosen one. Blocks nothing.
pub(crate) fn choose_now(arms: &[&dyn Arm]) -> bool {
    let (later, sooner) = arms.split_at(turn(arms.len()));
    let mut order = sooner.iter().chain(later);
    order.any(|arm| arm.attempt_alone())
}

/// The last look, and the way into the lines. `false`: an arm has been carried out.
fn publish(arms: &[&dyn Arm], start: usize, waiter: &Waiter) -> bool {
    let mut locked = None;
    for arm in arms {
        if locked.replace(arm.address()) != Some(arm.address()) {
            arm.lock();
        }
    }
    let (later, sooner) = arms.split_at(start);
    // SAFETY: all locks are held.
    let attempt = |arm: &&dyn Arm| unsafe { arm.attempt() };
    let blind = planted(faults::select::NO_SECOND_LOOK_UNDER_THE_LOCKS);
    let ready = !blind && sooner.iter().chain(later).any(attempt);
    if !ready {
        for (arm, token) in arms.iter().zip(0..) {
            // SAFETY: all locks are held; the arms stay where they are until `withdraw`.
            unsafe { arm.enter(waiter, token) };
        }
    }
    arms.iter().for_each(|arm| arm.unlock());
    !ready
}

/// Where to begin, below `arms`: multiples of the golden ratio, which are spread evenly also if a
/// caller takes only every second or third of them.
fn turn(arms: usize) -> usize {
    /// How many selections there have been, more or less: a lost count does no harm.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // Whatever a model does has to repeat.
    let count = if cfg!(loom) {
        0
    } else {
        COUNT.load(Ordering::Relaxed)
    };
    COUNT.store(count.wrapping_add(1), Ordering::Relaxed);
    let fraction = u64::from(count.wrapping_mul(0x9e37_79b9));
    // Below `arms`, hence in the range of `usize`.
    ((fraction * arms as u64) >> 32) as usize
}
