//! The run loop of clusters with fibres that are threads: they have thread-locals of their own.
//!
//! It is the other loops with another kind of switch. So the default cluster pays nothing for it.
//!
//! # The thread pointer
//!
//! A fibre's thread pointer must not be this thread's any more when another processor may run the
//! fibre. But until the fibre is queued, or its state says that it has left, nobody else can. So
//! the processor chooses the next fibre first, as the thread that the last one was, and writes the
//! thread pointer once for each switch: an instruction of some 15 ns. It writes its own in between
//! only where it finds no fibre, is due to look at timers and events, or does anything that a
//! program's code may take part in: the end of a fibre, hooks, and records of events.

use super::Processor;
use super::next_fibre::NextRun;
use super::run_loop::{FibreThreadLocals, NoTrace, TraceSink};
use crate::arch;
use crate::fibre::ControlBlock;
use crate::queue::Runnable;
use crate::stack::context::{Action, Context};
use crate::stack::end_of_thread;
use crate::sys::counted::counted;
use std::ptr;
use std::sync::Arc;

/// Tells another recorder of fibres that are threads.
struct Threads<'a, R>(&'a R);

impl<R: TraceSink> TraceSink for Threads<'_, R> {
    type Kind = FibreThreadLocals;
    const IS_SILENT: bool = R::IS_SILENT;

    #[inline(always)]
    fn resumes(&self, fibre: &mut Runnable) {
        self.0.resumes(fibre);
    }

    #[inline(always)]
    fn enters(&self, fibre: &Runnable) {
        self.0.enters(fibre);
    }

    #[inline(always)]
    fn left(&self, fibre: &Runnable, action: Action) {
        self.0.left(fibre, action);
    }

    #[inline(always)]
    fn number_of(&self, fibre: &Runnable) -> u64 {
        self.0.number_of(fibre)
    }

    #[inline(always)]
    fn woken_early(&self, number: u64, woken: bool) -> bool {
        self.0.woken_early(number, woken)
    }

    #[inline(always)]
    fn succeeds(&self, successor: &Runnable) {
        self.0.succeeds(successor);
    }
}

/// Ends the thread that a fibre is to the language: [`end_of_thread`]. A wait in a destructor is
/// not unwound meanwhile, as std and the C library abort then.
///
/// # Safety
///
/// As for [`end_of_thread`], by this fibre.
pub(crate) unsafe fn end_of_fibre(fibre: &ControlBlock) {
    fibre
        .shields
        .set(counted(fibre.shields.get(), 1, "shields"));
    // SAFETY: passed on.
    unsafe { end_of_thread() };
    fibre
        .shields
        .set(counted(fibre.shields.get(), -1, "shields"));
}

impl Processor {
    /// Makes this thread the one that the fibre with this context is to the language.
    ///
    /// # Safety
    ///
    /// As for [`Context::become_thread`].
    #[inline(always)]
    pub(super) unsafe fn become_thread(&self, context: &Context) {
        let (ready, processor) = (Arc::as_ptr(&self.ready), ptr::from_ref(self));
        // SAFETY: passed on.
        unsafe { context.become_thread(ready.cast(), processor.cast(), self.thread_pointer) };
    }

    /// Chooses the fibre that follows the `last` one, if that is simple and the processor `may`.
    /// The last one has left its stack for this reason, and is not in others' hands yet. Afterwards
    /// this thread is the one that the chosen fibre is to the language, or its own.
    #[inline(always)]
    pub(super) fn choose_next(
        &self,
        last: &Runnable,
        action: Action,
        may: bool,
    ) -> Option<NextRun> {
        let mut next = match may {
            true => self.take_ahead(last, action),
            false => None,
        };
        let context = next.as_mut().and_then(|fibre| fibre.context().as_ref());
        let is_thread = context.is_some();
        // SAFETY: the chosen fibre is this processor's, and waits on its stack. Else it is this
        // thread's own block. What this function is part of keeps no address of a thread-local.
        unsafe {
            match context {
                Some(context) => self.become_thread(context),
                None => arch::set_thread_pointer(self.thread_pointer),
            }
        }
        next.map(|fibre| NextRun { fibre, is_thread })
    }

    /// Takes the next fibre before the last one is let go, unless there is more to do between them.
    #[inline(always)]
    fn take_ahead(&self, last: &Runnable, action: Action) -> Option<Runnable> {
        let goes_on = matches!(action, Action::Yield | Action::Park | Action::ParkAtHome);
        let left = self.service.left.get();
        // A processor that is idle is called when fibres are left behind, the last one among them.
        let others_are_idle = || self.domain.shared_queues.idle.is_any();
        if !goes_on || left == 0 || self.next.successor.is_filled() || others_are_idle() {
            return None;
        }
        // SAFETY: between two fibres.
        let next = unsafe {
            match action {
                Action::Yield => self.own().pop_before(last.link().level()),
                _ => self.own().pop(),
            }
        }?;
        self.service.left.set(left - 1);
        self.idle.refusals.set(0);
        Some(next)
    }

    /// Runs a computation with a block until it leaves its stack. It finds this processor as its
    /// thread's.
    ///
    /// # Safety
    ///
    /// As for [`Context::resume_as_thread`].
    #[inline(always)]
    pub(super) unsafe fn resume_as_thread(&self, context: &Context) -> Action {
        let (ready, processor) = (Arc::as_ptr(&self.ready), ptr::from_ref(self));
        // SAFETY: passed on.
        unsafe { context.resume_as_thread(ready.cast(), processor.cast()) }
    }

    /// Counts that a fibre begins with a thread block, and whether that is a new one.
    pub(super) fn count_block(&self, is_new: bool) {
        if let Some(counts) = self.stats().seldom() {
            counts.blocks_taken.add(1);
            counts.blocks_renewed.add((!is_new).into());
        }
    }

    /// Counts that a fibre will not come back to its block.
    pub(super) fn count_block_left(&self) {
        if let Some(counts) = self.stats().seldom() {
            counts.blocks_left.add(1);
        }
    }

    /// The run loop of a processor in such a cluster.
    #[inline(never)]
    pub(super) fn run_threads(&self) {
        match self.begin_track() {
            Some(track) => self.run_threads_with(&*track),
            None => self.run_threads_with(&NoTrace),
        }
    }

    /// The same, with what records events.
    fn run_threads_with(&self, inner: &impl TraceSink) {
        match self.domain.hooks.is_empty() {
            true => self.run_with(&Threads(inner)),
            false => self.run_between_hooks(&Threads(inner)),
        }
    }
}
