//! Running activities, which are idle between their runs.
//!
//! An activity leaves its stack by [`Action::Idle`] instead of ending its computation. The
//! processor keeps one such stack with the computation on it, an *activity stack*. The next
//! activity that it runs goes on there, and needs neither a stack from the cache nor a new
//! computation. An activity that waits in its function keeps the activity stack meanwhile, and the
//! processor makes another one when it needs one. So only waiting activities have stacks of their
//! own.
//!
//! A run may migrate to another cluster. It ends there, and so do runs that follow it at once; from
//! then on the activity is at home in its own cluster again.

use super::Processor;
use super::own_locals::end_of_fibre;
use super::run_loop::Kind;
use crate::fibre::activity_word::Ended;
use crate::fibre::{ControlBlock, FibreRef};
use crate::queue::Runnable;
use crate::scheduler::activity::{ActivityBlock, Value};
use crate::stack::context::{Action, Context, Entry, Suspender};
use crate::stack::{StackError, reset_thread};
use crate::sync::pause;
use crate::sys::stderr;
use std::marker::PhantomData;
use std::sync::{Arc, Once};
use std::time::Duration;

impl Processor {
    /// Gives an activity that is about to run an activity stack, and lists it as started.
    #[inline]
    pub(super) fn bind_activity<K: Kind>(
        &self,
        fibre: &mut Runnable,
        class: usize,
    ) -> Result<(), StackError> {
        let waiting = if self.is_usual(fibre) {
            self.memory.activity_stack.waiting.take()
        } else {
            None
        };
        *fibre.context() = Some(match waiting {
            Some(context) => context,
            None => self.new_runner::<K>(fibre, class)?,
        });
        // SAFETY: nothing else is bound here; the runnable has a reference.
        let activity = unsafe { ActivityBlock::of(fibre.fibre()) };
        if Arc::ptr_eq(activity.domain(), self.domain()) {
            activity.set_last(self.index);
        }
        self.list(fibre);
        Ok(())
    }

    /// Makes an activity stack; its first activity is this one.
    #[cold]
    fn new_runner<K: Kind>(&self, fibre: &Runnable, class: usize) -> Result<Context, StackError> {
        let stack = self.take_stack(class);
        let stack = stack.inspect_err(|_| fibre.block().wait_slot.go_idle())?;
        let block = fibre.fibre().as_ptr().cast_const().cast();
        let owner_word = &self.memory.activity_stack.owner_word;
        if K::IS_THREAD {
            let context = self.as_thread::<ActivityStack<K>>(stack, block);
            let context = context.map_err(|(stack, error)| {
                fibre.block().wait_slot.go_idle();
                self.put_stack(stack);
                error
            })?;
            owner_word.set(Some(context.owner_word()));
            return Ok(context);
        }
        owner_word.set(Some(stack.owner_word()));
        // SAFETY: the fibre is an activity, which runs next, and which this processor resumes.
        Ok(unsafe { Context::new::<ActivityStack<K>>(stack, block) })
    }

    /// Whether an activity stack does for the activity: it takes the stacks of its cluster as they
    /// are, and these may be used again as they were left. Each run of an activity that is a thread
    /// begins with the thread-locals of a new one.
    #[inline]
    fn is_usual(&self, fibre: &Runnable) -> bool {
        fibre.block().attributes.takes_usual_stack() && self.memory.keeps_runners
    }

    /// Places an activity that a fibre of this processor has made ready.
    #[inline]
    pub(crate) fn revive(&self, fibre: Runnable, last: usize) {
        match self.keep_alone(fibre) {
            Ok(()) => {}
            Err(fibre) => self.domain().revive(fibre, Some(self.index), last),
        }
    }

    /// Queues an activity here if there is no other processor to take it: it need not be where
    /// thieves look.
    ///
    /// # Errors
    ///
    /// The activity, if there is one, or the simple rules will not do.
    #[inline]
    fn keep_alone(&self, fibre: Runnable) -> Result<(), Runnable> {
        let settings = &self.domain().settings;
        if self.domain().processors() > 1 || settings.sharing || !fibre.link().is_ordinary() {
            return Err(fibre);
        }
        self.own().push_if_single_level(fibre)
    }

    /// Takes an activity off its activity stack at the end of a run. It may run again at once.
    #[inline(never)]
    pub(super) fn idle_activity(&self, mut fibre: Runnable) {
        if cfg!(debug_assertions) {
            self.thread_locals.end(fibre.id());
        }
        // SAFETY: nothing else leaves its stack to rest; the runnable has a reference.
        let activity = unsafe { ActivityBlock::of(fibre.fibre()) };
        let migrated = !Arc::ptr_eq(activity.domain(), self.domain());
        if let Some(context) = self.take_context(&mut fibre) {
            let usual = !migrated && self.is_usual(&fibre);
            self.put_runner(context, usual);
        }
        fibre.block().wait_slot.go_idle();
        match activity.word.end() {
            Ended::Again => self.run_again(fibre, migrated),
            // From here on others may schedule it, and it is theirs.
            Ended::Idle if activity.block.release_if_shared() => self.count_idle(migrated),
            // Nobody is left who could.
            Ended::Idle if activity.value() == Value::There => {
                activity.set_value(Value::Unwanted);
                let _ = activity.word.schedule();
                self.run_again(fibre, migrated);
            }
            Ended::Idle => {
                self.count_idle(migrated);
                // SAFETY: the runnable's reference.
                unsafe { ControlBlock::release(fibre.fibre()) };
            }
        }
    }

    /// Counts an activity that rests.
    fn count_idle(&self, migrated: bool) {
        if migrated {
            self.count_gone();
        } else {
            self.stats().count_finished();
        }
    }

    /// Queues an activity that has just run, and has to run again: here, also if it has migrated
    /// to this cluster.
    fn run_again(&self, fibre: Runnable, migrated: bool) {
        if !migrated {
            // Counted before it is counted as finished: the cluster must not look empty.
            let _ = self.stats().count_spawned();
            self.stats().count_finished();
        }
        if let Err(fibre) = self.keep_alone(fibre) {
            self.domain().requeue(fibre, self.index);
        }
    }

    /// Takes back an activity stack without an activity; it is kept for others if it is a `usual`
    /// one.
    fn put_runner(&self, context: Context, usual: bool) {
        let before = self.memory.activity_stack.waiting.take();
        if before.is_none() && usual {
            return self.memory.activity_stack.waiting.set(Some(context));
        }
        self.memory.activity_stack.waiting.set(before);
        self.end_runner(context);
    }

    /// Ends the computation of an activity stack, and takes its stack back. No fibre runs here.
    fn end_runner(&self, context: Context) {
        // SAFETY: the computation of an activity stack that waits. It finds nobody who runs, and
        // returns.
        let action = unsafe {
            match self.domain().settings.own_thread_locals {
                true => {
                    self.count_block_left();
                    self.resume_as_thread(&context)
                }
                false => context.resume(),
            }
        };
        debug_assert_eq!(
            action,
            Action::Exit,
            "an activity stack went on without an activity"
        );
        self.put_stack(context.into_stack());
    }

    /// Gives up what is kept for activities, at the processor's end.
    #[cold]
    #[inline(never)]
    pub(super) fn give_up_runner(&self) {
        if let Some(context) = self.memory.activity_stack.waiting.take() {
            self.end_runner(context);
        }
    }

    /// Queues an activity again that there is no stack for: it has something to do, which must not
    /// be lost, and others may give stacks back.
    #[cold]
    pub(super) fn put_off_activity(&self, fibre: Runnable, error: StackError) {
        /// How long the processor waits: others may run, and end, meanwhile.
        const PAUSE: Duration = Duration::from_micros(100);
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            stderr::warn(format_args!(
                "{error}; an activity waits until there is one (told once)"
            ));
        });
        pause(PAUSE);
        self.domain().requeue(fibre, self.index);
    }
}

/// What an activity stack does: it runs one activity after the other. The argument is the control
/// block of the first one; the processor that has made the activity stack resumes it next.
struct ActivityStack<K>(PhantomData<K>);

impl<K: Kind> Entry for ActivityStack<K> {
    unsafe fn run(block: *const (), mut suspender: Suspender) -> Suspender {
        let owner_word =
            Processor::here(|here| here.memory.activity_stack.owner_word.take()).flatten();
        let Some(owner_word) = owner_word else {
            unreachable!("an activity stack without an owner word")
        };
        // SAFETY: the caller's promise.
        let mut fibre = unsafe { FibreRef::new_unchecked(block.cast_mut().cast()) };
        loop {
            // SAFETY: this stack exists; the processor has made the activity the running fibre, and
            // the runtime's reference keeps it alive until this stack has been left. Meanwhile the
            // context is in its block.
            suspender = unsafe {
                owner_word.set(fibre.as_ptr().cast_const().cast());
                (fibre.as_ref().body().run)(fibre);
                if K::IS_THREAD {
                    end_of_fibre(fibre.as_ref());
                    fibre.as_ref().link().set_plain(true);
                    reset_thread();
                }
                suspender.suspend(Action::Idle)
            };
            match Processor::here(Processor::running).flatten() {
                Some(next) => fibre = next,
                None => return suspender,
            }
        }
    }
}
