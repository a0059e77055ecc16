//! The word that a thread sleeps on until it is asked for something.

use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How often a thread has been asked for something. It may lie in memory of several processes.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Notifier(AtomicU32);

impl Notifier {
    /// A notifier that has not been rung.
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// How often it has been rung.
    pub(crate) fn rung(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Asks once more. Async-signal-safe, but for `errno`, which it does not touch.
    pub(crate) fn ring(&self) {
        self.0.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&self.0, futex::Flags::empty(), 1);
    }

    /// Sleeps until it says something else than `rung`, a thread calls this one, or the time is
    /// over.
    pub(crate) fn sleep(&self, rung: u32, limit: Option<Duration>) {
        let limit = limit.and_then(|limit| limit.try_into().ok());
        // Callers may be in other processes, so the futex is no private one.
        let _ = futex::wait(&self.0, futex::Flags::empty(), rung, limit.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_that_has_rung_lets_nobody_sleep() {
        let notifier = Notifier::new();
        let before = notifier.rung();
        notifier.ring();
        notifier.sleep(before, None);
        assert_eq!(notifier.rung(), before + 1);
    }
}
