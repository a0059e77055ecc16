//! What clients must keep to, and whether the program has colours.

use std::time::Duration;

/// What clients must keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Clients at a time; further ones wait to be accepted.
    pub(crate) clients: usize,
    /// How long a client may be silent between requests, or take nothing of an answer.
    pub(crate) idle: Duration,
    /// How long a request may take to arrive, from its first byte on.
    pub(crate) request: Duration,
    /// Bytes a second that a client must take of an answer.
    pub(crate) rate: usize,
    /// Whether all events have one colour, as in a program that was never coloured.
    pub(crate) one_colour: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 10_000,
            idle: Duration::from_secs(60),
            request: Duration::from_secs(10),
            rate: 4096,
            one_colour: false,
        }
    }
}

impl Limits {
    /// How long so many bytes may take.
    pub(crate) fn writing(&self, bytes: usize) -> Duration {
        self.idle + Duration::from_secs_f64(bytes as f64 / self.rate as f64)
    }

    /// How often clients are looked after.
    pub(crate) fn tick(&self) -> Duration {
        let shortest = self.idle.min(self.request) / 4;
        shortest.clamp(Duration::from_millis(5), Duration::from_secs(1))
    }
}
