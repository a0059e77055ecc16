//! What a closed loop is to do.

use std::net::SocketAddr;
use std::time::Duration;

use super::exchange::Exchange;
use crate::measure::CpuClock;

/// How long an answer may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How long a connection is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// For the whole run.
    Run,
    /// For one exchange; the client closes it and opens the next.
    Exchange,
    /// For so many exchanges; the client closes it and opens the next.
    Reopened(u64),
    /// For so many exchanges; then it rests, and the run ends when all rest.
    Exchanges(u64),
}

/// Requests that keep the server from its work, among the others of a connection.
#[derive(Debug, Clone)]
pub struct Stalls {
    /// What is sent and expected then.
    pub exchange: Exchange,
    /// The mean time from one to the next on each connection; they come at random, as telephone
    /// calls do (Poisson).
    pub mean: Duration,
}

/// A closed loop to run.
pub struct Plan {
    /// Where the server listens.
    pub address: SocketAddr,
    /// How many connections are open at a time.
    pub connections: usize,
    /// Threads the connections are split among.
    pub threads: usize,
    /// What each connection sends and expects.
    pub exchange: Exchange,
    /// How long each connection is used.
    pub lifetime: Lifetime,
    /// What else each connection asks for now and then. It is not counted.
    pub stalls: Option<Stalls>,
    /// How long the load runs before it counts.
    pub warm_up: Duration,
    /// How long it counts; with a number of exchanges, how long they may take.
    pub length: Duration,
    /// The CPU clock of the server, if its cost is asked for.
    pub server: Option<CpuClock>,
}
