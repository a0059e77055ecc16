//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

use lexopt::prelude::*;

const HELP: &str = "\
A web server with one fibre per connection.

  --addr ADDRESS            to listen on; with port 0 the kernel chooses one [127.0.0.1:8080]
  --processors COUNT        kernel threads that run fibres [what affinity and quota allow]
  --dir PATH                directory to serve; without it a built-in page stands at `/`
  --header-timeout SECONDS  that a request's head may take, from its first byte on [10]
  --idle-timeout SECONDS    that a connection may rest between requests, or a write make no
                            progress [60]
  --drain-timeout SECONDS   that requests in flight get to finish after SIGINT [10]
  --minimum-rate BYTES      a second that a client must take of an answer that does not fit its
                            socket's buffers [4096]
  --max-connections COUNT   served at a time; further ones wait to be accepted [100000]
";

/// What the command line chooses.
pub(crate) struct Options {
    pub(crate) addr: SocketAddr,
    processors: Option<usize>,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) minimum_rate: usize,
    pub(crate) max_connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from(([127, 0, 0, 1], 8080)),
            processors: None,
            dir: None,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(10),
            minimum_rate: 4096,
            max_connections: 100_000,
        }
    }
}

impl Options {
    /// Reads the command line.
    pub(crate) fn read() -> Result<Self, lexopt::Error> {
        let mut options = Self::default();
        let mut arguments = lexopt::Parser::from_env();
        while let Some(argument) = arguments.next()? {
            let name = match argument {
                Short('h') | Long("help") => {
                    print!("{HELP}");
                    exit(0);
                }
                Long(name) => name,
                _ => return Err(argument.unexpected()),
            };
            let name = name.to_owned();
            let value = arguments.value()?;
            let set = options.set(&name, value);
            set.map_err(|error| format!("--{name}: {error}"))?;
        }
        Ok(options)
    }

    /// Takes in one of them.
    fn set(&mut self, name: &str, value: OsString) -> Result<(), lexopt::Error> {
        match name {
            "addr" => self.addr = value.parse()?,
            "processors" => self.processors = Some(value.parse()?),
            "dir" => self.dir = Some(value.into()),
            "header-timeout" => self.header_timeout = value.parse_with(seconds)?,
            "idle-timeout" => self.idle_timeout = value.parse_with(seconds)?,
            "drain-timeout" => self.drain_timeout = value.parse_with(seconds)?,
            "minimum-rate" => self.minimum_rate = value.parse_with(at_least_one)?,
            "max-connections" => self.max_connections = value.parse_with(at_least_one)?,
            _ => return Err("there is no such option".into()),
        }
        Ok(())
    }

    /// The number of processors asked for, or the runtime's choice.
    pub(crate) fn processors(&self) -> usize {
        self.processors.unwrap_or_else(fibre::default_processors)
    }
}

/// Reads a duration given in seconds, which may have a fraction. Whoever builds a first example
/// does not have to build a crate that knows units.
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
