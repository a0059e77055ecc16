//! A cursor into a count of recurring arrivals.

use fibre_core::sync::{AtomicU64, Ordering, planted};

/// How many arrivals have been seen. Several callers may take at once.
#[derive(Debug)]
pub struct SequenceCursor(AtomicU64);

impl SequenceCursor {
    /// A cursor that has seen all arrivals up to `count`.
    #[must_use]
    pub fn up_to(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    /// Takes all arrivals that no caller has taken yet; returns whether there were any. It returns
    /// `false` only if nothing was left: the caller then waits for the next arrival, and would hear
    /// of no earlier one.
    ///
    /// `arrivals` loads the count of arrivals with acquire.
    pub fn take(&self, arrivals: impl Fn() -> u64) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let now = arrivals();
            if seen >= now {
                return false;
            }
            let taken = self
                .0
                .compare_exchange(seen, now, Ordering::AcqRel, Ordering::Relaxed);
            match taken {
                Ok(_) => return true,
                Err(_) if planted("seen: who comes second takes nothing") => return false,
                // Another caller has taken some, but perhaps not the last one.
                Err(other) => seen = other,
            }
        }
    }

    /// How many arrivals have been taken, without a gap.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
