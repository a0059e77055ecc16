//! When a busy processor asks for events.
//!
//! Those that it asks for early it has to put behind the fibres that are ready. If there are so many
//! of these that their memory does not fit into the caches, what waking a fibre has
//! brought in is gone by the time it runs, and with it what the kernel has looked at. So the fibres of one
//! poll's events run before the next poll, and those of the next are woken just before
//! they run. They run no later for that, as the kernel tells of events in their order.

use std::cell::Cell;

/// Services in a row that may do without a poll: a millisecond.
const MOST_SKIPPED: u32 = 4;

/// See the module text.
#[derive(Debug, Default)]
pub struct Polling {
    /// Switches to go by until all whom the last poll has woken have run, about.
    left: Cell<u32>,
    /// Services without a poll since.
    skipped: Cell<u32>,
}

impl Polling {
    /// There has been a poll, or a sleep, which delivered so many events.
    #[inline]
    pub fn begin(&self, delivered: u32) {
        self.left.set(delivered);
        self.skipped.set(0);
    }

    /// Whether it is time for a poll, at a service that comes so many switches after the last
    /// one or the last sleep.
    pub fn is_due(&self, switches: u32) -> bool {
        let left = self.left.get().saturating_sub(switches);
        self.left.set(left);
        let skipped = self.skipped.get();
        self.skipped.set(skipped + 1);
        left == 0 || skipped == MOST_SKIPPED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_were_woken_run_first() {
        let polling = Polling::default();
        assert!(polling.is_due(1), "nobody was woken");
        polling.begin(100);
        assert!(!polling.is_due(60));
        assert!(polling.is_due(40));
    }

    #[test]
    fn those_who_run_for_long_keep_nobody_from_events() {
        let polling = Polling::default();
        for _ in 0..3 {
            polling.begin(100);
            let skipped = (0..100).take_while(|_| !polling.is_due(4)).count();
            assert_eq!(skipped, 4);
        }
    }
}
