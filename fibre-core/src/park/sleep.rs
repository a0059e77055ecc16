//! Sleeping: a wait for time only.

use crate::park::bounds;
use crate::park::suspend::yield_now;
use crate::park::wait::Wait;
use crate::wait::limit::Limit;
use crate::wait::limit_scope::{self, LimitScope};
use crate::wait::wait_object::{WaitKind, WaitObject};
use crate::wait::waiter::Outcome;
use std::time::{Duration, Instant};

/// Blocks the fibre (or the thread, if the caller is not a fibre) for at least
/// `duration`. A zero duration only yields. It sleeps to the end even if the fibre is
/// cancelled.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let before = Instant::now();
/// fibre::sleep(Duration::from_millis(2));
/// assert!(before.elapsed() >= Duration::from_millis(2));
/// ```
#[doc(alias("nanosleep", "usleep"))]
pub fn sleep(duration: Duration) {
    if duration.is_zero() {
        return yield_now();
    }
    // A deadline beyond the clock's range is none at all: sleep for ever.
    sleep_to(Instant::now().checked_add(duration));
}

/// Blocks the fibre (or the thread, if the caller is not a fibre) until `deadline`; a moment that
/// is past only yields. It sleeps to the end even if the fibre is cancelled, unless a
/// [`timeout`](crate::timeout()) ends it; [`sleep_within`](crate::sleep_within) is what
/// cancellation ends.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let due = Instant::now() + Duration::from_millis(2);
/// fibre::sleep_until(due);
/// assert!(Instant::now() >= due);
/// ```
#[doc(alias("clock_nanosleep"))]
pub fn sleep_until(deadline: Instant) {
    sleep_to(Some(deadline));
}

/// [`sleep_until`]; for ever if there is no deadline.
pub(super) fn sleep_to(deadline: Option<Instant>) {
    if limit_scope::may_unwind() && sleep_in_scope(deadline) {
        return;
    }
    if doze_unheeding(Limit::of(deadline)) == Outcome::Cancelled {
        bounds::unwind(None);
    }
}

/// [`doze`] for a fibre that does not notice its cancellation.
fn doze_unheeding(limit: Limit) -> Outcome {
    let awaited = WaitObject::placeless(WaitKind::Sleep);
    // SAFETY: as in `doze`.
    unsafe {
        Wait::new(awaited, limit)
            .unheeding()
            .park(|_, _| true, |_| {})
    }
}

/// Waits for the limit only.
pub(crate) fn doze(limit: Limit) -> Outcome {
    let awaited = WaitObject::placeless(WaitKind::Sleep);
    // SAFETY: only the timer and a canceller reach the waiter.
    unsafe { Wait::new(awaited, limit).park(|_, _| true, |_| {}) }
}

/// Sleeps in a scope. `false`: the caller is in none, and has not slept.
#[cold]
fn sleep_in_scope(deadline: Option<Instant>) -> bool {
    let scope = bounds::in_force().filter(|scope| !bounds::unwinds_already(scope));
    let stopped = bounds::is_stopped();
    if scope.is_none() && !stopped {
        return false;
    }
    let own = deadline.map_or(Limit::None, Limit::Deadline);
    let bound = scope.map_or(own, |scope| scope.bound(own));
    let limit = match bound {
        Limit::None => Limit::Cancellation,
        bound => bound,
    };
    let outcome = match stopped || scope.is_some_and(LimitScope::unwinds) {
        true => doze(limit),
        false => doze_unheeding(limit),
    };
    match outcome {
        Outcome::Cancelled => bounds::unwind(None),
        _ if bound != own => bounds::unwind(scope),
        _ => true,
    }
}
