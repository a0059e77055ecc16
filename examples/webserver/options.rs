//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// A web server with one fibre per connection.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(crate) addr: SocketAddr,

    /// Kernel threads that run fibres [default: what affinity and quota allow]
    #[arg(long)]
    processors: Option<usize>,

    /// Directory to serve; without it a built-in page stands at `/`
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,

    /// Seconds that a request's head may take to arrive, from its first byte on
    #[arg(long, default_value = "10", value_parser = seconds)]
    pub(crate) header_timeout: Duration,

    /// Seconds a connection may rest between requests, or a write make no progress
    #[arg(long, default_value = "60", value_parser = seconds)]
    pub(crate) idle_timeout: Duration,

    /// Seconds that requests in flight get to finish after SIGINT
    #[arg(long, default_value = "10", value_parser = seconds)]
    pub(crate) drain_timeout: Duration,

    /// Bytes a second that a client must take of an answer that does not fit its socket's buffers
    #[arg(long, default_value_t = 4096, value_parser = at_least_one)]
    pub(crate) minimum_rate: usize,

    /// Connections served at a time; further ones wait to be accepted
    #[arg(long, default_value_t = 100_000, value_parser = at_least_one)]
    pub(crate) max_connections: usize,
}

impl Options {
    /// The number of processors asked for, or the runtime's choice.
    pub(crate) fn processors(&self) -> usize {
        self.processors.unwrap_or_else(fibre::default_processors)
    }
}

/// Reads a duration given in seconds, which may have a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(Duration::ZERO) => Err("must be more than zero".to_owned()),
        Ok(duration) if duration > MAX_TIME => Err("must be at most a day".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(error.to_string()),
    }
}

/// The longest time-out accepted, so that deadlines cannot overflow.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads a count that must not be zero.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}
