//! What a link does, and how it is.

use super::events::What;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// What a link does to all that it carries.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How many nanoseconds a piece takes.
    pub(super) latency: Range<u64>,
    /// How probably a piece is lost.
    pub(crate) drop_rate: f64,
    /// How probably a datagram comes twice.
    pub(crate) duplicate_rate: f64,
    /// How probably a call moves less than it could.
    pub(crate) short_rate: f64,
    /// How many bytes may be under way and unread in one direction of a connection.
    pub(crate) window: usize,
}

impl Settings {
    /// Sets how long a piece takes.
    pub(crate) fn set_latency(&mut self, latency: Range<Duration>) {
        self.latency = nanoseconds(latency.start)..nanoseconds(latency.end);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            latency: 0..0,
            drop_rate: 0.0,
            duplicate_rate: 0.0,
            short_rate: 0.0,
            window: 64 << 10,
        }
    }
}

/// A link.
#[derive(Debug, Default)]
pub(super) struct LinkState {
    pub(super) settings: Settings,
    /// Whether nothing gets through.
    pub(super) is_parted: bool,
    /// Whether all that comes waits here.
    pub(super) is_held: bool,
    /// What waits.
    pub(super) held: VecDeque<What>,
}

/// A time in nanoseconds: five centuries fit.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
