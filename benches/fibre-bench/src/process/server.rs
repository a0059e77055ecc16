//! A web server under measurement: started on its core, ended by its id.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context as _, bail};
use fibre_bench::measure::CpuClock;
use fibre_bench::serving::ANNOUNCEMENT;
use rustix::process::{Pid, Signal, kill_process};

use fibre_measure::Pinned as _;

/// How long a server may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How long a server may take until it listens, where it does not say so.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server; dropping it ends it.
pub(crate) struct Server {
    child: Child,
    /// `HOST:PORT` it listens on.
    pub(crate) address: String,
    /// CPU time of the whole process.
    pub(crate) cpu: CpuClock,
}

impl Server {
    /// Starts a server on these cores and waits until it listens; one that does not say where has
    /// been told an address.
    pub(crate) fn start(
        mut command: Command,
        cores: &[usize],
        told: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .pinned(cores)
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let listens = match told {
            None => await_announcement(&mut child),
            Some(address) => await_listener(&mut child, address),
        };
        match listens {
            Ok((address, cpu)) => Ok(Self {
                child,
                address,
                cpu,
            }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server: by closing its input, by SIGTERM, at last by force.
    fn end(&mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            kill_process(pid, Signal::TERM)?;
        }
        let started = Instant::now();
        while self.child.try_wait()?.is_none() {
            if started.elapsed() > GRACE {
                self.child.kill()?;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("fibre-bench: a server did not end: {error}");
        }
    }
}

/// Waits until somebody listens at an address.
fn await_listener(child: &mut Child, address: &str) -> anyhow::Result<(String, CpuClock)> {
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        if let Some(status) = child.try_wait()? {
            bail!("the server ended before it listened: {status}");
        }
        if started.elapsed() > PATIENCE {
            bail!("the server does not listen at {address}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok((address.into(), CpuClock::of(child.id())?))
}

/// Reads the server's output up to the line that says where it listens; what
/// it prints later is thrown away.
fn await_announcement(child: &mut Child) -> anyhow::Result<(String, CpuClock)> {
    let output = child.stdout.take().context("the output was not piped")?;
    let mut output = BufReader::new(output);
    let mut line = String::new();
    loop {
        line.clear();
        if output.read_line(&mut line)? == 0 {
            bail!("the server ended before it listened");
        }
        if let Some((_, after)) = line.split_once(ANNOUNCEMENT) {
            let address = after.split_whitespace().next().unwrap_or(after);
            let address = address.trim_start_matches("http://").trim_end_matches('/');
            thread::spawn(move || io::copy(&mut output.by_ref(), &mut io::sink()));
            return Ok((address.into(), CpuClock::of(child.id())?));
        }
    }
}
