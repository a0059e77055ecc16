//! Access to something that its owner may take away, for frequent owners and rare visitors.
//!
//! The owner retires it with a store to a word of its own that visitors read, for instance a
//! generation. A visitor announces itself, makes every running thread execute a memory barrier
//! (`membarrier`, a system call), and only then reads that word. The owner looks for visitors after
//! its store. So either the visitor sees that the thing is gone, or the owner sees the visitor and
//! waits until it has left. The owner pays for two plain accesses.
//!
//! If the kernel has no such barrier, the owner's store is a read-modify-write instead.
//!
//! Source: Dice, Huang, Yang, "Asymmetric Dekker synchronization" (2001).
//!
//! # Memory ordering
//!
//! The store of the word and the load of the count, and the other way round, are Dekker's, with
//! [`light_barrier`] and [`HeavyBarrier`](crate::sync::HeavyBarrier) between, or sequentially
//! consistent read-modify-writes. A visitor leaves by a release, which the owner acquires: what the
//! visitor did comes before what the owner does next.

use crate::sync::{AtomicU32, AtomicU64, Backoff, Ordering, heavy_barrier, light_barrier};
use rustix::io::Errno;

/// Makes every running thread execute a memory barrier, where the kernel can do that: a system
/// call.
pub fn membarrier_all() {
    if let Some(barrier) = heavy_barrier() {
        let mut backoff = Backoff::new();
        while let Err(error) = barrier() {
            if error != Errno::NOMEM {
                // The barrier that was there at the start is refused, and by now visitors rely on
                // it.
                refused(error);
            }
            backoff.wait();
        }
    }
}

/// Ends the process with a message.
#[cold]
#[cfg(not(loom))]
fn refused(error: Errno) -> ! {
    crate::sys::stderr::abort_with(format_args!("membarrier is refused by now: {error}"))
}

/// Unreachable: a model's barrier is not refused.
#[cfg(loom)]
fn refused(error: Errno) -> ! {
    unreachable!("{error}")
}

/// The number of visitors.
#[derive(Debug)]
pub struct Asymmetric(AtomicU32);

impl Default for Asymmetric {
    fn default() -> Self {
        Self::new()
    }
}

impl Asymmetric {
    /// No visitor.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Calls `look`, which reads the owner's word first, and uses what the word guards only if that
    /// still exists. Blocks nothing, if `look` does not; costs a system call.
    pub fn visit<R>(&self, look: impl FnOnce() -> R) -> R {
        self.0.fetch_add(1, Ordering::SeqCst);
        if !self.no_barrier() {
            membarrier_all();
        }
        let result = look();
        self.0.fetch_sub(1, Ordering::Release);
        result
    }

    /// Stores `retired` to the owner's word, and waits for visitors that may have read the old
    /// value. Afterwards what the word guards is the owner's.
    #[inline]
    pub fn retire(&self, word: &AtomicU64, retired: u64) {
        if heavy_barrier().is_some() {
            word.store(retired, Ordering::Release);
            light_barrier();
        } else {
            word.swap(retired, Ordering::SeqCst);
        }
        if self.0.load(Ordering::SeqCst) != 0 {
            self.wait();
        }
    }

    /// Waits until there is no visitor.
    #[cold]
    fn wait(&self) {
        let mut backoff = Backoff::new();
        while self.0.load(Ordering::SeqCst) != 0 {
            backoff.wait();
        }
    }

    /// Whether a model has planted that the barrier is forgotten.
    #[cfg(loom)]
    fn no_barrier(&self) -> bool {
        crate::sync::model::planted("visits: no barrier")
    }

    /// No model runs.
    #[cfg(not(loom))]
    fn no_barrier(&self) -> bool {
        false
    }
}
