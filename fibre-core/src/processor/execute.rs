//! Running one fibre until it leaves its stack, and what follows.

use super::{Pocket, Processor};
use crate::context::{Action, Context, Suspender};
use crate::fibre::{ControlBlock, FibreRef, Left};
use crate::stack::{Stack, StackError, class_of};
use std::ptr;

impl Processor {
    /// Resumes a fibre that this processor has taken from a queue.
    #[inline(always)]
    pub(super) fn execute(&self, fibre: FibreRef) {
        // SAFETY: whoever took it from a queue owns it, and the runtime's reference
        // keeps it alive.
        let block = unsafe { fibre.as_ref() };
        // SAFETY: the owner has the context to itself.
        let context = unsafe { &mut *block.context.get() };
        if context.is_none()
            && let Err(error) = self.bind(fibre, context)
            && let Err(error) = self.bind_to_refuse(fibre, context, error)
        {
            return self.refuse(fibre, error);
        }
        let Some(context) = context else { return };
        if self.adopts {
            block.set_home(std::sync::Arc::as_ptr(self.ready()));
        }
        self.running.set(Some(fibre));
        self.slice.restart();
        let action = context.resume(ptr::from_ref(self).cast());
        self.running.set(None);
        self.act(fibre, action);
    }

    /// Does what the fibre wants done now that its stack has been left.
    #[inline(always)]
    fn act(&self, fibre: FibreRef, action: Action) {
        // SAFETY: as in `execute`; a parked fibre is not touched after `left`.
        let block = unsafe { fibre.as_ref() };
        let queue_it = match action {
            Action::Yield => true,
            // Whoever wakes it queues it, here and nowhere else.
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

    /// The part of [`act`](Self::act) that no yield and no wait comes by.
    #[inline(never)]
    fn act_rarely(&self, fibre: FibreRef, action: Action) {
        match action {
            Action::Exit => self.bury(fibre),
            Action::MakeWay => self.put_next(fibre),
            Action::Migrate => self.send_off(fibre),
            Action::Yield | Action::Park | Action::ParkAtHome => unreachable!("done by the caller"),
        }
    }

    /// A stack of this class. On this processor's thread.
    #[inline]
    pub fn take_stack(&self, class: usize) -> Result<Stack, StackError> {
        self.stacks.take(class, &self.domain().stacks)
    }

    /// Takes a stack back that nobody is on any more. On this processor's thread.
    #[inline]
    pub fn put_stack(&self, stack: Stack) {
        stack.set_owner(ptr::null());
        self.stacks.put(stack, &self.domain().stacks);
    }

    /// Queues a fibre in the cluster it moves to, which has counted it already. That one may
    /// have been told to cancel, or to leave, its fibres since.
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
                    // Under the lock: who has stopped the cluster may look again, and a fibre
                    // that has been told of is told of once.
                    (fibre.as_ref().body().abandon)(fibre);
                }
                roster.is_left()
            });
            if destination.orders.are_to_cancel() {
                // Those who cancel the roster may have done so: as in `bind`.
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
        let stack = match unsafe { block.errand.take_stack() } {
            Some(reserved) => reserved,
            None => self.take_stack(class)?,
        };
        let owner = fibre.as_ptr().cast_const().cast();
        stack.set_owner(owner);
        // SAFETY: `enter` is called once, with a live block, by the first resume.
        *place = Some(unsafe { Context::new(stack, enter, owner) });
        self.settle(fibre);
        Ok(())
    }

    /// Gives a fibre that cannot have the stack it wants the smallest one, to drop its
    /// closure on: destructors may block, which only fibres can.
    #[cold]
    fn bind_to_refuse(
        &self,
        fibre: FibreRef,
        place: &mut Option<Context>,
        error: StackError,
    ) -> Result<(), StackError> {
        let class = class_of(self.domain().settings.stack_size);
        let stack = self.take_stack(class)?;
        self.refusal.set(Some(error));
        let block = fibre.as_ptr().cast_const().cast();
        stack.set_owner(block);
        // SAFETY: `enter_refused` is called once, with a live block, by the first resume.
        *place = Some(unsafe { Context::new(stack, enter_refused, block) });
        self.settle(fibre);
        Ok(())
    }

    /// Makes a fibre that is about to start at home here, as one that has started.
    #[inline]
    fn settle(&self, fibre: FibreRef) {
        // SAFETY: as in `execute`.
        let block = unsafe { fibre.as_ref() };
        block.set_home(std::sync::Arc::as_ptr(self.ready()));
        self.ready().notice(block.link());
        self.domain().tally(self.index()).count_started();
        let hook = ControlBlock::hook(fibre);
        // SAFETY: the fibre has only now got its stack, and is taken out with it.
        unsafe {
            match &self.domain().roster {
                None => self.roster.add(hook),
                Some(shared) => shared.lock().add(hook),
            }
        }
    }

    /// Takes a fibre out of those that have started.
    #[inline]
    fn delist(&self, fibre: FibreRef) {
        let hook = ControlBlock::hook(fibre);
        // SAFETY: added when it got its stack, here, unless fibres move and share a roster.
        unsafe {
            match &self.domain().roster {
                None => self.roster.remove(hook),
                Some(shared) => shared.lock().remove(hook),
            }
        }
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
    /// dropped here, on the processor's own stack: a destructor that blocks, blocks all.
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

/// Calls `f` with the pocket of the processor that this thread is; `None` for a plain thread. `f` neither blocks nor
/// yields, and keeps no reference.
#[inline]
pub fn with_pocket<R>(f: impl FnOnce(Option<&Pocket>) -> R) -> R {
    // SAFETY: not null means that this thread is that processor.
    f(unsafe { Processor::current().as_ref() }.map(|here| &here.pocket))
}
