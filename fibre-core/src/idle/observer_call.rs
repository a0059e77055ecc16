//! How the monitor wakes an observer of a layer above, which sleeps while all processors do.
//!
//! ```text
//!   AWAKE ──► ASLEEP ──► AWAKE
//! ```
//!
//! The observer says that it sleeps, and the monitor wakes it at the end of each look. The monitor
//! looks at least once after a processor has become busy (`monitor_call`). So a processor pays for
//! one sleeper and not for two. The observer misses a processor that becomes busy and sleeps again
//! between the monitor's last look and the monitor's sleep. That does no harm: it looks for what
//! lasts.
//!
//! # Memory ordering
//!
//! The word is changed by acquire-release read-modify-writes: an observer that was called sees what
//! the monitor saw.

use crate::sync::Futex;
use std::time::Instant;

/// The observer is awake, or there is none.
const AWAKE: u32 = 0;
/// The observer sleeps, or is about to.
const ASLEEP: u32 = 1;

/// The word of the process' observer.
pub(crate) static OBSERVER: ObserverCall = ObserverCall(Futex::new(AWAKE));

/// The word of an observer.
#[derive(Debug)]
pub(crate) struct ObserverCall(Futex);

impl ObserverCall {
    /// Sleeps until the monitor calls, or the deadline passes; says whether it was called. Blocks
    /// the thread. The observer only.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> bool {
        self.0.swap(ASLEEP);
        let is_due = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        while self.0.load() == ASLEEP && !is_due() {
            self.0.wait(ASLEEP, deadline);
        }
        self.0.swap(AWAKE) == AWAKE
    }

    /// Wakes the observer, if it sleeps. The monitor only.
    pub(crate) fn call(&self) {
        if self.0.load() == ASLEEP && self.0.exchange(ASLEEP, AWAKE) {
            Futex::wake_one(&raw const self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_observer_is_woken_or_has_a_limit() {
        let word = &ObserverCall(Futex::new(AWAKE));
        assert!(!word.sleep(Some(Instant::now())));
        // Nobody sleeps.
        word.call();
        assert!(!word.sleep(Some(Instant::now() + Duration::from_millis(1))));
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| word.sleep(None));
            while !sleeper.is_finished() {
                word.call();
                std::thread::yield_now();
            }
            assert!(sleeper.join().is_ok_and(|called| called));
        });
    }
}
