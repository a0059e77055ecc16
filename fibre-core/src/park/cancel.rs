//! Cancellation: asking fibres to end.
//!
//! It is cooperative and deferred. Nothing is unwound and nothing is stopped: a cancelled fibre
//! learns of it at its *cancellation points*, where calls that can say so fail. It then ends by
//! itself, as it does after any error. What a waiting call does depends on what it can return:
//!
//! | calls | in a cancelled fibre |
//! |---|---|
//! | [`cancellation_point`], `…_within(Limit::Cancellation)`; `accept`, `connect`, reading and writing | fail at once, and when cancelled while they wait |
//! | `…_timeout`, and `…_within` a time | try once, and give up instead of waiting, as when the time is over |
//! | those that cannot fail: `lock`, `acquire`, `wait`, `join`, `scope`, `sleep`, `blocking` | do not notice |
//!
//! If the waker wins a wait before the canceller comes, the wait succeeds: no permit, signal or
//! byte is lost. In a [`shield`] a fibre notices nothing at all.
//!
//! How the canceller and the wakers of one wait agree is explained in `fibre/state.rs`.

use crate::fibre::ControlBlock;
use crate::fibre::cancel_group::CancelGroup;
use crate::park::bounds;
use crate::park::suspend::end_slice;
use crate::park::{Shield, doze, leave_if, yield_now};
use crate::processor::{Processor, with_running};
use crate::stack::context::Action;
use crate::wait::cancelled::Cancelled;
use crate::wait::limit::Limit;
use crate::wait::limit_scope;
use crate::wait::waiter::Outcome;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Cancels all fibres that were spawned with it
/// ([`Builder::cancel_token`](crate::Builder::cancel_token)), as often as one likes. Clones are the
/// same token.
///
/// Cancelling is asking: a cancelled fibre runs on. Its calls that could block and can return an
/// error do so, including the one that it waits in, and the fibre is expected to return. The calls
/// that cannot fail (`lock`, `join`, `sleep` …) do not notice. A fibre that is cancelled before it
/// has begun begins all the same.
///
/// ```
/// use fibre::{Builder, CancelToken, is_cancelled, yield_now};
///
/// let all = CancelToken::new();
/// let some = all.child();
/// let worker = Builder::new().cancel_token(&some).spawn(|| {
///     while !is_cancelled() {
///         yield_now();
///     }
/// })?;
/// all.cancel();
/// assert!(some.is_cancelled());
/// worker.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias("CancellationToken", "Context", "WithCancel"))]
#[derive(Clone)]
pub struct CancelToken(Arc<CancelGroup<ControlBlock>>);

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl CancelToken {
    /// A token that has not been cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self(CancelGroup::new(None))
    }

    /// A token that is cancelled with this one, and can be cancelled by itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(CancelGroup::new(Some(Arc::clone(&self.0))))
    }

    /// The token that the calling fibre was spawned with, if it was.
    #[must_use]
    pub fn of_caller() -> Option<Self> {
        with_running(|fibre| fibre.attributes.group().cloned())
            .flatten()
            .map(Self)
    }

    /// Cancels all fibres that have this token or a child of it, and all that will get it. Blocks
    /// nothing; may be called from any thread and any fibre, also one of those cancelled.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// [`cancel`](Self::cancel), and tells why, unless the token has been cancelled already, or it
    /// has been told.
    ///
    /// ```
    /// let all = fibre::CancelToken::new();
    /// let some = all.child();
    /// all.cancel_because("the client is gone");
    /// assert_eq!(some.cause().unwrap().to_string(), "the client is gone");
    /// ```
    pub fn cancel_because(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) {
        self.0.set_cause(Arc::from(cause.into()));
        self.cancel();
    }

    /// Why the token, or one that it is a child of, has been cancelled, if that was
    /// [told](Self::cancel_because).
    #[must_use]
    pub fn cause(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.0.cause()
    }

    /// Whether the token has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// The token of a group.
    pub(crate) fn of_group(group: Arc<CancelGroup<ControlBlock>>) -> Self {
        Self(group)
    }

    /// The group, to be watched.
    pub(crate) fn as_group(&self) -> &CancelGroup<ControlBlock> {
        &self.0
    }

    /// The group that a new fibre is to enter.
    pub(crate) fn group(&self) -> Arc<CancelGroup<ControlBlock>> {
        Arc::clone(&self.0)
    }
}

/// Whether the calling fibre has been cancelled, or the time of a [`timeout`](crate::timeout())
/// around the call is over; and the caller is in no [`shield`]. A plain thread has only time-outs.
#[inline]
#[must_use]
pub fn is_cancelled() -> bool {
    with_running(notices) == Some(true) || (limit_scope::are_used() && bounds::is_over())
}

/// Whether the calling fibre has been cancelled, and is to notice it; whatever time-outs say.
#[must_use]
pub fn caller_is_cancelled() -> bool {
    with_running(notices) == Some(true)
}

/// Whether a running fibre has been cancelled, and is to notice it.
#[inline]
pub(super) fn notices(block: &ControlBlock) -> bool {
    block.state.is_cancelled() && block.shields.get() == 0
}

/// Fails if the calling fibre has been cancelled. It then also lets other fibres run, so that a
/// loop which ignores its errors blocks nobody.
///
/// ```
/// fn work() -> Result<(), fibre::Cancelled> {
///     for _ in 0..10 {
///         fibre::cancellation_point()?;
///         // … a step of a long calculation
///     }
///     Ok(())
/// }
/// assert!(fibre::spawn(work).join().unwrap().is_ok());
/// ```
///
/// # Errors
///
/// [`Cancelled`].
#[inline]
pub fn cancellation_point() -> Result<(), Cancelled> {
    if is_cancelled() {
        return refuse();
    }
    Ok(())
}

/// The part of [`cancellation_point`] for cancelled fibres.
#[cold]
fn refuse() -> Result<(), Cancelled> {
    yield_now();
    Err(Cancelled)
}

/// A cancellation point that first lets the other fibres of the processor run, if the caller has
/// not been cancelled. A request that one of these makes is noticed. Does nothing on a plain
/// thread.
///
/// # Errors
///
/// [`Cancelled`].
#[inline]
pub fn yield_cancellable() -> Result<(), Cancelled> {
    let mut cancelled = false;
    let mut leaves = false;
    let _ = leave_if(|here, fibre| {
        cancelled = notices(fibre);
        leaves = !cancelled && !here.yields_to_nobody();
        leaves.then_some(Action::Yield)
    });
    if cancelled {
        return refuse();
    }
    // What comes next may be of a state that the canceller has left behind: it has closed the
    // descriptor, say.
    if leaves && with_running(notices) == Some(true) {
        return Err(Cancelled);
    }
    Ok(())
}

/// A [`yield_point`](crate::internal::yield_point) that is a cancellation point, too: before and
/// after others run.
///
/// # Errors
///
/// [`Cancelled`].
#[inline]
pub fn yield_point_cancellable() -> Result<(), Cancelled> {
    /// What is to be done at the point.
    enum Due {
        Refusal,
        EndOfSlice,
    }
    let due = Processor::here(|here| {
        // SAFETY: the calling fibre, which does not end meanwhile.
        let fibre = unsafe { here.running()?.as_ref() };
        if notices(fibre) {
            return Some(Due::Refusal);
        }
        here.slice_is_over().then_some(Due::EndOfSlice)
    });
    match due.flatten() {
        None => Ok(()),
        Some(Due::Refusal) => refuse(),
        Some(Due::EndOfSlice) => end_slice_cancellable(),
    }
}

/// The part of [`yield_point_cancellable`] for a slice that is over.
#[cold]
fn end_slice_cancellable() -> Result<(), Cancelled> {
    if bounds::is_over() {
        return refuse();
    }
    end_slice();
    // As in `yield_cancellable`. It has let others run just now.
    if is_cancelled() {
        return Err(Cancelled);
    }
    Ok(())
}

/// Runs `f`, in which the calling fibre does not notice its cancellation: for work that must be
/// finished, and for tidying up. On a plain thread it just calls `f`.
///
/// ```
/// let fibre = fibre::spawn(|| {
///     while fibre::cancellation_point().is_ok() {
///         fibre::yield_now();
///     }
///     fibre::shield(fibre::cancellation_point)
/// });
/// fibre.cancel();
/// assert!(fibre.join().unwrap().is_ok());
/// ```
#[doc(alias("uncancellable", "non_cancellable"))]
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    let _shield = Shield::raise();
    f()
}

/// Like [`sleep`](crate::sleep), but fails when the fibre is cancelled, or has been. The time is a
/// [`Duration`](std::time::Duration), an [`Instant`](std::time::Instant), or any other [`Limit`]:
/// one that is no time ends the sleep by cancellation only, or never. Blocks the fibre (or the
/// thread, which cannot be cancelled).
///
/// ```
/// use std::time::Duration;
///
/// let fibre = fibre::spawn(|| fibre::sleep_within(Duration::from_secs(3600)));
/// fibre.cancel();
/// assert_eq!(fibre.join().unwrap(), Err(fibre::Cancelled));
/// ```
///
/// # Errors
///
/// [`Cancelled`], if the fibre is cancelled before the time has passed.
#[inline]
pub fn sleep_within(limit: impl Into<Limit>) -> Result<(), Cancelled> {
    sleep_limited(limit.into())
}

/// The part of [`sleep_within`] that is there once.
fn sleep_limited(limit: Limit) -> Result<(), Cancelled> {
    if limit != Limit::None {
        cancellation_point()?;
    }
    match doze(limit) {
        Outcome::Cancelled => Err(Cancelled),
        _ => Ok(()),
    }
}
