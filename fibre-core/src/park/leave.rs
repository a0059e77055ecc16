//! How a fibre leaves its stack: the last step of all waits and yields.

use crate::fibre::ControlBlock;
use crate::frames::initialisers;
use crate::park::bounds;
use crate::park::plain_calls::plainly;
use crate::processor::Processor;
use crate::stack::context::Action;
use crate::sys::current;
use crate::sys::panic_count;
use std::sync::Arc;

/// Leaves the stack until the waiter's winner resumes.
#[inline(always)]
pub(super) fn leave(block: &ControlBlock) {
    if block.state.stay() {
        return;
    }
    suspend(block, Action::Park);
}

/// Switches to the processor. `block` is the calling fibre's, here and below.
#[inline(always)]
pub(super) fn suspend(block: &ControlBlock, action: Action) {
    if current::panicking() {
        suspend_panicking(block, action);
    } else {
        suspend_untied(block, action);
    }
}

/// [`suspend`] for a fibre that is known not to panic.
#[inline(always)]
pub(super) fn suspend_untied(block: &ControlBlock, action: Action) {
    look(block);
    switch(block, action);
}

/// The check of builds with debug assertions before a stack is left.
#[inline(always)]
fn look(block: &ControlBlock) {
    Processor::assert_may_leave();
    if cfg!(debug_assertions) {
        let kind = |here: &Processor| {
            (
                !here.domain().settings.own_thread_locals,
                here.lets_stand_in(),
            )
        };
        let (shares, lets_stand_in) = Processor::here(kind).unwrap_or((true, false));
        plainly(block, || initialisers::look(block, shares, lets_stand_in));
    }
}

/// [`suspend`] for a fibre that unwinds, or waits in the panic hook. In the hook the fibre does not
/// leave its stack for good: its processor holds it, and runs nobody else or as seldom as can be. A
/// waker finds the fibre running, and does not queue it.
#[cold]
fn suspend_panicking(block: &ControlBlock, action: Action) {
    look(block);
    // SAFETY: this thread is a processor, since a fibre runs on it. The fibre goes on nowhere else
    // before it returns.
    let here = unsafe { &*Processor::current() };
    let may_hold = matches!(action, Action::Park | Action::Yield);
    if !(may_hold && plainly(block, bounds::is_in_hook)) {
        return suspend_with_panics(here, block, action);
    }
    here.begin_to_hold(block);
    loop {
        if here.has_held_for_long() {
            suspend_with_panics(here, block, Action::Yield);
        } else {
            switch(block, Action::Hold);
        }
        if action == Action::Yield || block.state.stay() || block.state.give_up() {
            return;
        }
    }
}

/// Leaves the stack of a fibre that takes its panics along. It stays with this kernel thread, where
/// they stay if they cannot be taken.
fn suspend_with_panics(here: &Processor, block: &ControlBlock, action: Action) {
    block.link().set_unwinding(true);
    block.set_home(Arc::as_ptr(here.ready()));
    let panics = plainly(block, panic_count::take);
    switch(block, action);
    if let Some(panics) = panics {
        panic_count::put_back(panics);
    }
    block.link().set_unwinding(false);
}

/// Leaves the stack. Builds with debug assertions compare the thread-locals that the fibre leaves
/// with those that it comes back to.
#[inline(always)]
fn switch(block: &ControlBlock, action: Action) {
    let leave_them = |here: &Processor| here.thread_locals.leave(block);
    let kept = match cfg!(debug_assertions) {
        true => plainly(block, || Processor::here(leave_them)),
        false => None,
    };
    // SAFETY: the running fibre's own block.
    unsafe { block.leave_stack(action) };
    if cfg!(debug_assertions) {
        let come_back = |here: &Processor| here.thread_locals.come_back(block, kept.flatten());
        plainly(block, || Processor::here(come_back));
    }
}
