//! When a busy processor asks for events.
//!
//! If a processor polls early, the woken fibres queue behind the ready ones. If these are so many
//! that their memory does not fit into the caches, whatever waking a fibre has brought in is gone
//! by the time the fibre runs, and so is the kernel's data. So the fibres of one poll's events run
//! before the next poll, and the next poll wakes its fibres just before they run. If no other
//! processor could run them earlier, this delays none, as the kernel reports events in their order.
//! If one could, they run about a millisecond later at most.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The longest time without a poll, but for the fibres that run between two services.
const MAX_POLL: Duration = Duration::from_millis(1);

/// Decides when to poll.
#[derive(Debug, Default)]
pub(super) struct Polling {
    /// Switches until about all fibres that the last poll has woken have run.
    left: Cell<u32>,
    /// The service or the sleep of that poll, once a service has asked.
    since: Cell<Option<Instant>>,
}

impl Polling {
    /// Notes a poll, or a sleep, which delivered so many events.
    #[inline]
    pub(super) fn begin(&self, delivered: u32) {
        self.left.set(delivered);
        self.since.set(None);
    }

    /// Whether it is time for a poll, at a service `now` that comes `switches` switches after the
    /// last service or sleep, which was at `before`.
    pub(super) fn is_due(&self, switches: u32, before: Instant, now: Instant) -> bool {
        let left = self.left.get().saturating_sub(switches);
        self.left.set(left);
        let since = self.since.get().unwrap_or(before);
        self.since.set(Some(since));
        left == 0 || now.saturating_duration_since(since) >= MAX_POLL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_were_woken_run_first() {
        let polling = Polling::default();
        let now = Instant::now();
        assert!(polling.is_due(1, now, now), "nobody was woken");
        polling.begin(100);
        assert!(!polling.is_due(60, now, now));
        assert!(polling.is_due(40, now, now));
    }

    #[test]
    fn those_who_run_for_long_keep_nobody_from_events() {
        let polling = Polling::default();
        let start = Instant::now();
        let after = |micros| start + Duration::from_micros(micros);
        for _ in 0..3 {
            polling.begin(100);
            assert!(!polling.is_due(4, start, after(400)));
            assert!(!polling.is_due(4, after(400), after(999)));
            assert!(polling.is_due(4, after(999), after(1000)));
        }
        // A service that comes late polls, whatever was delivered.
        polling.begin(100);
        assert!(polling.is_due(1, start, after(1000)));
    }
}
