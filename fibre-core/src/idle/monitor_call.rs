//! How processors that become busy wake the monitor, which sleeps while all are idle.
//!
//! ```text
//!   AWAKE ──► ASLEEP ──► AWAKE
//! ```
//!
//! The monitor says that it sleeps, makes every running thread of the process execute a memory
//! barrier (`membarrier`), and checks once more whether any processor is busy. A processor says
//! with a plain store that it is busy, and then looks at this word. So either the monitor sees that
//! the processor is busy, or the processor sees that the monitor sleeps, and wakes it. A processor
//! pays for one plain load each time it becomes busy.
//!
//! # Memory ordering
//!
//! The processor's store and its load of the word are one side of Dekker's, with [`light_barrier`]
//! between. The monitor's store of the word and its look are the other side, with [`HeavyBarrier`]
//! between. The word itself is changed by acquire-release read-modify-writes.

use crate::sync::{Futex, HeavyBarrier, light_barrier, planted};

/// The monitor looks at the processors, or is about to.
const AWAKE: u32 = 0;
/// The monitor sleeps on the word, or is about to.
const ASLEEP: u32 = 1;

/// The word of the process' monitor.
#[cfg(not(loom))]
pub static MONITOR: MonitorCall = MonitorCall::new();

/// The word of a monitor.
#[derive(Debug)]
pub struct MonitorCall(Futex);

impl MonitorCall {
    /// The word of a monitor that is awake, or not started.
    #[must_use]
    #[cfg(not(loom))]
    #[allow(clippy::new_without_default, reason = "one per process")]
    pub const fn new() -> Self {
        Self(Futex::new(AWAKE))
    }

    /// The word of a monitor that is awake, in a model.
    #[must_use]
    #[cfg(loom)]
    #[allow(clippy::new_without_default, reason = "one per process")]
    pub fn new() -> Self {
        Self(Futex::new(AWAKE))
    }

    /// Wakes the monitor if it sleeps. Called by a processor that has already said that it is busy.
    #[inline]
    pub fn call(&self) {
        light_barrier();
        if self.0.load() == ASLEEP {
            self.wake();
        }
    }

    /// The part of [`call`](Self::call) for a monitor that sleeps.
    #[cold]
    fn wake(&self) {
        if self.0.exchange(ASLEEP, AWAKE) {
            Futex::wake_one(&raw const self.0);
        }
    }

    /// Sleeps until a processor calls, unless one is busy already. Blocks the thread. The monitor
    /// only.
    pub fn sleep(&self, barrier: HeavyBarrier, is_anybody_busy: impl Fn() -> bool) {
        if planted("monitor: looks before it says that it sleeps") && is_anybody_busy() {
            return;
        }
        self.0.swap(ASLEEP);
        // A barrier that is refused for a moment is no reason to sleep.
        let seen = barrier().is_ok();
        let busy = || !planted("monitor: looks before it says that it sleeps") && is_anybody_busy();
        if seen && !busy() {
            while self.0.load() == ASLEEP {
                self.0.wait(ASLEEP, None);
            }
        }
        self.0.swap(AWAKE);
    }
}
