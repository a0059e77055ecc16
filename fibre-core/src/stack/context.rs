//! A stack with a computation on it that can be left and resumed.
//!
//! A thin skin over `corosensei`, which does the switching. Its form is
//! asymmetric: a fibre always switches to the processor that resumed it, which
//! then picks the next one. What the processor does *after* the fibre's stack has
//! been left is the [`Action`] the fibre hands over; so parking, yielding and
//! exiting are one switch, and no lock is ever held across it.
//!
//! `corosensei` is built without its unwinding support: a suspended context is
//! never dropped (hazard: forced unwinding runs user code in a place that cannot
//! block, and aborts inside destructors), and panics are caught by the fibre's
//! own root before they get here.

use crate::stack::Stack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::ptr::NonNull;

/// What the processor does with the fibre whose stack it has just left.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Queue it behind the others.
    Yield,
    /// Queue it before the others.
    MakeWay,
    /// Queue it in another cluster.
    Migrate,
    /// Run it again after a moment, and no other fibre before: see `processor/hold.rs`.
    Hold,
    /// Leave it to its waker, which may have come already.
    Park,
    /// Leave it to its waker, which queues it here, and may have come already.
    ParkAtHome,
    /// Take its stack back, on which another activity may run next: see
    /// `processor/activation.rs`.
    Rest,
    /// Take its stack back: the computation has ended.
    Exit,
}

/// The means by which a fibre leaves its stack. Valid on that stack only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspender(NonNull<Yielder<*const (), Action>>);

impl Suspender {
    /// The address at which the stack begins.
    #[inline]
    pub(crate) fn address(self) -> *const () {
        self.0.as_ptr().cast_const().cast()
    }

    /// Leaves the stack; returns when a processor resumes it, with the argument of
    /// [`Context::resume`].
    ///
    /// # Safety
    ///
    /// Called on the stack that this suspender was made for.
    #[inline(always)]
    pub(crate) unsafe fn suspend(self, action: Action) -> *const () {
        // SAFETY: the yielder lies at the root of the stack we are on.
        unsafe { self.0.as_ref() }.suspend(action)
    }
}

/// The first function on a fresh stack. Its arguments: that of [`Context::new`], the way to leave,
/// and the first resume's input.
pub(crate) type Entry = unsafe fn(*const (), Suspender, *const ());

/// The computation. See the module text.
pub(crate) struct Context(Coroutine<*const (), Action, (), Stack>);

impl Context {
    /// Prepares `stack` so that the first resume calls `entry(argument, …)`.
    ///
    /// # Safety
    ///
    /// `entry` may be called with `argument` at the first resume, on any
    /// thread that resumes it, and does not unwind.
    #[inline(always)]
    pub(crate) unsafe fn new(stack: Stack, entry: Entry, argument: *const ()) -> Self {
        Self(Coroutine::with_stack(stack, move |yielder, input| {
            // SAFETY: the caller's promise.
            unsafe { entry(argument, Suspender(NonNull::from(yielder)), input) }
        }))
    }

    /// Runs the computation until it suspends or ends.
    #[inline(always)]
    pub(crate) fn resume(&mut self, input: *const ()) -> Action {
        match self.0.resume(input) {
            CoroutineResult::Yield(action) => action,
            CoroutineResult::Return(()) => Action::Exit,
        }
    }

    /// Takes the stack of an ended computation out.
    pub(crate) fn into_stack(self) -> Stack {
        self.0.into_stack()
    }
}

/// Calls `f` on another stack. `f` may leave the caller's stack in the usual way: a switch saves
/// one stack pointer, whatever it points into, and the root of the fibre's own stack stays where it
/// is. `f` must not unwind.
pub(crate) fn call_on<R>(stack: &mut Stack, f: impl FnOnce() -> R) -> R {
    corosensei::on_stack(stack, f)
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("done", &self.0.done())
            .finish_non_exhaustive()
    }
}
