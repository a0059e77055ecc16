//! The run state of a fibre: may its stack be resumed?
//!
//! ```text
//!            suspend, then left()                 wake()
//!  Running ───────────────────────► Parked ─────────────────► Woken
//!     ▲  │                                                     │ ▲
//!     │  └────────────── wake(): it came first ────────────────┼─┘
//!     └───────────────── resumed(), stay() ────────────────────┘
//! ```
//!
//! * **Running**: some processor is on the fibre's stack, or the fibre is in a
//!   ready queue without having parked.
//! * **Parked**: its stack has been left; exactly one waker will queue it.
//! * **Woken**: the wake-up has happened. It is in a ready queue, or still on its
//!   stack and about to find out.
//!
//! Invariant: a fibre parks, is woken once, and runs; the waiter's outcome (see
//! [`crate::waiter`]) makes sure that nobody wakes a second time. So a wake is a
//! plain swap and needs no loop.
//!
//! # Memory ordering
//!
//! Both transitions are acquire-release read-modify-writes: `left` releases the
//! fibre's stack to whoever wakes it, and `wake` releases what the waker did
//! before (the outcome, the data handed over) to the fibre.

use crate::sync::{AtomicU32, Ordering};

/// See the module text.
const RUNNING: u32 = 0;
/// See the module text.
const PARKED: u32 = 1;
/// See the module text.
const WOKEN: u32 = 2;

/// What the waker has to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Put the fibre into a ready queue: its stack is free.
    Enqueue,
    /// Nothing: the fibre is still on its stack and will notice.
    Noticed,
}

/// What the processor has to do with a fibre whose stack it just left.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Forget it: a waker will queue it.
    Parked,
    /// Queue it: the wake-up came before the stack was left.
    WokenEarly,
}

/// The word. Nobody else touches its bits.
#[derive(Debug)]
pub struct StateWord(AtomicU32);

impl Default for StateWord {
    fn default() -> Self {
        Self::new()
    }
}

impl StateWord {
    /// The word of a fibre that may run.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU32::new(RUNNING))
    }

    /// Called by the winner of the fibre's waiter, on any thread.
    #[inline]
    pub fn wake(&self) -> Wake {
        match self.0.swap(WOKEN, Ordering::AcqRel) {
            PARKED => Wake::Enqueue,
            previous => {
                debug_assert_eq!(previous, RUNNING, "a fibre was woken twice");
                Wake::Noticed
            }
        }
    }

    /// Called by the processor, back on its own stack, for a fibre that parks.
    #[inline]
    pub fn left(&self) -> Left {
        let parked = self
            .0
            .compare_exchange(RUNNING, PARKED, Ordering::AcqRel, Ordering::Acquire);
        if parked.is_ok() {
            Left::Parked
        } else {
            Left::WokenEarly
        }
    }

    /// Called by the fibre, still on its stack: consumes a wake-up that has
    /// come already, so that it need not leave at all.
    #[inline]
    #[must_use]
    pub fn stay(&self) -> bool {
        let woken = self.0.load(Ordering::Acquire) == WOKEN;
        if woken {
            self.resumed();
        }
        woken
    }

    /// Called by the processor that took the fibre from a ready queue.
    ///
    /// Relaxed: the queue has handed the fibre over, and nobody else writes.
    #[inline]
    pub fn resumed(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// Whether the fibre is parked at this moment; for reports only.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PARKED
    }
}
