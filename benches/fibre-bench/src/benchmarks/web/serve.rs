//! One repetition of a server under load, whoever makes the load.
//!
//! The server runs on the first cores and the load on the others; where the
//! server has them all, the load shares the last one with it, so that only the
//! CPU time means much. Measured is the CPU time of the whole server process for
//! one request, and what the load generator saw. Each repetition has a fresh
//! server, so that no layout of memory favours one for the whole run.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::plan::Run;
use crate::process::{LoadCommand, Mode, Server, wrk};
use crate::servers::{Duty, ServerProgram};

/// Seconds of load before the clock starts.
const WARM_UP: f64 = 0.1;

/// The longest that a given number of messages may take, in seconds.
const MAX_SECONDS: f64 = 600.0;

/// What the load is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Keep-alive requests, by wrk.
    Wrk,
    /// Requests, so many in flight on each connection, by our own generator.
    Requests { pipeline: usize },
    /// Messages of so many bytes, which come back; where their number is given,
    /// each connection sends so many.
    Messages { bytes: usize, each: Option<u64> },
    /// Connections that carry one request.
    Short,
    /// Requests for a file of so many bytes at this path, so many on each connection.
    File {
        path: &'static str,
        bytes: usize,
        each: u64,
    },
}

/// A server's duty and the load on it.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) load: Load,
    pub(crate) connections: usize,
    /// Cores of the server; the load has the others.
    pub(crate) processors: usize,
    pub(crate) seconds: f64,
}

/// What one repetition saw.
#[derive(Clone, Copy)]
pub(crate) struct Served {
    /// CPU time of the server for one request, in microseconds.
    pub(crate) cpu_us: f64,
    pub(crate) requests_per_second: f64,
    /// Median, 99th percentile and 99.9th percentile of the latency, in milliseconds.
    pub(crate) quantiles_ms: [f64; 3],
}

impl Load {
    /// The best generator of keep-alive requests that is here: wrk, which the bars were set with,
    /// or our own.
    pub(crate) fn keep_alive() -> Self {
        if wrk::installed() {
            Self::Wrk
        } else {
            Self::Requests { pipeline: 1 }
        }
    }

    /// The load of our own generator that comes nearest, on so many connections for
    /// so long.
    pub(super) fn by_ours(self, connections: usize, seconds: f64) -> LoadCommand {
        let mode = match self {
            Self::Wrk => Mode::Http { pipeline: 1 },
            Self::Requests { pipeline } => Mode::Http { pipeline },
            Self::Messages { bytes, .. } => Mode::Echo { bytes },
            Self::Short => Mode::Short,
            Self::File { .. } => Mode::Http { pipeline: 1 },
        };
        match self {
            Self::Messages {
                each: Some(each), ..
            } => LoadCommand::new(mode, connections, MAX_SECONDS).exchanges(each),
            Self::File { path, each, .. } => LoadCommand::new(mode, connections, seconds)
                .reopening(each)
                .path(path),
            _ => LoadCommand::new(mode, connections, seconds),
        }
    }
}

impl Setting {
    /// What a server has to do.
    pub(super) fn duty(&self) -> Duty {
        Duty {
            echo: matches!(self.load, Load::Messages { .. }),
            body: match self.load {
                Load::File { bytes, .. } => Some(bytes),
                _ => None,
            },
            ..Duty::answering(self.processors)
        }
    }

    /// One repetition; `None` where the server cannot do this duty.
    pub(crate) fn measure(
        &self,
        run: &Run,
        program: &ServerProgram,
    ) -> anyhow::Result<Option<Served>> {
        let Some(server) = run.start(program, self.duty())? else {
            return Ok(None);
        };
        let load_cores = run.cores.load(self.processors);
        let served = match self.load {
            Load::Wrk => self.by_wrk(&server, &load_cores),
            _ => self.by_ours(&server, &load_cores),
        };
        served.map(Some)
    }

    /// The load of wrk.
    fn by_wrk(&self, server: &Server, cores: &[usize]) -> anyhow::Result<Served> {
        warm_up(&server.address, self.connections)?;
        let before = server.cpu.read()?;
        let load = wrk::run(&server.address, self.connections, self.seconds, cores)?;
        let cpu = server.cpu.read()? - before;
        ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        Ok(Served {
            cpu_us: cpu.as_secs_f64() * 1e6 / load.requests,
            requests_per_second: load.requests_per_second,
            quantiles_ms: load.quantiles_ms,
        })
    }

    /// The load of our own generator.
    fn by_ours(&self, server: &Server, cores: &[usize]) -> anyhow::Result<Served> {
        let warm_up = match self.load {
            Load::Messages { each: Some(_), .. } => 0.0,
            _ => WARM_UP.min(self.seconds),
        };
        let load = self.load.by_ours(self.connections, self.seconds);
        let load = load
            .warm_up(warm_up)
            .measuring(server.id())
            .pinned_to(cores)
            .threads(cores.len())
            .run(&server.address)?;
        ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        Ok(Served {
            cpu_us: load.server_cpu_us.context("no CPU time was read")?,
            requests_per_second: load.requests_per_second,
            quantiles_ms: [load.p50_ms, load.p99_ms, load.p999_ms],
        })
    }
}

/// Opens as many connections as wrk will, with one request on each, so that
/// stacks, tables and socket buffers exist before the clock starts.
fn warm_up(address: &str, connections: usize) -> io::Result<()> {
    let open = |_| {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /plaintext HTTP/1.1\r\nHost: warm-up\r\n\r\n")?;
        Ok(stream)
    };
    let streams: io::Result<Vec<TcpStream>> = (0..connections).map(open).collect();
    for mut stream in streams? {
        if stream.read(&mut [0; 1024])? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
