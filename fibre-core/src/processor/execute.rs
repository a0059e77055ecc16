//! Running one fibre until it leaves its stack, and what follows.

use super::next_fibre::NextRun;
use super::own_locals::end_of_fibre;
use super::run_loop::{Kind, TraceSink};
use super::{Processor, os_thread};
use crate::fibre::{ControlBlock, FibreList, FibreRef, Left, Reserved};
use crate::queue::Runnable;
use crate::scheduler::activity::ActivityBlock;
use crate::stack::context::{Action, Context, Entry, Suspender};
use crate::stack::{MIN_STACK_SIZE, Stack, StackError, as_thread, class_of, reset_thread};
use crate::sync::pause;
use crate::sync::{Ordering, light_barrier};
use crate::sys::stderr;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

impl Processor {
    /// Runs a fibre until it leaves its stack, and does what the fibre asked for then. The recorder
    /// is told of both.
    ///
    /// The runnable is this function's while the fibre runs. A fibre that leaves its stack to wait
    /// has handed it to its waker; what is left of it here is forgotten.
    ///
    /// Returns the fibre to run next if it has been chosen already.
    #[inline(always)]
    pub(super) fn execute<R: TraceSink>(&self, next: NextRun, recorder: &R) -> Option<NextRun> {
        let NextRun {
            mut fibre,
            is_thread,
        } = next;
        if self.home.adopts {
            fibre.block().set_home(Arc::as_ptr(&self.ready));
        }
        recorder.resumes(&mut fibre);
        if fibre.context().is_none() {
            match self.begin::<R::Kind>(fibre) {
                Some(bound) => fibre = bound,
                None => return None,
            }
        }
        recorder.enters(&fibre);
        let action = self.switch_to::<R::Kind>(&mut fibre, is_thread);
        let chosen = match R::Kind::IS_THREAD {
            true => self.choose_next(&fibre, action, R::IS_SILENT),
            false => None,
        };
        recorder.left(&fibre, action);
        let queue_it = match action {
            Action::Yield => true,
            // Its waker queues it, here and nowhere else.
            Action::ParkAtHome => false,
            Action::Park => {
                let id = recorder.number_of(&fibre);
                let left = fibre.block().state.left();
                recorder.woken_early(id, left == Left::WokenEarly)
            }
            // Few enough cases for the compiler to compare one by one.
            rarer => {
                self.act_rarely(fibre, rarer);
                return chosen;
            }
        };
        if queue_it {
            let home = |fibre: &Runnable| fibre.block().home();
            // SAFETY: its home is alive as long as it is; this thread has left its stack.
            unsafe { self.own().push_again(fibre, home) };
            if R::Kind::IS_THREAD && chosen.is_some() {
                // A processor that has gone idle since then has not seen it.
                self.own().call_for_shared();
            }
        }
        chosen
    }

    /// Switches to the fibre's stack; returns what the fibre asks for when it has left that. A
    /// fibre that is a thread leaves its thread pointer behind; this thread may have it already.
    #[inline(always)]
    fn switch_to<K: Kind>(&self, fibre: &mut Runnable, is_thread: bool) -> Action {
        let node = fibre.node().as_ptr();
        let Some(context) = fibre.context() else {
            unreachable!("a fibre without a stack")
        };
        // Others may look from here on, see `OwnerGate`.
        self.running.store(node, Ordering::Release);
        self.slices.run.restart();
        // SAFETY: this processor has taken the fibre from a queue, so it is in no other's hands;
        // it has not ended.
        let action = unsafe {
            if K::IS_THREAD && !is_thread {
                self.become_thread(context);
            }
            context.resume()
        };
        self.running.store(ptr::null_mut(), Ordering::Relaxed);
        light_barrier();
        action
    }

    /// The part of [`execute`](Self::execute) that follows everything but yields and waits. It has
    /// no frame: each of these is the last thing that it does.
    #[inline(never)]
    fn act_rarely(&self, fibre: Runnable, action: Action) {
        match action {
            Action::Exit => self.bury(fibre),
            Action::Idle => self.idle_activity(fibre),
            rarest => self.act_most_rarely(fibre, rarest),
        }
    }

    /// What follows all others.
    #[inline(never)]
    fn act_most_rarely(&self, fibre: Runnable, action: Action) {
        match action {
            Action::MakeWay => self.own().push_next(fibre),
            Action::Migrate => self.send_off(fibre),
            Action::Hold => self.hold(fibre),
            Action::Yield | Action::Park | Action::ParkAtHome | Action::Idle | Action::Exit => {
                unreachable!("done by the callers")
            }
        }
    }

    /// Takes a stack of this class. On this processor's thread.
    #[inline]
    pub(crate) fn take_stack(&self, class: usize) -> Result<Stack, StackError> {
        self.memory.stacks.take(class, &self.domain().stacks)
    }

    /// Promises a stack of this class to a new fibre. On this processor's thread.
    #[inline]
    pub(crate) fn promise_stack(&self, class: usize) -> Result<(), StackError> {
        self.memory.stacks.promise(class, &self.domain().stacks)
    }

    /// Takes a promise back: there is no fibre. On this processor's thread.
    pub(crate) fn unpromise_stack(&self, class: usize) {
        self.memory.stacks.unpromise(class);
    }

    /// Takes back a stack that is not in use any more. On this processor's thread.
    #[inline]
    pub(crate) fn put_stack(&self, stack: Stack) {
        stack.set_owner(ptr::null());
        self.memory.stacks.put(stack, &self.domain().stacks);
    }

    /// Queues a fibre in the cluster that it moves to, and that has counted it already. Meanwhile
    /// that cluster may have been told to cancel its fibres, or to abandon them.
    #[cold]
    fn send_off(&self, fibre: Runnable) {
        let Some((destination, stays_counted)) = self.next.destination.take() else {
            unreachable!("a fibre left for nowhere")
        };
        self.delist(&fibre);
        let limited = !ActivityBlock::is_at_home(fibre.block(), self.domain());
        let left_behind = destination
            .fibre_lists
            .shared
            .as_ref()
            .is_some_and(|shared| {
                let fibre_list = shared.lock();
                // SAFETY: it has just been taken out of the fibre list here.
                unsafe { fibre_list.add(ControlBlock::hook(fibre.fibre())) };
                if fibre_list.is_left() {
                    // Under the lock: the stopper of the cluster may look again, and a fibre is
                    // reported once.
                    // SAFETY: it never runs again.
                    unsafe { (fibre.block().body().abandon)(fibre.fibre()) };
                }
                fibre_list.is_left()
            });
        if destination.control.must_cancel() && !destination.control.spares(fibre.block().link()) {
            // The canceller of the fibre list may have come before: as in `bind`.
            fibre.block().state.cancel_later();
        }
        if !left_behind {
            destination.shared_queues.stage(fibre);
        } else if destination.left_behind.activities.are_late() {
            let found = Arc::clone(&destination);
            let tell = move || found.left_behind.activities.tell_late();
            if let Err(error) = os_thread::start("fibre-late".to_owned(), None, tell) {
                stderr::warn(format_args!(
                    "nobody is told of what was abandoned: {error}"
                ));
            }
        }
        if stays_counted {
            return;
        }
        if limited {
            self.count_gone();
        } else {
            self.stats().count_finished();
        }
    }

    /// Counts a fibre that is not in this cluster any more.
    pub(super) fn count_gone(&self) {
        self.stats().count_finished();
        if let Some(limit) = &self.domain().limit {
            limit.leave();
        }
    }

    /// Gives a fibre its stack before its first run. `None`: there is none, and the fibre has been
    /// dealt with.
    #[inline(never)]
    fn begin<K: Kind>(&self, mut fibre: Runnable) -> Option<Runnable> {
        match self.bind::<K>(&mut fibre) {
            Ok(()) => Some(fibre),
            Err(error) => self.bind_otherwise::<K>(fibre, error),
        }
    }

    /// Gives a fibre its stack (it has none before its first run). The context is built in
    /// its place: moving it right after it was written costs more than writing it.
    #[inline(always)]
    fn bind<K: Kind>(&self, fibre: &mut Runnable) -> Result<(), StackError> {
        let block = fibre.block();
        let control = &self.domain().control;
        if control.must_cancel() && !control.spares(block.link()) {
            // It runs and is in no wait: there is nothing to queue.
            block.state.cancel_later();
        }
        let class = block.attributes.stack_class(self.memory.usual_class);
        // SAFETY: it has not started, and its runnable is ours.
        let stack = match unsafe { block.wait_slot.take_reserved() } {
            Reserved::Nothing => self.take_stack(class)?,
            Reserved::Stack(stack) => stack,
            Reserved::Activity => return self.bind_activity::<K>(fibre, class),
            Reserved::Promise => {
                let stack = self.memory.stacks.redeem(class, &self.domain().stacks);
                stack.inspect_err(|_| block.wait_slot.keep_promise())?
            }
        };
        if K::IS_THREAD {
            return self.settle_as_thread::<Fibre>(fibre, stack);
        }
        self.settle::<Fibre>(fibre, stack);
        Ok(())
    }

    /// Deals with a fibre that did not get its stack. Returns it if it has got another one, and
    /// runs.
    #[cold]
    fn bind_otherwise<K: Kind>(&self, mut fibre: Runnable, error: StackError) -> Option<Runnable> {
        /// How long the kernel, which had no memory, is left alone.
        const PAUSE: Duration = Duration::from_micros(100);
        if fibre.block().wait_slot.is_promised() {
            // All that could be refused was reserved when the fibre was spawned. What is missing is
            // memory for page tables, and such a shortage passes; others may run, and end,
            // meanwhile.
            pause(PAUSE);
            // It is as good as new.
            self.place(fibre);
            return None;
        }
        if fibre.block().body().is_activity {
            self.put_off_activity(fibre, error);
            return None;
        }
        match self.bind_to_refuse::<K>(&mut fibre, error) {
            Ok(()) => Some(fibre),
            Err(error) => {
                self.refuse(fibre, error);
                None
            }
        }
    }

    /// Gives a fibre that cannot have the stack it wants the smallest one, to drop its closure on:
    /// destructors may block, which only fibres can.
    #[cold]
    fn bind_to_refuse<K: Kind>(
        &self,
        fibre: &mut Runnable,
        error: StackError,
    ) -> Result<(), StackError> {
        let stack = self.take_stack(class_of(MIN_STACK_SIZE))?;
        self.next.refusal.set(Some(error));
        if K::IS_THREAD {
            return self.settle_as_thread::<Refused>(fibre, stack);
        }
        self.settle::<Refused>(fibre, stack);
        Ok(())
    }

    /// Gives a fibre that is about to start its stack, to run `E` on, and lists it as started.
    #[inline(always)]
    fn settle<E: Entry>(&self, fibre: &mut Runnable, stack: Stack) {
        let block = fibre.fibre().as_ptr().cast_const().cast();
        stack.set_owner(block);
        // SAFETY: both entries may be called once with a block that is alive, by the first resume:
        // the processor that has bound the fibre resumes it.
        *fibre.context() = Some(unsafe { Context::new::<E>(stack, block) });
        self.list(fibre);
    }

    /// [`settle`](Self::settle) of a fibre that is a thread: its stack gets a block like that of a
    /// new thread. Without one the stack goes back.
    fn settle_as_thread<E: Entry>(
        &self,
        fibre: &mut Runnable,
        stack: Stack,
    ) -> Result<(), StackError> {
        let argument = fibre.fibre().as_ptr().cast_const().cast();
        let context = self.as_thread::<Ending<E>>(stack, argument);
        let context = context.map_err(|(stack, error)| {
            self.put_stack(stack);
            error
        })?;
        *fibre.context() = Some(context);
        self.list(fibre);
        Ok(())
    }

    /// A computation on a stack with a block like that of a new thread.
    ///
    /// # Errors
    ///
    /// The stack, without a block, and why it has none.
    pub(super) fn as_thread<E: Entry>(
        &self,
        stack: Stack,
        argument: *const (),
    ) -> Result<Context, (Stack, StackError)> {
        let (stack, block, is_new) = as_thread(stack, &self.memory.images)?;
        self.count_block(is_new);
        stack.set_owner(argument);
        // SAFETY: as in `settle`; the block is the stack's.
        Ok(unsafe { Context::new_as_thread::<E>(stack, block, argument) })
    }

    /// Makes a fibre that has got its stack one at home here, and lists it as started.
    #[inline(always)]
    pub(super) fn list(&self, fibre: &Runnable) {
        fibre.block().set_home(Arc::as_ptr(&self.ready));
        self.ready.notice(fibre.link());
        self.stats().count_started();
        let hook = ControlBlock::hook(fibre.fibre());
        // SAFETY: the fibre has only now got its stack, and is taken out with it.
        self.change_fibre_list(|fibre_list| unsafe { fibre_list.add(hook) });
    }

    /// Changes the fibre list of its fibres, between two of them.
    #[inline(always)]
    fn change_fibre_list(&self, change: impl FnOnce(&FibreList)) {
        if self.readers.may_change() {
            change(&self.fibre_list);
        } else {
            self.change_fibre_list_slowly(change);
        }
    }

    /// [`change_fibre_list`](Self::change_fibre_list) where fibres share one fibre list, or
    /// somebody looks at it.
    #[inline(never)]
    fn change_fibre_list_slowly(&self, change: impl FnOnce(&FibreList)) {
        if let Some(shared) = &self.domain().fibre_lists.shared {
            change(&shared.lock());
        } else {
            // Another thread looks at it, and could not know that the fibre before would switch.
            self.readers.await_change();
            change(&self.fibre_list);
        }
    }

    /// Takes a fibre out of the fibre list of started ones.
    #[inline]
    fn delist(&self, fibre: &Runnable) {
        let hook = ControlBlock::hook(fibre.fibre());
        // SAFETY: added when it got its stack, here, unless fibres move and share a fibre list.
        self.change_fibre_list(|fibre_list| unsafe { fibre_list.remove(hook) });
    }

    /// Takes the context of a fibre that has left it for good, if it has one, and before that the
    /// fibre out of the fibre list: whoever looks at a listed fibre finds its context.
    #[inline(always)]
    pub(super) fn take_context(&self, fibre: &mut Runnable) -> Option<Context> {
        if fibre.context().is_some() {
            self.delist(fibre);
        }
        fibre.context().take()
    }

    /// Ends a fibre that has run to its end.
    #[inline(never)]
    fn bury(&self, mut fibre: Runnable) {
        if cfg!(debug_assertions) {
            self.thread_locals.end(fibre.id());
        }
        if let Some(context) = self.take_context(&mut fibre) {
            self.put_stack(context.into_stack());
        }
        self.count_gone();
        fibre.block().leave_group();
        // SAFETY: the runtime's reference, which belongs to the runnable; the body has disposed of
        // closure and result or left the latter to the handle.
        unsafe { ControlBlock::release(fibre.fibre()) };
    }

    /// Ends a fibre that cannot get any stack, with the reason as its result. Its closure is
    /// dropped here, on the processor's own stack: a destructor that blocks, blocks all its fibres.
    #[cold]
    fn refuse(&self, fibre: Runnable, error: StackError) {
        // SAFETY: the fibre has not started, and is ours.
        unsafe { (fibre.block().body().fail)(fibre.fibre(), error) };
        self.bury(fibre);
    }
}

/// What a fibre runs on its stack. The argument is its control block, which is alive.
struct Fibre;

impl Entry for Fibre {
    #[inline(always)]
    unsafe fn run(block: *const (), suspender: Suspender) -> Suspender {
        // SAFETY: the caller's promise; the runtime's reference keeps the block alive until its
        // stack has been left. The context stays in the block meanwhile.
        unsafe {
            let fibre = FibreRef::new_unchecked(block.cast_mut().cast());
            (fibre.as_ref().body().run)(fibre);
        }
        suspender
    }
}

/// A computation of a fibre that is a thread: whatever it has done at its end, nothing is left that
/// the next thread with its block would end. The argument is as for [`Fibre`].
struct Ending<E>(PhantomData<E>);

impl<E: Entry> Entry for Ending<E> {
    unsafe fn run(argument: *const (), suspender: Suspender) -> Suspender {
        // SAFETY: passed on. Then nothing is done any more but to leave the stack for good.
        unsafe {
            let suspender = E::run(argument, suspender);
            let fibre = FibreRef::new_unchecked(argument.cast_mut().cast());
            end_of_fibre(fibre.as_ref());
            let _ = Processor::here(Processor::count_block_left);
            // What the layer above knows of the fibre may be gone.
            fibre.as_ref().link().set_plain(true);
            reset_thread();
            suspender
        }
    }
}

/// What a fibre runs that could not have the stack it wanted. The argument is as for [`Fibre`]; the
/// processor that has bound it resumes it next.
struct Refused;

impl Entry for Refused {
    unsafe fn run(block: *const (), suspender: Suspender) -> Suspender {
        let error = Processor::here(|here| here.next.refusal.take()).flatten();
        if let Some(error) = error {
            // SAFETY: as for `Fibre`.
            unsafe {
                let fibre = FibreRef::new_unchecked(block.cast_mut().cast());
                (fibre.as_ref().body().fail)(fibre, error);
            }
        }
        suspender
    }
}
