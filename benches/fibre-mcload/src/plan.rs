//! What a run is asked for.

use std::net::SocketAddr;
use std::time::Duration;

use crate::distribution::Distribution;
use crate::keys::Popularity;
use crate::protocol::Dialect;
use crate::storm::Storm;

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub server: SocketAddr,
    /// How one speaks with it.
    pub dialect: Dialect,
    /// How many connections there are.
    pub connections: u32,
    /// How many requests may be under way on each of them.
    pub pipeline: usize,
    /// Which share of the requests stores.
    pub update: f64,
    /// How many keys there are.
    pub keys: u32,
    /// How long their names are, in bytes.
    pub key_size: Distribution,
    /// How long their values are, in bytes.
    pub value_size: Distribution,
    /// The longest value.
    pub value_limit: usize,
    /// Which keys are asked for.
    pub popularity: Popularity,
    /// Whether every key is stored before.
    pub preload: bool,
    /// Requests per second of all connections, due at times that do not depend on answers; `None`:
    /// the next one is due when there is room for it.
    pub rate: Option<f64>,
    /// How the times between requests are spread; its mean follows from the rate.
    pub gap: Distribution,
    /// How long it runs before it counts.
    pub warm_up: Duration,
    /// How long it counts.
    pub seconds: Duration,
    /// How many requests are sent at most.
    pub requests: Option<u64>,
    /// How long an answer may take before the connection is given up.
    pub timeout: Duration,
    /// Kernel threads that drive the connections, each its share.
    pub processors: usize,
    /// What all that is random follows from.
    pub seed: u64,
    /// Clients that misbehave meanwhile.
    pub storms: Vec<Storm>,
    /// The server's process, if it is known.
    pub pid: Option<u32>,
    /// Whether a bar shows how far it is.
    pub progress: bool,
}

impl Plan {
    /// A run of ten seconds with the usual sizes.
    #[must_use]
    pub fn new(server: SocketAddr) -> Self {
        Self {
            server,
            dialect: Dialect::Text,
            connections: 64,
            pipeline: 1,
            update: 0.1,
            keys: 10_000,
            key_size: Distribution::Fixed(30.0),
            value_size: Distribution::Fixed(200.0),
            value_limit: crate::values::MOST,
            popularity: Popularity::Uniform,
            preload: true,
            rate: None,
            gap: Distribution::Exponential(1.0),
            warm_up: Duration::ZERO,
            seconds: Duration::from_secs(10),
            requests: None,
            timeout: Duration::from_secs(10),
            processors: 1,
            seed: 1,
            storms: Vec::new(),
            pid: None,
            progress: false,
        }
    }

    /// Whether requests are due at times that do not depend on answers.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.rate.is_some()
    }

    /// What cannot be done about it.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.connections == 0 || self.pipeline == 0 || self.processors == 0 || self.keys == 0 {
            return Some("connections, pipeline, processors and keys are at least 1".into());
        }
        if self.keys < self.connections {
            return Some(format!(
                "{} keys for {} connections: each connection changes keys of its own",
                self.keys, self.connections
            ));
        }
        if !(0.0..=1.0).contains(&self.update) {
            return Some("the share of updates is from 0 to 1".into());
        }
        if self
            .rate
            .is_some_and(|rate| !(rate.is_finite() && rate > 0.0))
        {
            return Some("the rate is above 0".into());
        }
        None
    }
}
