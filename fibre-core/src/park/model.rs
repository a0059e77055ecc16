//! The park side in models: every waiter belongs to a thread of the model.
//!
//! It has the names of `park` and `cancel`, as far as other crates' models need them. A wait with a
//! limit gives up as soon as it has begun, unless a waker has won it by then. loom may delay a
//! thread for any time, so this covers every moment when a deadline or a canceller can come, and
//! also orders with the waker first.
//!
//! The waiter's frame ends with the call. loom catches a thread that touches the waiter later, or a
//! list's node that lies in a [`Framed`].

use crate::sync::{Framed, planted};
use crate::wait::cancelled::Cancelled;
use crate::wait::limit::Limit;
use crate::wait::task_wait;
use crate::wait::wait_object::WaitObject;
use crate::wait::waiter::{self, Outcome, ThreadParker, Wakeable};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// The variant of a model whose waits are in a limit scope: those without a limit may be unwound at
/// any moment.
pub const IN_SCOPE: &str = "park: waits are in a limit scope";
/// The variant of a model: waits without a limit are roused as soon as they have begun, to be
/// unwound.
pub const ROUSED: &str = "park: those that wait are roused";
/// What a model plants for its locks to be held for long.
pub const LONG_TURNS: &str = "park: turns with locks are long";

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

/// One wait of a task of asynchronous code.
pub type TaskWait<E> = task_wait::TaskWait<NoFibre, E>;

/// The right and the duty of a wait's winner.
pub type Resume = waiter::Resume<NoFibre>;

/// A wait that is about to begin; its limit comes at any moment.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// What ends it.
    limit: Limit,
}

impl Wait {
    /// A wait within this limit.
    #[must_use]
    pub const fn new(_: WaitObject, limit: Limit) -> Self {
        Self { limit }
    }

    /// A wait that only a waker ends, unless the model rouses it all the same.
    #[must_use]
    pub const fn closed(awaited: WaitObject) -> Self {
        Self::new(awaited, Limit::None)
    }

    /// The same, which also ends when something is due, which is at any moment.
    #[must_use]
    pub fn until(self, due: Option<Instant>) -> Self {
        Self {
            limit: due.map_or(self.limit, Limit::Deadline),
        }
    }

    /// Waits until a waker claims the waiter and resumes, or the limit comes.
    ///
    /// # Safety
    ///
    /// As outside of models; loom checks most of it.
    pub unsafe fn park(
        self,
        publish: impl FnOnce(&Waiter, Limit) -> bool,
        withdraw: impl FnOnce(&Waiter),
    ) -> Outcome {
        if self.limit == Limit::None && planted(ROUSED) && !std::thread::panicking() {
            return park_roused(publish, withdraw);
        }
        park_here(self.limit, publish, |waiter| {
            if waiter.has_given_up() {
                withdraw(waiter);
            }
        })
    }

    /// [`park`](Self::park) for a waiter in several places: `withdraw` is called in any case.
    ///
    /// # Safety
    ///
    /// As outside of models; loom checks most of it.
    pub unsafe fn park_among(
        self,
        publish: impl FnOnce(&Waiter, Limit) -> bool,
        withdraw: impl FnOnce(&Waiter),
    ) -> Outcome {
        park_here(self.limit, publish, withdraw)
    }
}

/// A wait that is roused, as its cluster is stopped: `park/wait.rs` has the shipped form.
fn park_roused(
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    // As in `park_here`.
    let parker: &ThreadParker = Box::leak(Box::new(ThreadParker::new()));
    // SAFETY: it is never freed.
    let waiter = Framed::new(unsafe { Waiter::for_thread(parker) });
    if !publish(&waiter, Limit::None) {
        return Outcome::NotParked;
    }
    withdraw(&waiter);
    if !waiter.is_claimed() {
        drop(waiter);
        std::panic::resume_unwind(Box::new(Cancelled));
    }
    parker.park();
    waiter.outcome()
}

/// The common part of both.
fn park_here(
    limit: Limit,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    // Wakers use its futex for a moment after it has changed; the kernel copes with that.
    let parker: &ThreadParker = Box::leak(Box::new(ThreadParker::new()));
    // SAFETY: it is never freed.
    let waiter = Framed::new(unsafe { Waiter::for_thread(parker) });
    let endless = limit == Limit::None && !std::thread::panicking();
    let limit = match endless && waits_may_unwind() {
        true => Limit::Cancellation,
        false => limit,
    };
    if !publish(&waiter, limit) {
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
    let outcome = waiter.outcome();
    drop(waiter);
    if endless && outcome == Outcome::Cancelled {
        std::panic::resume_unwind(Box::new(Cancelled));
    }
    outcome
}

/// Lets other threads of the model run.
pub fn yield_now() {
    loom::thread::yield_now();
}

/// Does nothing: loom switches threads by itself.
pub fn yield_point() {}

/// Does nothing: threads take no turns in models, and are not cancelled outside of waits.
///
/// # Errors
///
/// None, in models.
pub fn yield_point_cancellable() -> Result<(), Cancelled> {
    Ok(())
}

/// `false`: spinning in a model only repeats states.
#[must_use]
pub fn may_spin() -> bool {
    false
}

/// `false`, as for [`may_spin`].
#[must_use]
pub fn may_spin_briefly() -> bool {
    false
}

/// Hints without effect: nothing is prefetched in models.
#[derive(Debug, Default)]
pub struct WakeHints;

impl WakeHints {
    /// Does nothing.
    pub fn leave<T>(&self, _: &T) {}

    /// Does nothing.
    pub fn follow(&self) {}
}

/// Whether the model has its waits in a limit scope.
#[must_use]
pub fn waits_may_unwind() -> bool {
    planted(IN_SCOPE)
}

/// There are no fibres in models.
#[must_use]
pub fn in_fibre() -> bool {
    false
}

/// Where a waiting thread goes on: all threads of a model are at home in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affinity {
    /// Everywhere.
    Here,
    /// Nowhere.
    Idle,
}

impl Affinity {
    /// No processor is idle in a model: that one is only decides who is woken.
    #[must_use]
    pub fn idle() -> Option<Self> {
        None
    }

    /// Whether this thread goes on there.
    #[must_use]
    pub fn is_of(self, _: &Waiter) -> bool {
        self == Self::Here
    }
}

/// How a waiter that has been won goes on. Threads have no queue, and no processor to give away.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "as outside of models")]
pub enum WakeMode {
    Last,
    First,
    InPlace,
    InPlaceAfter(Turn),
}

impl Resume {
    /// Only resumes.
    pub fn resume_by(self, _: WakeMode) {
        self.resume();
    }
}

/// A turn with a lock, as long as a model can have it.
#[derive(Debug, Clone, Copy)]
pub struct Turn;

impl Turn {
    /// Does nothing.
    pub fn begin<T>(_: &T, _long: bool) {}

    /// The turn that ends, if the model has long ones.
    #[must_use]
    pub fn end<T>(_: &T) -> Option<Self> {
        planted(LONG_TURNS).then_some(Self)
    }

    /// How long it has lasted.
    #[must_use]
    pub fn length(&self) -> Duration {
        Duration::MAX
    }

    /// Threads keep nobody waiting.
    #[must_use]
    pub fn may_hand_on(&self) -> bool {
        true
    }
}

/// Threads are not cancelled outside of waits.
#[must_use]
pub fn is_cancelled() -> bool {
    false
}

/// Models in which a call spins have no scopes.
pub fn unwind_if_over() {}

/// Returns at once: time flies in models.
pub fn sleep(_: Duration) {
    yield_now();
}

/// Only calls `f`: threads notice no cancellation anyway.
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// See [`shield`].
pub fn raise_shield() {}

/// See [`shield`].
pub fn lower_shield() {}

/// Only calls `f`: nothing unwinds the threads of models.
pub fn without_unwinding<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Models look for deadlocks themselves.
#[must_use]
pub fn are_deadlocks_looked_for() -> bool {
    false
}

/// Returns a number of the calling thread.
#[must_use]
pub fn caller_id() -> u64 {
    let mut hasher = DefaultHasher::new();
    loom::thread::current().id().hash(&mut hasher);
    hasher.finish()
}

/// Succeeds: threads are not cancelled before they wait.
///
/// # Errors
///
/// None, in models.
pub fn cancellation_point() -> Result<(), Cancelled> {
    Ok(())
}
