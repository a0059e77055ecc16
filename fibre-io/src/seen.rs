//! How much somebody has seen of what comes again and again.

use fibre_core::sync::{AtomicU64, Ordering, planted};

/// The count of arrivals up to which one has seen them. Several may look at once.
#[derive(Debug)]
pub struct Seen(AtomicU64);

impl Seen {
    /// All up to `count`.
    #[must_use]
    pub fn up_to(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    /// Whether any has come that nobody has taken; takes all that have. `false` only if there was
    /// nothing left: who is told so waits for the next arrival, and nobody tells of one before.
    ///
    /// `arrivals` loads their count with acquire.
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
                // Another has taken some, but perhaps not the last one.
                Err(other) => seen = other,
            }
        }
    }

    /// The count up to which all is taken.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
