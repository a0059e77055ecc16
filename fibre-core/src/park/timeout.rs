//! Limits for all waits of a closure.
//!
//! `wait/limit_scope.rs` explains how they work.

use crate::park::bounds::{
    ScopeEnded, began_in_hook, in_force, innermost, set_innermost, unwinds_already,
};
use crate::park::shield::shields;
use crate::sys::panic_count::{self, Panics};
use crate::wait::cancelled::Cancelled;
use crate::wait::limit_scope::{LimitScope, are_used};
use std::error::Error;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::time::{Duration, Instant};

/// The time of a [`timeout`] was over before its closure had returned; without a value, the cause
/// of a token's cancellation at a [moment](crate::CancelToken::cancel_at).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOut<T = ()> {
    /// What the closure returned nonetheless.
    value: Option<T>,
}

impl<T> TimedOut<T> {
    /// What the closure returned after one of its calls had failed because the time was over;
    /// `None` if a call that cannot fail ended it.
    pub fn into_value(self) -> Option<T> {
        self.value
    }
}

impl<T> Default for TimedOut<T> {
    fn default() -> Self {
        Self { value: None }
    }
}

impl<T> fmt::Display for TimedOut<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time was over before the call had returned")
    }
}

impl<T: fmt::Debug> Error for TimedOut<T> {}

impl<T> From<TimedOut<T>> for io::Error {
    fn from(_: TimedOut<T>) -> Self {
        io::ErrorKind::TimedOut.into()
    }
}

/// Calls `f`, in which no call waits for longer than until `duration` has passed: whatever the call
/// is, and whether it has a limit of its own or not. Blocks what `f` blocks.
///
/// When the time is over, the call that `f` waits in ends:
///
/// * **A call that can fail fails** as if the fibre had been cancelled, and so do later ones that
///   would have to wait: I/O with an error that
///   [`is_cancelled_error`](crate::is_cancelled_error()) knows, `…_within` forms with
///   [`WaitError::Cancelled`](crate::WaitError::Cancelled), `…_timeout` forms as at the end of
///   their time. `f` may return what it has; then that is in the error.
/// * **A call that cannot fail does not return**: `lock`, `recv`, `join`, `sleep`, `acquire` and
///   the like. The stack is unwound, as by a panic, up to this call. No hook runs, and nothing is
///   said. The destructors of `f` run, and may wait as ever: a stack that unwinds already is not
///   unwound a second time. A `timeout` that one of them begins holds there, by itself.
///
/// A call that need not wait succeeds, even if the time is over. What a wait has been given before
/// it ended is returned: no value, permit, or lock is lost. Once `timeout` has returned, nothing of
/// it is left, also if the time is over later.
///
/// Within another `timeout`, the shorter time holds. A [`shield`](crate::shield()) in `f` keeps its
/// calls from all this; a `timeout` in the shield holds there, for what tidies up and is not to
/// take for ever. These calls go on to their end, since others use what is `f`'s: the end of
/// a [`scope`](crate::scope()), whose fibres do not have the limit, and
/// [`blocking`](crate::blocking()). So do calculations, unless they ask
/// [`cancellation_point`](crate::cancellation_point()), and initialisers of `Once`, `OnceLock` and
/// `LazyLock`, which would be poisoned.
///
/// `f` is not to be unwound through functions of C: let C call back within a
/// [`shield`](crate::shield()). Functions of the C library never unwind. A destructor that waits
/// while nothing unwinds is a call like any other: shield that, too.
///
/// In a program that is built with `panic = "abort"` nothing can be unwound: calls that can fail
/// end as said, and the end of the time in a call that cannot fail is a panic, which ends the
/// process and says why.
///
/// ```
/// use std::time::Duration;
///
/// let short = Duration::from_millis(2);
/// let (sender, receiver) = fibre::channel::bounded::<u32>(1);
/// let late = fibre::timeout(short, || receiver.recv()).unwrap_err();
/// assert_eq!(late.into_value(), None); // `recv` did not return
///
/// sender.send(7).unwrap();
/// assert_eq!(fibre::timeout(short, || receiver.recv()), Ok(Ok(7)));
/// ```
///
/// # Errors
///
/// [`TimedOut`], if the end of the time has ended a call of `f`.
///
/// # Panics
///
/// With the panic of `f`. If `panic = "abort"`, when a call would be unwound.
#[doc(alias("WithTimeout", "move_on_after", "fail_after"))]
pub fn timeout<T>(duration: Duration, f: impl FnOnce() -> T) -> Result<T, TimedOut<T>> {
    limited(Instant::now().checked_add(duration), f)
}

/// [`timeout`] until a moment.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let soon = Instant::now() + Duration::from_millis(2);
/// assert!(fibre::deadline(soon, || fibre::sleep(Duration::from_secs(3600))).is_err());
/// assert_eq!(fibre::deadline(soon, || 6 * 7), Ok(42));
/// ```
///
/// # Errors
///
/// As [`timeout`].
///
/// # Panics
///
/// With the panic of `f`.
#[doc(alias("WithDeadline", "timeout_at"))]
pub fn deadline<T>(instant: Instant, f: impl FnOnce() -> T) -> Result<T, TimedOut<T>> {
    limited(Some(instant), f)
}

/// The common part of both; a moment beyond the clock's range is no limit.
fn limited<T>(deadline: Option<Instant>, f: impl FnOnce() -> T) -> Result<T, TimedOut<T>> {
    let (result, scope) = in_scope(deadline, false, f);
    match result {
        Ok(value) if scope.ended => Err(TimedOut { value: Some(value) }),
        Ok(value) => Ok(value),
        Err(_) if scope.was_unwound_to => Err(TimedOut { value: None }),
        Err(payload) => resume_unwind(payload),
    }
}

/// Calls `f`, in which cancellation of the fibre ends also the calls that cannot fail: they unwind
/// to this call, as the end of a [`timeout`] does. A group can have all of its fibres so
/// (`GroupBuilder::cancellable`). On a plain thread, which cannot be cancelled, just calls `f`.
/// Blocks what `f` blocks.
///
/// ```
/// use fibre::sync::Semaphore;
///
/// let waits = fibre::spawn(|| fibre::cancellable(|| Semaphore::new(0).acquire()));
/// waits.cancel();
/// assert_eq!(waits.join().unwrap(), Err(fibre::Cancelled));
/// ```
///
/// # Errors
///
/// [`Cancelled`], if that has ended a call of `f` which cannot fail.
///
/// # Panics
///
/// With the panic of `f`. At once, if the program is built with `panic = "abort"`, as nothing can
/// be unwound there.
#[doc(alias("pthread_setcancelstate"))]
pub fn cancellable<T>(f: impl FnOnce() -> T) -> Result<T, Cancelled> {
    assert_unwinds(true);
    match in_scope(None, true, f).0 {
        Ok(value) => Ok(value),
        Err(payload) if payload.is::<Cancelled>() => Err(Cancelled),
        Err(payload) => resume_unwind(payload),
    }
}

/// Panics if cancellation is to unwind calls in a program that cannot do that: better at once than
/// when a fibre is cancelled.
fn assert_unwinds(cancellable: bool) {
    if cancellable && cfg!(panic = "abort") {
        panic!(
            "`cancellable` has calls unwound, which this program cannot do, as it is built with `panic = \"abort\"`: build it with `panic = \
             \"unwind\"`, or wait by calls that notice cancellation, as `…_within(Limit::Cancellation)`"
        );
    }
}

/// What has become of a scope.
struct Left {
    /// Whether its deadline has ended a call.
    ended: bool,
    /// Whether the stack was unwound to it.
    was_unwound_to: bool,
}

/// Calls `f` in a new scope.
fn in_scope<T>(
    deadline: Option<Instant>,
    unwinds: bool,
    f: impl FnOnce() -> T,
) -> (std::thread::Result<T>, Left) {
    let outer = innermost();
    let scope = new_scope(deadline, unwinds);
    let hook = panic_count::of_hook();
    let scope = std::hint::black_box(&scope);
    // SAFETY: however `f` ends, the scope is left below, before its frame ends.
    unsafe { set_innermost(scope) };
    let result = catch_unwind(AssertUnwindSafe(f));
    if let Some(panics) = hook {
        panic_count::put_back(panics);
    }
    // SAFETY: the outer scope's frame ends after this one, and so does the scope's place.
    unsafe { set_innermost(outer) };
    let target = |payload: &Box<dyn std::any::Any + Send>| {
        let over = payload.downcast_ref::<ScopeEnded>();
        over.is_some_and(|over| over.0 == scope.address() && scope.has_ended_a_call())
    };
    let left = Left {
        ended: scope.has_ended_a_call(),
        was_unwound_to: result.as_ref().is_err_and(target),
    };
    (result, left)
}

/// A scope in the one that is in force, if one is. It has to end before the caller does.
fn new_scope(deadline: Option<Instant>, unwinds: bool) -> LimitScope {
    if !are_used() {
        panic_count::seek_early();
    }
    let outer = in_force().filter(|outer| !unwinds_already(outer));
    let outer = outer.map_or(ptr::null(), ptr::from_ref);
    // Where it is not known, the scope is not one that a caller that panics can be unwound to.
    let panics = panic_count::panics().unwrap_or(Panics::NONE);
    let panics = panics.or_in_hook(began_in_hook());
    // SAFETY: the outer one lies in a frame that does not end before the caller's.
    unsafe { LimitScope::new(outer, deadline, unwinds, shields(), panics) }
}

/// What a fibre takes over from the one that starts it, so that it is in the same scopes.
#[derive(Debug, Clone, Copy)]
pub struct ScopeSet {
    /// The deadline of the scopes.
    deadline: Option<Instant>,
    /// Whether cancellation unwinds.
    unwinds: bool,
}

impl ScopeSet {
    /// What the caller's scopes say now, with a further deadline and wish.
    ///
    /// # Panics
    ///
    /// If cancellation is to unwind, and the program is built with `panic = "abort"`.
    #[must_use]
    pub fn with(deadline: Option<Instant>, unwinds: bool) -> Self {
        assert_unwinds(unwinds);
        let scope = new_scope(deadline, unwinds);
        Self {
            deadline: scope.deadline(),
            unwinds: scope.unwinds(),
        }
    }

    /// When the time is over.
    #[must_use]
    pub fn deadline(self) -> Option<Instant> {
        self.deadline
    }

    /// Calls `f` in such scopes.
    ///
    /// # Errors
    ///
    /// Why a call that cannot fail has ended `f`.
    ///
    /// # Panics
    ///
    /// With the panic of `f`.
    pub fn call<T>(self, f: impl FnOnce() -> T) -> Result<T, Ended> {
        let (result, scope) = in_scope(self.deadline, self.unwinds, f);
        match result {
            Ok(value) => Ok(value),
            Err(_) if scope.was_unwound_to => Err(Ended::TimedOut),
            Err(payload) if self.unwinds && payload.is::<Cancelled>() => Err(Ended::Cancelled),
            Err(payload) => resume_unwind(payload),
        }
    }
}

/// What has ended a call of [`ScopeSet::call`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The time is over.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
}
