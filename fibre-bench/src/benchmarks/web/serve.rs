//! One repetition of a server under load, whoever makes the load.
//!
//! The server runs on the first cores and the load on the others. Measured is
//! the CPU time of the whole server process for one request, and what the load
//! generator saw. Each repetition has a fresh server, so that no layout of
//! memory favours one for the whole run.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::plan::Run;
use crate::process::{LoadCommand, Mode, Server, wrk};
use crate::servers::{Duty, ServerProgram};

/// Seconds of load before the clock starts.
const WARM_UP: f64 = 0.2;

/// What the load is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Keep-alive requests, by wrk.
    Wrk,
    /// Requests, so many in flight on each connection, by our own generator.
    Requests { pipeline: usize },
    /// Messages of so many bytes, which come back.
    Messages { bytes: usize },
    /// Connections that carry one request.
    Short,
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

impl Setting {
    /// The best generator of keep-alive requests that is here: wrk, with which
    /// the bars were set, or our own.
    pub(crate) fn keep_alive() -> Load {
        if wrk::installed() {
            Load::Wrk
        } else {
            Load::Requests { pipeline: 1 }
        }
    }

    /// One repetition: CPU time of the server per request in microseconds,
    /// requests per second, 99th percentile of the latency in milliseconds.
    /// `None` where the server cannot do this duty.
    pub(crate) fn measure(
        &self,
        run: &Run,
        program: &ServerProgram,
    ) -> anyhow::Result<Option<[f64; 3]>> {
        let duty = Duty {
            processors: self.processors,
            echo: matches!(self.load, Load::Messages { .. }),
        };
        let Some(server) = run.start(program, duty)? else {
            return Ok(None);
        };
        let load_cores = run.cores.load(self.processors);
        let reading = match self.load {
            Load::Wrk => self.by_wrk(&server, &load_cores),
            _ => self.by_ours(&server, &load_cores),
        };
        reading.map(Some)
    }

    /// The load of wrk.
    fn by_wrk(&self, server: &Server, cores: &[usize]) -> anyhow::Result<[f64; 3]> {
        warm_up(&server.address, self.connections)?;
        let before = server.cpu.read()?;
        let load = wrk::run(&server.address, self.connections, self.seconds, cores)?;
        let cpu = server.cpu.read()? - before;
        ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        let cpu_us = cpu.as_secs_f64() * 1e6 / load.requests;
        Ok([cpu_us, load.requests_per_second, load.p99_ms])
    }

    /// The load of our own generator.
    fn by_ours(&self, server: &Server, cores: &[usize]) -> anyhow::Result<[f64; 3]> {
        let mode = match self.load {
            Load::Wrk => Mode::Http { pipeline: 1 },
            Load::Requests { pipeline } => Mode::Http { pipeline },
            Load::Messages { bytes } => Mode::Echo { bytes },
            Load::Short => Mode::Short,
        };
        let load = LoadCommand::new(mode, self.connections, self.seconds)
            .warm_up(WARM_UP)
            .measuring(server.id())
            .pinned_to(cores)
            .threads(cores.len())
            .run(&server.address)?;
        ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        let cpu_us = load.server_cpu_us.context("no CPU time was read")?;
        Ok([cpu_us, load.requests_per_second, load.p99_ms])
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
