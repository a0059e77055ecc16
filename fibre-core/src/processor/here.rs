//! The processor that this thread is, and the fibre that it runs.
//!
//! After a switch a fibre may be on another thread. So code must keep no reference to a processor
//! across one, as with thread-locals. [`Processor::here`] lends the processor to a function that
//! cannot keep it, and that does not leave the stack. Code that leaves the stack comes after that
//! function ([`leave_if`](crate::park::leave_if)).
//!
//! The calling fibre stays the same wherever it goes on. So [`with_running`] lends it to any
//! function.

use super::{Processor, ProcessorLocal};
use crate::fibre::{ControlBlock, FibreRef};
use crate::sys::current;

impl Processor {
    /// The processor that this thread is. Null on a foreign thread. For callers that keep it for
    /// longer than a call of [`here`](Self::here), and can say why that is right.
    #[inline]
    pub(crate) fn current() -> *const Self {
        current::processor().cast()
    }

    /// Calls `f` with the processor that this thread is. `None`: a foreign thread.
    ///
    /// As of thread-locals, nothing of the processor may be kept across a switch: after it the
    /// fibre may be on another thread. So `f` does not leave the stack; builds with debug
    /// assertions panic if it does.
    #[inline(always)]
    pub(crate) fn here<R>(f: impl FnOnce(&Self) -> R) -> Option<R> {
        // SAFETY: not null means that this thread is that processor, which makes the thread a
        // foreign one before it ends. `f` cannot keep the reference.
        let here = unsafe { Self::current().as_ref() }?;
        let _looked_at = LookedAt::begin(here);
        Some(f(here))
    }

    /// Whether calls of the C library may be replaced in fibres here.
    pub(crate) fn lets_stand_in(&self) -> bool {
        self.home.lets_stand_in
    }

    /// See [`may_stand_in`](crate::park::may_stand_in).
    #[inline]
    pub(crate) fn may_stand_in(&self) -> bool {
        let running = if self.home.lets_stand_in {
            self.running()
        } else {
            None
        };
        // SAFETY: the fibre that runs here does not end meanwhile.
        running.is_some_and(|fibre| !unsafe { fibre.as_ref() }.link().is_plain())
    }

    /// In builds with debug assertions, panics if the running fibre publishes a wait: a waker that
    /// finds the waiter may have queued the fibre, which then must not be queued, or wait, a second
    /// time. And if the fibre is in a call of [`here`](Self::here).
    #[inline(always)]
    pub(crate) fn assert_may_leave() {
        if !cfg!(debug_assertions) {
            return;
        }
        let asks = |here: &Self| {
            (
                here.call_state.publishing.get(),
                here.call_state.looks.get(),
            )
        };
        let (publishing, looks) = Self::here(asks).unwrap_or((false, 1));
        assert!(
            !publishing,
            "a fibre leaves its stack while it publishes a wait"
        );
        assert!(
            looks == 1,
            "a fibre leaves its stack while it looks at its processor"
        );
    }
}

/// A call of [`Processor::here`], as builds with debug assertions count them.
struct LookedAt<'a>(&'a Processor);

impl<'a> LookedAt<'a> {
    /// Begins the call.
    #[inline(always)]
    fn begin(processor: &'a Processor) -> Self {
        if cfg!(debug_assertions) {
            processor
                .call_state
                .looks
                .set(processor.call_state.looks.get() + 1);
        }
        Self(processor)
    }
}

impl Drop for LookedAt<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            self.0
                .call_state
                .looks
                .set(self.0.call_state.looks.get() - 1);
        }
    }
}

/// The address of the calling fibre.
#[inline]
pub(crate) fn running() -> Option<FibreRef> {
    Processor::here(Processor::running)?
}

/// Calls `f` with the calling fibre. `None`: a plain thread. Unlike the processor, the fibre stays
/// what it is, so `f` may leave the stack.
#[inline(always)]
pub(crate) fn with_running<R>(f: impl FnOnce(&ControlBlock) -> R) -> Option<R> {
    let fibre = running()?;
    // SAFETY: the calling fibre does not end before `f` returns, and `f` cannot keep the reference.
    Some(f(unsafe { fibre.as_ref() }))
}

/// Places the caller's next spawn on the processor with the fewest live fibres, unless its builder
/// says where it starts. For callers that have just accepted a connection.
pub fn spread_next_spawn() {
    if Processor::here(Processor::spread_next).is_none() {
        current::set_spreads(true);
    }
}

/// Whether the caller has said so, which is then done with: a plain thread, or a fibre that spawns
/// in another cluster.
pub(crate) fn spreads_next_spawn() -> bool {
    Processor::here(Processor::spreads_next).unwrap_or_else(|| current::set_spreads(false))
}

/// Whether the caller runs on a fibre, and not on a plain thread.
#[must_use]
pub fn in_fibre() -> bool {
    super::running().is_some()
}

/// Calls `f` with the local value of the processor that this thread is; `None` for a plain thread.
///
/// # Safety
///
/// `f` neither blocks nor yields. There is one layer above that uses local values, and what `f`
/// leaves in one is what that layer, and the function that it has set for the end, expect there.
///
/// ```compile_fail,E0133
/// fibre_core::internal::with_processor_local(|local| local.is_none());
/// ```
#[inline]
pub unsafe fn with_processor_local<R>(f: impl FnOnce(Option<&ProcessorLocal>) -> R) -> R {
    // SAFETY: not null means that this thread is that processor, and `f` does not leave the stack.
    f(unsafe { Processor::current().as_ref() }.map(|here| &here.local))
}
