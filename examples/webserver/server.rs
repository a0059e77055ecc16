//! What all connections share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fibre::sync::Semaphore;

use crate::clock::Clock;
use crate::files::Files;
use crate::options::Options;
use crate::pace::Terms;

/// What all connections share.
pub(crate) struct Server {
    /// What there is to serve.
    pub(crate) files: Files,
    /// The source of the `Date` field.
    pub(crate) clock: Clock,
    /// How many connections have been accepted.
    pub(crate) connections: AtomicU64,
    /// How long a request's head may take to arrive.
    pub(crate) header_timeout: Duration,
    /// How long a connection may rest.
    pub(crate) idle_timeout: Duration,
    /// How fast a client must take an answer.
    pub(crate) terms: Terms,
    /// One permit for each connection that may still be accepted.
    pub(crate) permits: Arc<Semaphore>,
    /// Answers given by connections that have ended.
    pub(crate) served: AtomicU64,
}

impl Server {
    pub(crate) fn new(options: &Options) -> io::Result<Self> {
        Ok(Self {
            files: Files::new(options.dir.as_deref())?,
            clock: Clock::new(),
            connections: AtomicU64::new(0),
            header_timeout: options.header_timeout,
            idle_timeout: options.idle_timeout,
            terms: Terms {
                grace: options.idle_timeout,
                rate: options.minimum_rate as u64,
            },
            permits: Arc::new(Semaphore::new(options.max_connections)),
            served: AtomicU64::new(0),
        })
    }

    /// What has been done, for people to read.
    pub(crate) fn tally(&self) -> String {
        let served = self.served.load(Ordering::Relaxed);
        let connections = self.connections.load(Ordering::Relaxed);
        format!("served {served} requests on {connections} connections")
    }
}
