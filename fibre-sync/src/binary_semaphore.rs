//! A semaphore with at most one permit.
//!
//! It is a counting semaphore that saturates: if the permit is there already, a release adds none.
//! It has two relatives:
//!
//! * a mutex: a lock has an owner that unlocks it. This permit has no owner, so one fibre may
//!   release what another one acquires, and a fibre may signal "there is something to do" any
//!   number of times;
//! * an [`AutoEvent`](crate::AutoEvent), which is the same thing as an event; this one is strictly
//!   first come, first served.

use crate::semaphore::Semaphore;
use fibre_core::{Limit, WaitError};
use std::time::Duration;

/// A semaphore with one permit at most: releasing twice is the same as releasing once.
///
/// ```
/// let work = fibre::sync::BinarySemaphore::new(false);
/// work.release();
/// work.release();
/// work.acquire();
/// assert!(!work.try_acquire());
/// ```
#[derive(Debug, Default)]
pub struct BinarySemaphore {
    /// A semaphore that never has more than one permit.
    permit: Semaphore,
}

fibre_core::end_of_frame!(BinarySemaphore: permit);

impl BinarySemaphore {
    fibre_core::const_outside_models! {
        /// A semaphore with its permit, or without.
        #[must_use]
        pub const fn new(available: bool) -> Self {
            Self {
                permit: Semaphore::new(available as usize),
            }
        }
    }

    /// Waits for the permit and takes it. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    pub fn acquire(&self) {
        self.permit.acquire();
    }

    /// Takes the permit if it is there. Blocks nothing.
    #[must_use = "`false` means that there is no permit"]
    pub fn try_acquire(&self) -> bool {
        self.permit.try_acquire()
    }

    /// Like [`acquire`](Self::acquire), but gives up after `timeout`, or when the fibre is
    /// cancelled; says whether the permit is the caller's.
    #[must_use = "`false` means that there is no permit"]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        self.permit.acquire_limited(Limit::after(timeout))
    }

    /// Like [`acquire`](Self::acquire), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the permit has not been taken.
    #[inline]
    pub fn acquire_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        self.permit.acquire_within(limit)
    }

    /// Gives the permit to the waiter that has waited longest, or makes it available. Returns
    /// `false` if it was available already. Blocks nothing. Any thread may call it.
    pub fn release(&self) -> bool {
        self.permit.try_release_many(1, 1).is_ok()
    }

    /// Whether the permit is there at this moment.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.permit.available() > 0
    }
}
