//! Running one fibre until it leaves its stack, and what follows.

use super::{Processor, ProcessorLocal};
use crate::fibre::{ControlBlock, FibreRef, Left, Reserved, Roster};
use crate::stack::context::{Action, Context, Suspender};
use crate::stack::{MIN_STACK_SIZE, Stack, StackError, class_of};
use crate::sync::{Ordering, light_barrier};
use std::ptr;
use std::time::Duration;

impl Processor {
    /// Resumes a fibre that this processor has taken from a queue.
    #[inline(always)]
    pub(super) fn execute(&self, fibre: FibreRef) {
        // SAFETY: the processor took it from a queue, hence owns it, and the runtime's reference
        // keeps it alive.
        let block = unsafe { fibre.as_ref() };
        // SAFETY: the owner has the context to itself.
        let context = unsafe { &mut *block.context.get() };
        if context.is_none()
            && let Err(error) = self.bind(fibre, context)
            && !self.bind_otherwise(fibre, context, error)
        {
            return;
        }
        let Some(context) = context else { return };
        if self.adopts {
            block.set_home(std::sync::Arc::as_ptr(self.ready()));
        }
        // Others may look from here on, see `OwnerGate`.
        let node = ControlBlock::node(fibre).as_ptr();
        self.running.store(node, Ordering::Release);
        self.slice.restart();
        let action = context.resume(ptr::from_ref(self).cast());
        self.running.store(ptr::null_mut(), Ordering::Relaxed);
        light_barrier();
        self.act(fibre, action);
    }

    /// Does what the fibre asked for when it left its stack.
    #[inline(always)]
    fn act(&self, fibre: FibreRef, action: Action) {
        // SAFETY: as in `execute`; a parked fibre is not touched after `left`.
        let block = unsafe { fibre.as_ref() };
        let queue_it = match action {
            Action::Yield => true,
            // Its waker queues it, here and nowhere else.
            Action::ParkAtHome => false,
            Action::Park => block.state.left() == Left::WokenEarly,
            rarer => return self.act_rarely(fibre, rarer),
        };
        if queue_it {
            let node = ControlBlock::node(fibre);
            // SAFETY: it ran here, hence is in no queue, and is still ours.
            unsafe { self.ready().push_again(node, || block.home()) };
        }
    }

    /// The part of [`act`](Self::act) for everything but yields and waits.
    #[inline(never)]
    fn act_rarely(&self, fibre: FibreRef, action: Action) {
        match action {
            Action::Exit => self.bury(fibre),
            Action::MakeWay => self.put_next(fibre),
            Action::Migrate => self.send_off(fibre),
            Action::Hold => self.hold(fibre),
            Action::Yield | Action::Park | Action::ParkAtHome => unreachable!("done by the caller"),
        }
    }

    /// Takes a stack of this class. On this processor's thread.
    #[inline]
    pub fn take_stack(&self, class: usize) -> Result<Stack, StackError> {
        self.stacks.take(class, &self.domain().stacks)
    }

    /// Promises a stack of this class to a new fibre. On this processor's thread.
    #[inline]
    pub fn promise_stack(&self, class: usize) -> Result<(), StackError> {
        self.stacks.promise(class, &self.domain().stacks)
    }

    /// Takes a promise back: there is no fibre. On this processor's thread.
    pub fn unpromise_stack(&self, class: usize) {
        self.stacks.unpromise(class);
    }

    /// Takes back a stack that is not in use any more. On this processor's thread.
    #[inline]
    pub fn put_stack(&self, stack: Stack) {
        stack.set_owner(ptr::null());
        self.stacks.put(stack, &self.domain().stacks);
    }

    /// Queues a fibre in the cluster to which it moves, which has counted it already. That cluster
    /// may have been told since to cancel its fibres, or to leave them.
    #[cold]
    fn send_off(&self, fibre: FibreRef) {
        let Some((destination, stays_counted)) = self.destination.take() else {
            unreachable!("a fibre left for nowhere")
        };
        self.delist(fibre);
        // SAFETY: it ran here, hence is in no queue, and is still ours; it has just been taken
        // out of the roster here.
        unsafe {
            let left_behind = destination.roster.as_ref().is_some_and(|shared| {
                let roster = shared.lock();
                roster.add(ControlBlock::hook(fibre));
                if roster.is_left() {
                    // Under the lock: the stopper of the cluster may look again, and a fibre is
                    // reported once.
                    (fibre.as_ref().body().abandon)(fibre);
                }
                roster.is_left()
            });
            if destination.orders.are_to_cancel() {
                // The canceller of the roster may have come before: as in `bind`.
                fibre.as_ref().state.cancel_later();
            }
            if !left_behind {
                destination.commons.stage(ControlBlock::node(fibre));
            }
        }
        if !stays_counted {
            self.count_gone();
        }
    }

    /// Counts a fibre that is not in this cluster any more.
    fn count_gone(&self) {
        self.domain().tally(self.index()).count_finished();
        if let Some(limit) = &self.domain().limit {
            limit.leave();
        }
    }

    /// Queues a fibre that has made way for another one.
    #[inline(never)]
    fn put_next(&self, fibre: FibreRef) {
        // SAFETY: as in `act`.
        unsafe { self.ready().push_next(ControlBlock::node(fibre)) };
    }

    /// Gives a fibre its stack (it has none before its first run). The context is built in
    /// its place: moving it right after it was written costs more than writing it.
    #[inline(never)]
    fn bind(&self, fibre: FibreRef, place: &mut Option<Context>) -> Result<(), StackError> {
        // SAFETY: as in `execute`.
        let block = unsafe { fibre.as_ref() };
        if self.domain().orders.are_to_cancel() {
            // It runs and is in no wait: there is nothing to queue.
            block.state.cancel_later();
        }
        let default = self.domain().settings.stack_size;
        let class = block.attributes.stack_class(default);
        // SAFETY: as in `execute`.
        let stack = match unsafe { block.errand.take_reserved() } {
            Reserved::Nothing => self.take_stack(class)?,
            Reserved::Stack(stack) => stack,
            Reserved::Promise => {
                let stack = self.stacks.redeem(class, &self.domain().stacks);
                stack.inspect_err(|_| block.errand.reserve(Reserved::Promise))?
            }
        };
        let owner = fibre.as_ptr().cast_const().cast();
        stack.set_owner(owner);
        // SAFETY: `enter` is called once, with a live block, by the first resume.
        *place = Some(unsafe { Context::new(stack, enter, owner) });
        self.settle(fibre);
        Ok(())
    }

    /// Deals with a fibre that did not get its stack. `true`: it has got another one, and runs.
    #[cold]
    fn bind_otherwise(
        &self,
        fibre: FibreRef,
        place: &mut Option<Context>,
        error: StackError,
    ) -> bool {
        /// How long the kernel, which had no memory, is left alone.
        const PAUSE: Duration = Duration::from_micros(100);
        // SAFETY: as in `execute`.
        if unsafe { fibre.as_ref() }.errand.is_promised() {
            // All that could be refused was reserved when the fibre was spawned. What is missing is
            // memory for page tables, and such a shortage passes; others may run, and end,
            // meanwhile.
            std::thread::sleep(PAUSE);
            // SAFETY: the fibre is as good as new.
            unsafe { self.place(fibre) };
            return false;
        }
        let bound = self.bind_to_refuse(fibre, place, error);
        bound.map_err(|error| self.refuse(fibre, error)).is_ok()
    }

    /// Gives a fibre that cannot have the stack it wants the smallest one, to drop its closure on:
    /// destructors may block, which only fibres can.
    #[cold]
    fn bind_to_refuse(
        &self,
        fibre: FibreRef,
        place: &mut Option<Context>,
        error: StackError,
    ) -> Result<(), StackError> {
        let stack = self.take_stack(class_of(MIN_STACK_SIZE))?;
        self.refusal.set(Some(error));
        let block = fibre.as_ptr().cast_const().cast();
        stack.set_owner(block);
        // SAFETY: `enter_refused` is called once, with a live block, by the first resume.
        *place = Some(unsafe { Context::new(stack, enter_refused, block) });
        self.settle(fibre);
        Ok(())
    }

    /// Makes a fibre that is about to start at home here, and lists it as started.
    #[inline]
    fn settle(&self, fibre: FibreRef) {
        // SAFETY: as in `execute`.
        let block = unsafe { fibre.as_ref() };
        block.set_home(std::sync::Arc::as_ptr(self.ready()));
        self.ready().notice(block.link());
        self.domain().tally(self.index()).count_started();
        let hook = ControlBlock::hook(fibre);
        // SAFETY: the fibre has only now got its stack, and is taken out with it.
        self.change_roster(|roster| unsafe { roster.add(hook) });
    }

    /// Changes the roster of its fibres, between two of them.
    #[inline(always)]
    fn change_roster(&self, change: impl FnOnce(&Roster)) {
        if self.glances.may_change() {
            change(&self.roster);
        } else {
            self.change_roster_slowly(change);
        }
    }

    /// [`change_roster`](Self::change_roster) where fibres share one roster, or somebody looks at
    /// it.
    #[inline(never)]
    fn change_roster_slowly(&self, change: impl FnOnce(&Roster)) {
        if let Some(shared) = &self.domain().roster {
            change(&shared.lock());
        } else {
            // Another thread looks at it, and could not know that the fibre before would switch.
            self.glances.await_change();
            change(&self.roster);
        }
    }

    /// Takes a fibre out of the roster of started ones.
    #[inline]
    fn delist(&self, fibre: FibreRef) {
        let hook = ControlBlock::hook(fibre);
        // SAFETY: added when it got its stack, here, unless fibres move and share a roster.
        self.change_roster(|roster| unsafe { roster.remove(hook) });
    }

    /// Ends a fibre that has run to its end.
    fn bury(&self, fibre: FibreRef) {
        // SAFETY: the context is the owner's, and nobody runs on its stack.
        let context = unsafe { (*fibre.as_ref().context.get()).take() };
        if let Some(context) = context {
            self.delist(fibre);
            self.put_stack(context.into_stack());
        }
        self.count_gone();
        // SAFETY: the runtime's reference keeps it alive.
        unsafe { fibre.as_ref() }.leave_group();
        // SAFETY: the runtime's reference; the body has disposed of closure and result
        // or left the latter to the handle.
        unsafe { ControlBlock::release(fibre) };
    }

    /// Ends a fibre that cannot get any stack, with the reason as its result. Its closure is
    /// dropped here, on the processor's own stack: a destructor that blocks, blocks all its fibres.
    #[cold]
    fn refuse(&self, fibre: FibreRef, error: StackError) {
        // SAFETY: the fibre has not started, and is ours.
        unsafe { (fibre.as_ref().body().fail)(fibre, error) };
        self.bury(fibre);
    }
}

/// The first function on a fibre's stack.
///
/// # Safety
///
/// `block` is the control block of the fibre whose stack this is.
unsafe fn enter(block: *const (), suspender: Suspender, _processor: *const ()) {
    // SAFETY: the caller's promise; the runtime's reference keeps the block alive
    // until its stack has been left.
    unsafe {
        let fibre = FibreRef::new_unchecked(block.cast_mut().cast());
        fibre.as_ref().suspender.set(Some(suspender));
        (fibre.as_ref().body().run)(fibre);
    }
}

/// The first function on the stack of a fibre that could not have the one it wanted.
///
/// # Safety
///
/// As for [`enter`]; `processor` is the one that bound it, just before.
unsafe fn enter_refused(block: *const (), suspender: Suspender, processor: *const ()) {
    // SAFETY: the caller's promises.
    unsafe {
        let fibre = FibreRef::new_unchecked(block.cast_mut().cast());
        fibre.as_ref().suspender.set(Some(suspender));
        if let Some(error) = (*processor.cast::<Processor>()).refusal.take() {
            (fibre.as_ref().body().fail)(fibre, error);
        }
    }
}

/// Whether the caller runs on a fibre, and not on a plain thread.
#[must_use]
pub fn in_fibre() -> bool {
    // SAFETY: not null means that this thread is that processor.
    unsafe { Processor::current().as_ref() }.is_some_and(|here| here.running().is_some())
}

/// Calls `f` with the pocket of the processor that this thread is; `None` for a plain thread.
///
/// # Safety
///
/// `f` neither blocks nor yields. There is one layer above that uses pockets, and what `f` leaves
/// in one is what that layer, and the function that it has set for the end, expect there.
///
/// ```compile_fail,E0133
/// fibre_core::internal::with_processor_local(|pocket| pocket.is_none());
/// ```
#[inline]
pub unsafe fn with_processor_local<R>(f: impl FnOnce(Option<&ProcessorLocal>) -> R) -> R {
    // SAFETY: not null means that this thread is that processor.
    f(unsafe { Processor::current().as_ref() }.map(|here| &here.pocket))
}
