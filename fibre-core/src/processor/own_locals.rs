//! The run loop of clusters with fibres that are threads: they have thread-locals of their own.
//!
//! It is the other loops with another kind of switch. So the default cluster pays nothing for it.

use super::Processor;
use super::run_loop::{FibreThreadLocals, NoTrace, TraceSink};
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
