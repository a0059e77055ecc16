//! The word of an activity: does it have to run, and does it?
//!
//! ```text
//!          schedule(): queue it         begin()               end(): leave it
//!   Idle ─────────────────────► Ready ─────────► Running ─────────────────────► Idle
//!                                 ▲                 │
//!                                 │   end(): queue  │ schedule(): noticed
//!                                 └──────────────── Again
//! ```
//!
//! * **Idle**: it is in no queue. Whoever schedules it queues it.
//! * **Ready**: it is in one ready queue, and has not begun.
//! * **Running**: it runs, or waits as any fibre does, on a stack of its own.
//! * **Again**: it runs, and was scheduled meanwhile: it will run once more.
//! * **Refused**: its cluster has abandoned it. This is the end.
//!
//! So it is in one queue at most, and any number of `schedule` calls before a run begins make one
//! run.
//!
//! If the cluster may be closed to a caller, that caller must not make the activity ready first:
//! another caller, who is let in, would believe it queued. So it calls
//! [`notice`](ActivityWord::notice), and `schedule` only when it has been let in.
//!
//! # Memory ordering
//!
//! All changes are acquire-release read-modify-writes, so each one is in the release sequence of
//! those before. A run sees what was done before each `schedule` that it answers. The next run sees
//! what this run did.

use crate::sync::{AtomicU32, Ordering, planted};

/// It has to run.
const SCHEDULED: u32 = 1;
/// It runs.
const RUNNING: u32 = 2;
/// It never runs again.
const REFUSED: u32 = 4;

/// The word.
#[derive(Debug)]
pub struct ActivityWord(AtomicU32);

/// What follows a call of [`ActivityWord::schedule`].
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduled {
    /// The caller queues the activity.
    Enqueue,
    /// Nothing: a run will come.
    Noticed,
    /// Nothing: no run will come.
    Refused,
}

/// What follows a run.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nothing: others may schedule it from now on.
    Idle,
    /// The caller queues the activity.
    Again,
}

impl ActivityWord {
    /// The word of an idle activity.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "one per activity, never a default"
    )]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Makes the activity run once more. Any thread.
    #[inline]
    pub fn schedule(&self) -> Scheduled {
        match self.0.fetch_or(SCHEDULED, Ordering::AcqRel) {
            0 => Scheduled::Enqueue,
            before if before & REFUSED != 0 => Scheduled::Refused,
            _ => Scheduled::Noticed,
        }
    }

    /// Makes the activity run once more, if it is ready or runs; says whether it does. Any thread.
    #[inline]
    pub fn notice(&self) -> bool {
        let noticed = |word: u32| {
            let is_under_way = word != 0 && word & REFUSED == 0;
            is_under_way.then_some(word | SCHEDULED)
        };
        let noticed = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, noticed);
        noticed.is_ok()
    }

    /// Says that the activity will never run again. `false`: that was known.
    pub fn refuse(&self) -> bool {
        self.0.fetch_or(REFUSED, Ordering::AcqRel) & REFUSED == 0
    }

    /// Begins a run.
    #[inline]
    pub fn begin(&self) {
        self.0.swap(RUNNING, Ordering::AcqRel);
    }

    /// Ends a run.
    #[inline]
    pub fn end(&self) -> Ended {
        let before = if planted("activity: the end of a run forgets who comes meanwhile") {
            let before = self.0.load(Ordering::Acquire);
            self.0.store(before & !RUNNING, Ordering::Release);
            before
        } else {
            self.0.fetch_and(!RUNNING, Ordering::AcqRel)
        };
        match before & SCHEDULED {
            0 => Ended::Idle,
            _ => Ended::Again,
        }
    }

    /// Whether a run that has not ended will be followed by another one. Asked by the run; if
    /// nobody else has a handle, this does not change.
    #[must_use]
    pub fn is_to_run_again(&self) -> bool {
        self.0.load(Ordering::Relaxed) & SCHEDULED != 0
    }

    /// Whether the activity neither runs nor is about to; a hint.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn calls_before_a_run_make_one_run() {
        let word = ActivityWord::new();
        assert!(word.is_idle());
        assert_eq!(word.schedule(), Scheduled::Enqueue);
        assert_eq!(word.schedule(), Scheduled::Noticed);
        word.begin();
        assert_eq!(word.end(), Ended::Idle);
        assert!(word.is_idle());
    }

    #[test]
    fn a_call_during_a_run_makes_another_one() {
        let word = ActivityWord::new();
        assert_eq!(word.schedule(), Scheduled::Enqueue);
        word.begin();
        assert!(!word.is_to_run_again());
        assert_eq!(word.schedule(), Scheduled::Noticed);
        assert_eq!(word.schedule(), Scheduled::Noticed);
        assert!(word.is_to_run_again());
        assert_eq!(word.end(), Ended::Again);
        assert!(!word.is_idle());
        word.begin();
        assert_eq!(word.end(), Ended::Idle);
    }

    #[test]
    fn only_what_is_under_way_notices() {
        let word = ActivityWord::new();
        assert!(!word.notice() && word.is_idle());
        assert_eq!(word.schedule(), Scheduled::Enqueue);
        assert!(word.notice());
        word.begin();
        assert!(word.notice() && word.is_to_run_again());
        assert_eq!(word.end(), Ended::Again);
    }

    #[test]
    fn what_is_refused_stays_refused() {
        let word = ActivityWord::new();
        assert_eq!(word.schedule(), Scheduled::Enqueue);
        assert!(word.refuse());
        assert!(!word.refuse() && !word.notice());
        assert_eq!(word.schedule(), Scheduled::Refused);
        assert_eq!(word.schedule(), Scheduled::Refused);
    }
}
