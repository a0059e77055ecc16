//! How processors that have nothing to do call the poller's thread.
//!
//! ```text
//!   NONE ⇄ WAITING ──► CALLED ──► NONE
//!     └──────────────────┘
//! ```
//!
//! The thread forgets calls from before its last poll ([`Calls::forget`]), looks whether a processor
//! is idle, and else waits for a call. A processor says that it is idle, and calls then. So
//! either the thread sees that it is idle, or its call comes after the forgetting and ends the
//! wait.
//!
//! # Memory ordering
//!
//! Acquire-release read-modify-writes of the one word: who forgets a call has seen that its
//! caller is idle.

use fibre_core::sync::Futex;
use std::time::Instant;

/// Nobody has called.
const NONE: u32 = 0;
/// The thread sleeps on the word.
const WAITING: u32 = 1;
/// Somebody has called.
const CALLED: u32 = 2;

/// See the module text.
#[derive(Debug)]
pub struct Calls(Futex);

impl Default for Calls {
    fn default() -> Self {
        Self::new()
    }
}

impl Calls {
    /// None so far.
    #[must_use]
    pub fn new() -> Self {
        Self(Futex::new(NONE))
    }

    /// Calls the thread. Any thread.
    pub fn call(&self) {
        if self.0.swap(CALLED) == WAITING {
            Futex::wake_one(&raw const self.0);
        }
    }

    /// Forgets calls. The poller's thread only.
    pub fn forget(&self) {
        self.0.swap(NONE);
    }

    /// Waits for a call, or until the deadline. Blocks the thread. The poller's thread only.
    pub fn wait(&self, deadline: Option<Instant>) {
        if self.0.exchange(NONE, WAITING) {
            self.0.wait(WAITING, deadline);
        }
        self.0.swap(NONE);
    }

    /// Whether a wait would end at once; for models.
    #[cfg(loom)]
    pub fn is_called(&self) -> bool {
        self.0.load() == CALLED
    }
}
