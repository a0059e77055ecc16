//! A stack with a computation on it that can be left and resumed.
//!
//! Switches are asymmetric: a fibre always switches to the processor that resumed it, which then
//! picks the next one. The fibre hands over an [`Action`], which says what the processor does
//! *after* the fibre's stack has been left. So parking, yielding and exiting are one switch, and no
//! lock is ever held across it. [`switch`](super::switch) does the switch itself.
//!
//! A suspended context is never dropped (hazard: forced unwinding runs user code in a place that
//! cannot block, and aborts inside destructors). The fibre's own root catches panics before they
//! get here. If one does get here, the process aborts.

use super::sanitizer::{FakeStack, StackBounds};
use super::switch::arch::{call_at, root};
use super::switch::{RawEntry, Switch};
use crate::arch;
use crate::stack::{OwnerWord, Stack, ThreadBlock};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, offset_of};
use std::ptr::{self, NonNull};

/// What the processor does with the fibre after it has left the stack.
#[must_use]
#[repr(u32)]
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
    /// Take its stack back; another activity may run on it next: see `processor/activation.rs`.
    Idle,
    /// Take its stack back: the computation has ended. The last one.
    Exit,
}

impl Action {
    /// The action with this number.
    ///
    /// # Safety
    ///
    /// There is one.
    #[inline(always)]
    unsafe fn of(number: u32) -> Self {
        debug_assert!(number <= Self::Exit as u32, "an unknown action");
        // SAFETY: the caller's promise; their numbers begin at zero.
        unsafe { std::mem::transmute::<u32, Self>(number) }
    }
}

/// What a fibre leaves its stack by: the context that has the stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspender(NonNull<Context>);

impl Suspender {
    /// That of the fibre that this context belongs to. The context exists.
    #[inline(always)]
    pub(crate) fn of(context: NonNull<Context>) -> Self {
        Self(context)
    }

    /// Leaves the stack. Returns when a processor resumes it, the suspender from then on: the
    /// context may have been moved meanwhile.
    ///
    /// # Safety
    ///
    /// Called on the stack of this context, or on one that this was lent ([`call_on`]).
    #[inline(always)]
    pub(crate) unsafe fn suspend(self, action: Action) -> Self {
        // SAFETY: the context stays in its place while the computation runs. The switch is its
        // first field, so a pointer to that which a processor resumes is one to the context.
        unsafe {
            let fake = self.0.as_ref().away.get().announce();
            let next = Switch::leave(self.0.as_ptr().cast(), action as u32);
            Self::arrived(next, fake)
        }
    }

    /// The suspender of a fibre that has been resumed by this switch.
    ///
    /// # Safety
    ///
    /// The switch is that of a context.
    #[inline(always)]
    unsafe fn arrived(switch: *const Switch, fake: FakeStack) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let context = NonNull::new_unchecked(switch.cast_mut()).cast::<Context>();
            let away = &context.as_ref().away;
            away.set(away.get().arrived(fake));
            Self(context)
        }
    }
}

/// A computation.
pub(crate) trait Entry {
    /// Runs it, on a fresh stack, with the argument of [`Context::new`]. Returns the suspender to
    /// leave the stack by, for good: the latest one.
    ///
    /// # Safety
    ///
    /// As the computation says. It does not unwind.
    unsafe fn run(argument: *const (), suspender: Suspender) -> Suspender;
}

/// A computation as the first function on its stack.
struct Whole<E>(PhantomData<E>);

impl<E: Entry> RawEntry for Whole<E> {
    unsafe extern "C" fn run(switch: *const Switch, argument: *const ()) -> *const Switch {
        // SAFETY: the switch of a context, the one that has resumed it. The maker of the context
        // has promised that the computation may run.
        unsafe {
            let suspender = Suspender::arrived(switch, FakeStack::none());
            let Suspender(context) = E::run(argument, suspender);
            context.as_ref().away.get().announce_end();
            context.as_ptr().cast_const().cast()
        }
    }

    const LAST: u32 = Action::Exit as u32;
}

/// The computation. While it is not on the stack that it was made with, or rests there, it may be
/// moved.
#[repr(C)]
pub(crate) struct Context {
    /// Where the computation goes on, and the processor that runs it.
    switch: Switch,
    /// The stack of the one of these two that does not run.
    away: Cell<StackBounds>,
    /// The stack that it was made with.
    stack: Stack,
}

const _: () = assert!(offset_of!(Context, switch) == 0);

impl Context {
    /// Where its words are that [`left`](Self::left) returns.
    pub(crate) const POINTER: usize = Switch::POINTER;
    pub(crate) const CODE: usize = Switch::CODE;

    /// Where the address is that its stack begins at, the highest one.
    pub(crate) const ROOT: usize = offset_of!(Self, stack) + Stack::BASE;

    /// Prepares `stack` so that the first resume runs `E` with this argument.
    ///
    /// # Safety
    ///
    /// `E` may be run so, on any thread that resumes it.
    #[inline(always)]
    pub(crate) unsafe fn new<E: Entry>(stack: Stack, argument: *const ()) -> Self {
        Self {
            // SAFETY: the stack is ours, with nothing on it.
            switch: unsafe { Switch::prepare(stack.base().get(), argument, root::<Whole<E>>) },
            away: Cell::new(StackBounds::of(&stack)),
            stack,
        }
    }

    /// Runs the computation until it suspends or ends.
    ///
    /// # Safety
    ///
    /// It does not run, and has not ended. What it does meanwhile, the caller may do.
    #[inline(always)]
    pub(crate) unsafe fn resume(&self) -> Action {
        let fake = self.away.get().announce();
        // SAFETY: the caller's promise; a computation hands over the number of an action.
        let action = unsafe { Action::of(Switch::resume(ptr::from_ref(self).cast())) };
        self.away.set(self.away.get().arrived(fake));
        action
    }

    /// The same as [`new`](Self::new), for a stack that has a [`ThreadBlock`]: the computation
    /// begins below that.
    ///
    /// # Safety
    ///
    /// As for [`new`](Self::new).
    pub(crate) unsafe fn new_as_thread<E: Entry>(
        stack: Stack,
        block: ThreadBlock,
        argument: *const (),
    ) -> Self {
        Self {
            // SAFETY: the stack is ours, with nothing on it below this address.
            switch: unsafe { Switch::prepare(block.base(), argument, root::<Whole<E>>) },
            away: Cell::new(StackBounds::silent()),
            stack,
        }
    }

    /// Makes the calling thread, with its own block at `carrier`, the thread that the computation
    /// is to the language. `ready` and `processor` are what it finds as its thread's words.
    ///
    /// # Safety
    ///
    /// It was made by [`new_as_thread`](Self::new_as_thread), does not run, and is resumed by
    /// nobody else, until the thread pointer is written anew. The caller has kept no address of a
    /// thread-local.
    #[inline(always)]
    pub(crate) unsafe fn become_thread(
        &self,
        ready: *const (),
        processor: *const (),
        carrier: usize,
    ) {
        // SAFETY: the stack has a block; nobody uses that while the computation does not run.
        unsafe {
            let block = self.stack.thread_block();
            block.set_current(ready, processor, carrier);
            arch::set_thread_pointer(block.thread_pointer());
        }
    }

    /// Runs a computation with a thread block until it suspends or ends, as its thread.
    ///
    /// # Safety
    ///
    /// As for [`resume`](Self::resume) and [`become_thread`](Self::become_thread).
    #[inline(always)]
    pub(crate) unsafe fn resume_as_thread(&self, ready: *const (), processor: *const ()) -> Action {
        let carrier = arch::thread_pointer();
        // SAFETY: passed on; then it is the calling thread's own block again.
        unsafe {
            self.become_thread(ready, processor, carrier);
            let action = self.resume();
            arch::set_thread_pointer(carrier);
            action
        }
    }

    /// Takes the stack of an ended computation out.
    pub(crate) fn into_stack(self) -> Stack {
        self.stack
    }

    /// The word above its stack that says which fibre is on that.
    pub(crate) fn owner_word(&self) -> OwnerWord {
        self.stack.owner_word()
    }

    /// The address where its frames begin, the highest one: below its thread block, if it has one.
    pub(crate) fn root(&self) -> usize {
        self.stack.free_base()
    }

    /// Where the computation has left its stack, and the address where it goes on. A hint, if a
    /// thread may resume it meanwhile; `None`: a thread is on its stack. Any thread may ask.
    ///
    /// # Safety
    ///
    /// There is a context at this address, and stays.
    pub(crate) unsafe fn left(this: *const Self) -> Option<[usize; 2]> {
        // SAFETY: the caller's promise; these words are atomics.
        let switch = unsafe { &(*this).switch };
        switch.left()
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("left", &self.switch.left())
            .finish_non_exhaustive()
    }
}

/// Calls `f` on another stack. `f` may leave the caller's stack in the usual way: a switch saves
/// one stack pointer, whatever it points into. `f` must not unwind.
pub(crate) fn call_on<R>(stack: &mut Stack, f: impl FnOnce() -> R) -> R {
    let mut call = Call {
        f: ManuallyDrop::new(f),
        result: None,
    };
    let fake = StackBounds::of(stack).announce();
    // SAFETY: the stack is the caller's, with nothing on it below this address, which is aligned.
    // The call is in this frame, which waits for it.
    unsafe { call_at((&raw mut call).cast(), stack.free_base(), call.function()) };
    let _ = StackBounds::arrive(fake);
    let Some(result) = call.result else {
        unreachable!("a call that has returned has a result")
    };
    result
}

/// A call on another stack, while it is made.
struct Call<F, R> {
    /// What is called, once.
    f: ManuallyDrop<F>,
    result: Option<R>,
}

impl<F: FnOnce() -> R, R> Call<F, R> {
    /// What makes such a call.
    fn function(&self) -> unsafe extern "C" fn(*mut ()) {
        Self::make
    }

    /// Makes the call.
    ///
    /// # Safety
    ///
    /// `this` is a call, and is made for the first time.
    unsafe extern "C" fn make(this: *mut ()) {
        let below = StackBounds::arrive(FakeStack::none());
        // SAFETY: the caller's promise.
        let this = unsafe { &mut *this.cast::<Self>() };
        // SAFETY: taken out once, here.
        let f = unsafe { ManuallyDrop::take(&mut this.f) };
        this.result = Some(f());
        below.announce_end();
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
