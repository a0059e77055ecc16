//! What the handles of a cluster ask of its processors, and how far these have got.
//!
//! Each processor is, as far as others are concerned, in one of three standings:
//!
//! ```text
//!   Moving ⇄ Still            between two fibres, while somebody wants it so
//!     └─────────┴──► Gone     it has left its loop for good
//! ```
//!
//! Processors look at [`Orders::is_any`] where a look costs nothing: at each service
//! and after each sleep. Whoever gives an order then wakes them all, so one that
//! sleeps sees it at once and one that is busy within a service period, or when its
//! fibre next switches. Those who wait for the processors hang a waiter here.
//!
//! Invariants:
//!
//! 1. A processor is `Still` or `Gone` only while it runs no fibre.
//! 2. It becomes `Still`, and moves on, under the lock under which the wishes are
//!    counted. So while somebody who wants a standstill has found all of them still,
//!    none moves on; in particular not one that was about to, because of an
//!    earlier wish that has ended.
//! 3. Waiters are reached and claimed under the lock, and resumed after it.
//!
//! # Memory ordering
//!
//! The lock orders everything but the word, which only says that there is something to
//! look at under the lock, or an order that is never taken back. It is written before
//! the processors are woken, and read after they are (see [`crate::parker`]).

use crate::sync::{AtomicU32, Mutex, Ordering};
use crate::waiter::{Resume, Waiter, Wakeable};
use std::ptr::NonNull;

/// In the word: somebody wants all processors to stand still.
const PAUSE: u32 = 1;
/// In the word: all fibres are to be cancelled.
const CANCEL: u32 = 2;
/// In the word: processors are to leave their fibres where they are, and end.
const ABANDON: u32 = 4;

/// Where a processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It runs fibres, looks for some, or sleeps.
    Moving,
    /// It runs nothing until it is allowed to.
    Still,
    /// It has ended.
    Gone,
}

/// Where the processors are.
#[derive(Debug)]
struct Progress<F> {
    /// How many want a standstill.
    wishes: u32,
    /// By processor.
    standings: Vec<Standing>,
    /// Who waits for all of them to have come how far.
    waiting: Vec<(Standing, NonNull<Waiter<F>>)>,
}

// SAFETY: waiters are reached under the lock only, and leave before their frames end.
unsafe impl<F> Send for Progress<F> {}

impl<F: Wakeable> Progress<F> {
    /// Whether all processors have come as far as `standing`.
    fn all_at(&self, standing: Standing) -> bool {
        self.standings.iter().all(|at| *at >= standing)
    }

    /// Puts a processor somewhere; returns those who have waited for that.
    fn set(&mut self, processor: usize, standing: Standing) -> Vec<Resume<F>> {
        self.standings[processor] = standing;
        let reached =
            [Standing::Moving, Standing::Still, Standing::Gone].map(|goal| self.all_at(goal));
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

/// See the module text.
#[derive(Debug)]
pub struct Orders<F> {
    /// What there is to look at.
    word: AtomicU32,
    progress: Mutex<Progress<F>>,
}

impl<F: Wakeable> Orders<F> {
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
            }),
        }
    }

    /// Counts processors that are about to begin. Their first act is to look for orders.
    pub fn add_processors(&self, count: usize) {
        let standings = &mut self.progress.lock().standings;
        standings.resize(standings.len() + count, Standing::Moving);
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

    /// Orders that all fibres be cancelled, for good. Then wake all processors.
    pub fn cancel(&self) {
        self.word.fetch_or(CANCEL, Ordering::AcqRel);
    }

    /// Orders that all fibres be left where they are, for good. Then wake all processors.
    pub fn abandon(&self) {
        self.word.fetch_or(ABANDON, Ordering::AcqRel);
    }

    /// Whether a processor has something to obey.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.word.load(Ordering::Acquire) != 0
    }

    /// Whether all fibres are to be cancelled.
    #[inline]
    pub fn are_to_cancel(&self) -> bool {
        self.word.load(Ordering::Acquire) & CANCEL != 0
    }

    /// Whether all fibres are to be left where they are.
    pub fn are_to_abandon(&self) -> bool {
        self.word.load(Ordering::Acquire) & ABANDON != 0
    }

    /// Says that a processor stands still if that is wanted; `false`: it is not. Then
    /// it runs nothing before [`may_move`](Self::may_move).
    #[must_use]
    pub fn stand_still(&self, processor: usize) -> bool {
        let mut progress = self.progress.lock();
        if progress.wishes == 0 {
            return false;
        }
        let resumes = progress.set(processor, Standing::Still);
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
            progress.standings[processor] = Standing::Moving;
        }
        free
    }

    /// Says that a processor has ended. Does not touch `self` after others can see it,
    /// except by the reference that the caller has.
    pub fn leave(&self, processor: usize) {
        let resumes = self.progress.lock().set(processor, Standing::Gone);
        resumes.into_iter().for_each(Resume::resume);
    }

    /// The processors that have not come as far as `standing`.
    pub fn not_at(&self, standing: Standing) -> Vec<usize> {
        let progress = self.progress.lock();
        let standings = progress.standings.iter().enumerate();
        let late = standings.filter(|(_, at)| **at < standing);
        late.map(|(processor, _)| processor).collect()
    }

    /// Hangs a waiter here until all processors have come as far as `standing`; `false`:
    /// they have.
    #[must_use]
    pub fn publish(&self, standing: Standing, waiter: &Waiter<F>) -> bool {
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
