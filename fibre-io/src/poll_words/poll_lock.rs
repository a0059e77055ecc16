//! The right to poll an instance that several processors share.
//!
//! A processor that goes to sleep asks for the duty. The one that gets it sleeps in the instance,
//! the others on their futexes. Giving the duty back wakes no processor, since its holder is awake,
//! and asks again before it sleeps. So:
//!
//! 1. At most one processor has the duty.
//! 2. If all sleep, one of them has the duty: the last processor to be refused was refused by one
//!    that was awake or asleep in the instance, and a processor that is awake asks before it
//!    sleeps.
//!
//! # Memory ordering
//!
//! The duty is a lock without waiters: taken with acquire, given back with release.

use fibre_core::sync::{AtomicBool, Ordering, planted};

/// Whether a processor has the duty.
#[derive(Debug)]
pub struct Duty(AtomicBool);

impl Default for Duty {
    fn default() -> Self {
        Self::new()
    }
}

impl Duty {
    /// A duty that no processor has.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Takes the duty, unless another processor has it.
    #[must_use]
    pub fn take(&self) -> bool {
        if self.0.load(Ordering::Relaxed) {
            return false;
        }
        if planted("duty: looked at, then taken") {
            self.0.store(true, Ordering::Release);
            return true;
        }
        let taken = self
            .0
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Gives the duty back.
    pub fn give_back(&self) {
        self.0.store(false, Ordering::Release);
    }
}
