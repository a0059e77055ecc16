//! What a cluster's handles request of its processors, and how far these have carried it out.
//!
//! To others, each processor is in one of three phases:
//!
//! ```text
//!   Moving ⇄ Still            between two fibres, while somebody wants it so
//!     └─────────┴──► Gone     it has left its loop for good
//! ```
//!
//! Processors check [`Control::is_any`] when a check costs nothing: at each service and after each
//! sleep. A handle that makes a request then wakes them all. A sleeping processor sees it at once,
//! and a busy one within a service period, or when its fibre next switches. Callers that wait for
//! the processors hang a waiter here.
//!
//! Invariants:
//!
//! 1. A processor is `Still` or `Gone` only while it runs no fibre.
//! 2. It becomes `Still`, and moves on, under the lock of the count of wishes. So while a caller
//!    that wants a standstill has found all of them still, none moves on; in particular not one
//!    that was about to, because an earlier wish has ended.
//! 3. Waiters are reached and claimed under the lock, and resumed after it.
//!
//! # Memory ordering
//!
//! The lock orders everything except the word. The word only says that there is something to look
//! at under the lock, or a request that is never taken back. It is written before the processors
//! are woken, and read after they are (see [`crate::idle::parker`]).

use crate::queue::Link;
use crate::sync::{AtomicU32, Mutex, Ordering};
use crate::wait::waiter::{Resume, Waiter, Wakeable};
use std::ptr::NonNull;
use std::time::Instant;

/// A bit of the word: a caller wants all processors to stand still.
const PAUSE: u32 = 1;
/// A bit of the word: all fibres are to be cancelled.
const CANCEL: u32 = 2;
/// A bit of the word: processors are to leave their fibres where they are, and end.
const ABANDON: u32 = 4;
/// A bit of the word: fibres are to be unwound.
const UNWIND: u32 = 8;
/// A bit of the word: the cancellation spares nobody any more.
const SPARE_NOBODY: u32 = 16;

/// The phase of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessorPhase {
    /// It runs fibres, looks for some, or sleeps.
    Moving,
    /// It runs nothing until it is allowed to.
    Still,
    /// It has ended.
    Gone,
}

/// The phases of the processors.
#[derive(Debug)]
struct Progress<F> {
    /// How many callers want a standstill.
    wishes: u64,
    /// The phases, by processor.
    standings: Vec<ProcessorPhase>,
    /// The waiters, and the phase that each wants all processors to reach.
    waiting: Vec<(ProcessorPhase, NonNull<Waiter<F>>)>,
    /// Until when the cancellation spares some fibres.
    limit: Option<Instant>,
}

// SAFETY: waiters are reached under the lock only, and leave before their frames end.
unsafe impl<F> Send for Progress<F> {}

impl<F: Wakeable> Progress<F> {
    /// Whether all processors have reached `standing`.
    fn all_at(&self, standing: ProcessorPhase) -> bool {
        self.standings.iter().all(|at| *at >= standing)
    }

    /// Sets the phase of a processor; returns the waiters that this has satisfied.
    fn set(&mut self, processor: usize, standing: ProcessorPhase) -> Vec<Resume<F>> {
        self.standings[processor] = standing;
        let reached = [
            ProcessorPhase::Moving,
            ProcessorPhase::Still,
            ProcessorPhase::Gone,
        ]
        .map(|goal| self.all_at(goal));
        let mut resumes = Vec::new();
        self.waiting.retain(|(wanted, waiter)| {
            let served = reached[*wanted as usize];
            if served {
                // SAFETY: in the list, hence alive (invariant 3).
                resumes.extend(unsafe { waiter.as_ref() }.claim(0));
            }
            !served
        });
        resumes
    }
}

/// The orders of one cluster.
#[derive(Debug)]
pub struct Control<F> {
    /// The orders that there are.
    word: AtomicU32,
    progress: Mutex<Progress<F>>,
}

impl<F: Wakeable> Control<F> {
    /// No order, and no processor yet.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "one per domain, never a default"
    )]
    pub fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            progress: Mutex::new(Progress {
                wishes: 0,
                standings: Vec::new(),
                waiting: Vec::new(),
                limit: None,
            }),
        }
    }

    /// Counts processors that are about to begin. Their first act is to look for orders.
    pub fn add_processors(&self, count: usize) {
        let standings = &mut self.progress.lock().standings;
        standings.resize(standings.len() + count, ProcessorPhase::Moving);
    }

    /// Counts one more processor, which is about to begin, unless all others have ended. Its first
    /// act is to look for orders.
    #[must_use]
    pub fn add_late_processor(&self) -> bool {
        let mut progress = self.progress.lock();
        let late = progress.all_at(ProcessorPhase::Gone);
        if !late {
            progress.standings.push(ProcessorPhase::Moving);
        }
        !late
    }

    /// Wishes for a standstill. Then wake all processors, and wait.
    pub fn want_pause(&self) {
        self.progress.lock().wishes += 1;
        self.word.fetch_or(PAUSE, Ordering::AcqRel);
    }

    /// Takes such a wish back. `true`: it was the last one; wake all processors.
    #[must_use]
    pub fn end_pause(&self) -> bool {
        let mut progress = self.progress.lock();
        progress.wishes -= 1;
        let last = progress.wishes == 0;
        if last {
            self.word.fetch_and(!PAUSE, Ordering::AcqRel);
        }
        last
    }

    /// Orders that all fibres be cancelled, for good, but for those that are spared until this
    /// limit. Then wake all processors.
    pub fn cancel(&self, limit: Option<Instant>) {
        self.progress.lock().limit = limit;
        self.word.fetch_or(CANCEL, Ordering::AcqRel);
    }

    /// Orders that the cancellation spare nobody any more. Then wake all processors.
    pub fn spare_nobody(&self) {
        self.word.fetch_or(SPARE_NOBODY, Ordering::AcqRel);
    }

    /// Orders that fibres be unwound that wait in calls which cannot fail, for good. Then wake all
    /// processors.
    pub fn unwind(&self) {
        self.word.fetch_or(UNWIND, Ordering::AcqRel);
    }

    /// Orders that all fibres be left where they are, for good. Then wake all processors.
    pub fn abandon(&self) {
        self.word.fetch_or(ABANDON, Ordering::AcqRel);
    }

    /// Whether there is an order to obey.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.word.load(Ordering::Acquire) != 0
    }

    /// Whether all fibres are to be cancelled.
    #[inline]
    pub fn must_cancel(&self) -> bool {
        self.word.load(Ordering::Acquire) & CANCEL != 0
    }

    /// Whether a cancellation spares this fibre.
    #[cold]
    pub fn spares(&self, fibre: &Link) -> bool {
        fibre.is_spared() && !self.must_spare_nobody()
    }

    /// Whether the cancellation spares nobody any more.
    pub fn must_spare_nobody(&self) -> bool {
        self.word.load(Ordering::Acquire) & SPARE_NOBODY != 0
    }

    /// Until when the cancellation spares some fibres, if there is one with a limit.
    pub fn limit(&self) -> Option<Instant> {
        self.progress.lock().limit
    }

    /// Whether fibres are to be unwound.
    pub fn must_unwind(&self) -> bool {
        self.word.load(Ordering::Acquire) & UNWIND != 0
    }

    /// Whether all fibres are to be left where they are.
    pub fn must_abandon(&self) -> bool {
        self.word.load(Ordering::Acquire) & ABANDON != 0
    }

    /// Says that a processor stands still, if that is wanted; `false`: it is not. From then on the
    /// processor runs nothing before [`may_move`](Self::may_move).
    #[must_use]
    pub fn stand_still(&self, processor: usize) -> bool {
        let mut progress = self.progress.lock();
        if progress.wishes == 0 {
            return false;
        }
        let resumes = progress.set(processor, ProcessorPhase::Still);
        drop(progress);
        resumes.into_iter().for_each(Resume::resume);
        true
    }

    /// Asks whether a processor that stands still may move on; if so, it does.
    #[must_use]
    pub fn may_move(&self, processor: usize) -> bool {
        let mut progress = self.progress.lock();
        let free = progress.wishes == 0;
        if free {
            progress.standings[processor] = ProcessorPhase::Moving;
        }
        free
    }

    /// Says that a processor has ended. Does not touch `self` after others can see it, except by
    /// the reference that the caller has.
    pub fn leave(&self, processor: usize) {
        let resumes = self.progress.lock().set(processor, ProcessorPhase::Gone);
        resumes.into_iter().for_each(Resume::resume);
    }

    /// The processors that have not reached `standing`.
    pub fn not_at(&self, standing: ProcessorPhase) -> Vec<usize> {
        let progress = self.progress.lock();
        let standings = progress.standings.iter().enumerate();
        let late = standings.filter(|(_, at)| **at < standing);
        late.map(|(processor, _)| processor).collect()
    }

    /// The processors that are at `standing`.
    pub fn at(&self, standing: ProcessorPhase) -> Vec<usize> {
        let progress = self.progress.lock();
        let standings = progress.standings.iter().enumerate();
        let these = standings.filter(|(_, at)| **at == standing);
        these.map(|(processor, _)| processor).collect()
    }

    /// Hangs a waiter here until all processors have reached `standing`; `false`: they have.
    #[must_use]
    pub fn publish(&self, standing: ProcessorPhase, waiter: &Waiter<F>) -> bool {
        let mut progress = self.progress.lock();
        let wait = !progress.all_at(standing);
        if wait {
            progress.waiting.push((standing, NonNull::from(waiter)));
        }
        wait
    }

    /// Takes a waiter out again after its deadline.
    pub fn withdraw(&self, waiter: &Waiter<F>) {
        let waiting = &mut self.progress.lock().waiting;
        waiting.retain(|(_, other)| !std::ptr::eq(other.as_ptr(), waiter));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wait::no_fibre::NoFibre;
    use crate::wait::waiter::ThreadParker;

    /// Orders for so many processors.
    fn control(processors: usize) -> Control<NoFibre> {
        let control = Control::new();
        control.add_processors(processors);
        control
    }

    #[test]
    fn each_order_is_told_by_itself() {
        let control = control(1);
        let all = || {
            let (cancel, abandon) = (control.must_cancel(), control.must_abandon());
            (control.is_any(), cancel, abandon)
        };
        assert_eq!(all(), (false, false, false));
        control.want_pause();
        assert_eq!(all(), (true, false, false));
        control.abandon();
        assert_eq!(all(), (true, false, true));
        assert!(control.end_pause());
        assert_eq!(all(), (true, false, true));
        let limit = Some(Instant::now());
        control.cancel(limit);
        assert_eq!((all(), control.limit()), ((true, true, true), limit));
        let (spared, other) = (Link::new(), Link::new());
        spared.set_spared(true);
        assert!(control.spares(&spared) && !control.spares(&other));
        control.spare_nobody();
        assert!(!control.spares(&spared) && control.must_spare_nobody());
        assert!(!control.must_unwind());
        control.unwind();
        assert!(control.must_unwind());
        assert_eq!(all(), (true, true, true));
    }

    #[test]
    fn all_wishes_for_a_standstill_count() {
        let control = control(2);
        assert!(!control.stand_still(0));
        assert_eq!(control.not_at(ProcessorPhase::Still), [0, 1]);
        control.want_pause();
        control.want_pause();
        assert!(control.stand_still(1));
        assert_eq!(control.not_at(ProcessorPhase::Still), [0]);
        assert!(!control.may_move(1) && !control.end_pause());
        // There is still one wish.
        assert!(control.is_any() && control.stand_still(0) && !control.may_move(0));
        assert!(control.not_at(ProcessorPhase::Still).is_empty());
        assert!(control.end_pause() && !control.is_any());
        assert!(control.may_move(0) && !control.stand_still(0));
        assert_eq!(control.not_at(ProcessorPhase::Still), [0]);
    }

    #[test]
    fn who_waits_is_woken_by_the_last_one() {
        let control = control(2);
        let parkers = [(); 3].map(|()| ThreadParker::new());
        // SAFETY: the parkers outlive the waits.
        let waiters = [0, 1, 2].map(|index| unsafe { Waiter::for_thread(&parkers[index]) });
        let claimed = || waiters.each_ref().map(Waiter::is_claimed);
        assert!(!control.publish(ProcessorPhase::Moving, &waiters[0]));
        assert!(control.publish(ProcessorPhase::Still, &waiters[0]));
        assert!(control.publish(ProcessorPhase::Gone, &waiters[1]));
        assert!(control.publish(ProcessorPhase::Still, &waiters[2]));
        control.withdraw(&waiters[2]);
        control.want_pause();
        assert!(control.stand_still(0));
        assert_eq!(claimed(), [false; 3]);
        assert!(control.stand_still(1));
        assert_eq!(claimed(), [true, false, false]);
        parkers[0].park();
        control.leave(0);
        assert!(control.add_late_processor());
        control.leave(1);
        assert_eq!(claimed(), [true, false, false]);
        control.leave(2);
        assert_eq!(claimed(), [true, true, false]);
        parkers[1].park();
        assert!(!control.add_late_processor());
        assert!(!control.publish(ProcessorPhase::Gone, &waiters[2]));
    }
}
