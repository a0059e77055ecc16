//! The park side in models: who waits is always a thread of the model.
//!
//! It has the names of `park` and `cancel`, as far as other crates' models need them. A wait with a
//! limit gives up as soon as it has begun, unless it has been won by then. Since loom delays a
//! thread for as long as it likes, that is every moment at which a deadline or a canceller can come,
//! and an order in which the waker comes first is among them.
//!
//! The waiter's frame ends with the call. Who touches the waiter later, or a list's node that lies in
//! a [`Framed`], is caught by loom.

use crate::awaited::Awaited;
use crate::cancelled::Cancelled;
use crate::sync::Framed;
use crate::waiter::{self, Limit, Outcome, ThreadParker, Wakeable};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::NonNull;
use std::time::Duration;

/// There are no fibres in models.
#[derive(Debug)]
pub enum NoFibre {}

impl Wakeable for NoFibre {
    unsafe fn resume(_: NonNull<Self>) {
        unreachable!("only threads wait in models");
    }

    unsafe fn resume_at_home(_: NonNull<Self>) {
        unreachable!("only threads wait in models");
    }
}

/// One wait of one thread.
pub type Waiter = waiter::Waiter<NoFibre>;

/// The right and the duty of a wait's winner.
pub type Resume = waiter::Resume<NoFibre>;

/// Waits until somebody claims the waiter and resumes.
///
/// # Safety
///
/// As for [`park_until`].
pub unsafe fn park(awaited: Awaited, publish: impl FnOnce(&Waiter) -> bool) -> Outcome {
    // SAFETY: passed on.
    unsafe { park_until(awaited, Limit::None, publish, |_| {}) }
}

/// [`park`] with a limit, which comes at any moment.
///
/// # Safety
///
/// As outside of models; loom checks most of it.
pub unsafe fn park_until(
    _awaited: Awaited,
    limit: Limit,
    publish: impl FnOnce(&Waiter) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    park_here(limit, publish, |waiter| {
        if waiter.has_given_up() {
            withdraw(waiter);
        }
    })
}

/// [`park_until`] for a waiter in several places: `withdraw` is called in any case.
///
/// # Safety
///
/// As outside of models; loom checks most of it.
pub unsafe fn park_among(
    _awaited: Awaited,
    limit: Limit,
    publish: impl FnOnce(&Waiter) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    park_here(limit, publish, withdraw)
}

/// The common part.
fn park_here(
    limit: Limit,
    publish: impl FnOnce(&Waiter) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    // Wakers use its futex for a moment after it has changed; the kernel copes with that.
    let parker: &ThreadParker = Box::leak(Box::new(ThreadParker::new()));
    let waiter = Framed::new(Waiter::for_thread(parker));
    if !publish(&waiter) {
        return Outcome::NotParked;
    }
    let gave_up = match limit {
        Limit::None => None,
        Limit::Cancellation => waiter.cancel(),
        Limit::Deadline(_) | Limit::Wall(_) => waiter.time_out(),
    };
    if gave_up.is_none() {
        parker.park();
    }
    withdraw(&waiter);
    waiter.outcome()
}

/// Lets other threads of the model run.
pub fn yield_now() {
    loom::thread::yield_now();
}

/// loom switches threads by itself.
pub fn yield_point() {}

/// Threads take no turns in models, and are not cancelled outside of waits.
///
/// # Errors
///
/// None, in models.
pub fn yield_point_cancellable() -> Result<(), Cancelled> {
    Ok(())
}

/// Nobody spins in a model: it repeats states.
#[must_use]
pub fn may_spin() -> bool {
    false
}

/// See [`may_spin`].
#[must_use]
pub fn may_spin_briefly() -> bool {
    false
}

/// See [`may_spin`].
#[must_use]
pub fn others_rest() -> bool {
    false
}

/// See [`may_spin`].
#[must_use]
pub fn waits_at_rest(_: &Waiter) -> bool {
    false
}

/// Nothing is fetched in models.
#[derive(Debug, Default)]
pub struct Traces;

impl Traces {
    /// Does nothing.
    pub fn leave<T>(&self, _: &T) {}

    /// Does nothing.
    pub fn follow(&self) {}
}

/// All who wait in a model are at home in one place.
#[must_use]
pub fn waits_here(_: &Waiter) -> bool {
    true
}

/// There are no fibres in models.
#[must_use]
pub fn in_fibre() -> bool {
    false
}

/// Threads have no queue.
pub fn resume_first(resume: Resume) {
    resume.resume();
}

/// Threads have no place to give.
pub fn resume_in_place(resume: Resume) {
    resume.resume();
}

/// Threads are not cancelled outside of waits.
#[must_use]
pub fn is_cancelled() -> bool {
    false
}

/// Time flies in models.
pub fn sleep(_: Duration) {
    yield_now();
}

/// Threads notice no cancellation anyway.
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// See [`shield`].
pub fn raise_shield() {}

/// See [`shield`].
pub fn lower_shield() {}

/// A number of the calling thread.
#[must_use]
pub fn caller_id() -> u64 {
    let mut hasher = DefaultHasher::new();
    loom::thread::current().id().hash(&mut hasher);
    hasher.finish()
}

/// Threads are not cancelled before they wait.
///
/// # Errors
///
/// None, in models.
pub fn cancellation_point() -> Result<(), Cancelled> {
    Ok(())
}
