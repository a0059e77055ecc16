//! The word that one thread uses to ask another, in a signal handler, for its registers.
//!
//! ```text
//!            ask()            take()            finish()
//!   Idle ───────────► Asked ──────────► Taken ───────────► Done
//!    ▲                  │                                   │
//!    └──── give_up() ───┴──────────── collect() ────────────┘
//! ```
//!
//! The word also has the number of the asked thread. So a late handler, of a thread that was asked
//! before, does not take another thread's question.
//!
//! The memory for the answer belongs to the asker, but to the answerer while the word is Taken. An
//! asker that has given up knows that no answer will be written: a later handler finds nothing to
//! take. If the answer is being written, the asker must wait until that has ended. It may leave
//! that to the next question: no other thread is asked until the answer is there, which is then
//! discarded, as nobody wants it any more.
//!
//! # Memory ordering
//!
//! `ask` releases where the answer is to go, and `take` acquires that. `finish` releases the
//! answer, and `collect` acquires it. The rest is relaxed: a word that goes back to Idle tells
//! nobody anything.

use fibre_core::sync::planted;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// A fault that models plant: a question is asked while an answer to the last one is being written.
pub const ASKS_DURING_AN_ANSWER: &str = "request::ASKS_DURING_AN_ANSWER";

const IDLE: u64 = 0;
const ASKED: u64 = 1;
const TAKEN: u64 = 2;
const DONE: u64 = 3;

/// The state of a word that has the number of a thread.
const STATE: u32 = 32;

/// The word of a question that a thread is asked, in this state.
fn word(state: u64, thread: i32) -> u64 {
    u64::from(thread.cast_unsigned()) | state << STATE
}

/// What came of giving up.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// Nobody will answer any more.
    InTime,
    /// The answer is being written, or there.
    TooLate,
}

/// The word.
#[derive(Debug)]
pub struct Request(AtomicU64);

impl Request {
    /// Nobody asks.
    #[cfg(not(loom))]
    #[must_use]
    #[allow(clippy::new_without_default, reason = "one per process")]
    pub const fn new() -> Self {
        Self(AtomicU64::new(IDLE))
    }

    /// Nobody asks.
    #[cfg(loom)]
    #[must_use]
    #[allow(clippy::new_without_default, reason = "one per process")]
    pub fn new() -> Self {
        Self(AtomicU64::new(IDLE))
    }

    /// Makes room for a question: discards an answer that nobody has collected. `false`: that
    /// answer is still being written, so nothing may be asked. Called by the only asker.
    #[must_use]
    pub fn make_room(&self) -> bool {
        let is_idle = self.0.load(Ordering::Relaxed) == IDLE;
        is_idle || self.collect() || planted(ASKS_DURING_AN_ANSWER)
    }

    /// Asks a thread. Called by the only asker, which has collected the last answer or given it up
    /// in time, or has [made room](Self::make_room).
    pub fn ask(&self, thread: i32) {
        self.0.store(word(ASKED, thread), Ordering::Release);
    }

    /// Whether the calling thread, which has this number, is to answer. Async-signal-safe, as the
    /// next one.
    #[must_use]
    pub fn take(&self, thread: i32) -> bool {
        let (asked, taken) = (word(ASKED, thread), word(TAKEN, thread));
        let taken = self
            .0
            .compare_exchange(asked, taken, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// The answer is there. Called once after each [`take`](Self::take) that succeeded.
    pub fn finish(&self) {
        self.0.store(DONE << STATE, Ordering::Release);
    }

    /// Whether the answer is there; if it is, nobody asks any more.
    #[must_use]
    pub fn collect(&self) -> bool {
        let done = self.0.load(Ordering::Acquire) >> STATE == DONE;
        if done {
            self.0.store(IDLE, Ordering::Relaxed);
        }
        done
    }

    /// Takes the question back.
    pub fn give_up(&self) -> GaveUp {
        let now = self.0.load(Ordering::Relaxed);
        let back = || {
            self.0
                .compare_exchange(now, IDLE, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        if now >> STATE == ASKED && back() {
            GaveUp::InTime
        } else {
            GaveUp::TooLate
        }
    }
}
