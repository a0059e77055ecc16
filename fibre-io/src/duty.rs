//! The right to poll an instance that several processors share.
//!
//! Whoever goes to sleep asks for it: who gets it sleeps in the instance, the others on their
//! futexes. Nobody is woken when it is given back, since who gives it back is awake, and asks
//! again before it sleeps. So:
//!
//! 1. At most one has the duty.
//! 2. If all sleep, one of them has it: of those who were refused it, the last one was refused by
//!    one that was awake or asleep in the instance; and one that is awake asks before it sleeps.
//!
//! # Memory ordering
//!
//! It is a lock that nobody waits for: taken with acquire, given back with release.

use fibre_core::sync::{AtomicBool, Ordering, planted};

/// See the module text.
#[derive(Debug)]
pub struct Duty(AtomicBool);

impl Default for Duty {
    fn default() -> Self {
        Self::new()
    }
}

impl Duty {
    /// Nobody has it.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Takes it, unless somebody has it.
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

    /// Gives it back.
    pub fn give_back(&self) {
        self.0.store(false, Ordering::Release);
    }
}
