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
use std::arch::asm;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

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

/// Where in a [`Context`] the stack pointer of a computation lies that has been left, in words.
///
/// `corosensei` does not show it. So a computation of no consequence is left once, and the words of
/// its context are looked at: of those that are addresses on its stack, one is where the
/// computation began, and the lower one is where it was left. `None`: there is no stack for it, or
/// no such word.
fn place_of_pointer() -> Option<usize> {
    /// The place, once it is known.
    static PLACE: OnceLock<Option<usize>> = OnceLock::new();
    unsafe fn leave_once(_: *const (), suspender: Suspender, _: *const ()) {
        // SAFETY: on the stack that it was made for.
        unsafe { suspender.suspend(Action::Yield) };
    }
    *PLACE.get_or_init(|| {
        let stack = super::take_one(super::class_of(super::MIN_STACK_SIZE)).ok()?;
        // SAFETY: the entry does with any argument, and does not unwind.
        let mut context = unsafe { Context::new(stack, leave_once, ptr::null()) };
        let _ = context.resume(ptr::null());
        let bounds = context.0.trap_handler();
        let words = size_of::<Option<Context>>() / size_of::<usize>();
        let place = (0..words)
            // SAFETY: a word of the context, which stays.
            .map(|place| (unsafe { word(&raw const context, place) }, place))
            .filter(|(word, _)| bounds.stack_ptr_in_bounds(*word))
            .min()
            .map(|(_, place)| place);
        let _ = context.resume(ptr::null());
        super::put_cold(context.into_stack());
        place
    })
}

/// A word of a context.
///
/// # Safety
///
/// The context exists, and has so many words.
unsafe fn word(context: *const Context, place: usize) -> usize {
    let word: usize;
    // By an instruction, as another thread may be on this stack, and write to the context.
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "mov {word}, [{context} + 8 * {place}]",
            context = in(reg) context,
            place = in(reg) place,
            word = lateout(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

/// The stack pointer of a computation that has been left. A hint, if a thread may resume it
/// meanwhile; `None`: a thread is on its stack, or it is not known where the pointer is.
///
/// # Safety
///
/// There is a context at this address, and stays.
pub(crate) unsafe fn saved_pointer(context: *const Context) -> Option<usize> {
    let place = place_of_pointer()?;
    // SAFETY: the caller's promise; the place is one of a context.
    Some(unsafe { word(context, place) }).filter(|pointer| *pointer != 0)
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("done", &self.0.done())
            .finish_non_exhaustive()
    }
}
