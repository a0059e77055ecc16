//! How idle processors call the poller's thread.
//!
//! ```text
//!   NONE ⇄ WAITING ──► CALLED ──► NONE
//!     └──────────────────┘
//! ```
//!
//! The thread forgets the calls from before its last poll ([`Calls::forget`]). Then it looks for an
//! idle processor, and if it finds none, it waits for a call. A processor first says that it is
//! idle, and then calls. So either the thread sees the idle processor, or the call comes after the
//! forgetting and ends the wait.
//!
//! # Memory ordering
//!
//! Acquire-release read-modify-writes of the one word: a thread that forgets a call sees that the
//! caller is idle.

use fibre_core::sync::Futex;
use std::time::Instant;

/// No processor has called.
const NONE: u32 = 0;
/// The thread sleeps on the word.
const WAITING: u32 = 1;
/// A processor has called.
const CALLED: u32 = 2;

/// The word that idle processors call the thread by.
#[derive(Debug)]
pub struct Calls(Futex);

impl Default for Calls {
    fn default() -> Self {
        Self::new()
    }
}

impl Calls {
    /// A word without calls.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    /// The thread sleeps until it is called, each time, and a call that comes first is not lost.
    #[test]
    fn a_wait_ends_with_a_call() {
        let calls = Calls::new();
        for _ in 0..3 {
            thread::scope(|scope| {
                let waits = scope.spawn(|| calls.wait(None));
                while !format!("{calls:?}").contains(&format!("({WAITING})")) {
                    assert!(!waits.is_finished(), "nobody has called");
                    thread::yield_now();
                }
                calls.call();
            });
            calls.call();
            calls.wait(None);
        }
        calls.call();
        calls.forget();
        let begun = Instant::now();
        let while_longer = std::time::Duration::from_millis(10);
        calls.wait(Some(begun + while_longer));
        assert!(begun.elapsed() >= while_longer, "the call was forgotten");
    }
}
