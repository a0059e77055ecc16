//! A service that is being measured.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use rustix::process::{Pid, Signal, kill_process};

use crate::{Options, Reading};

/// The path of a program of this package, which lies beside this one.
pub(crate) fn path(program: &str) -> anyhow::Result<String> {
    let path = env::current_exe()?.with_file_name(program);
    let path = path.to_str().context("a path that is no text")?;
    Ok(path.to_owned())
}

/// A service that runs. One that is dropped before its end is killed.
pub(crate) struct Service {
    child: Child,
    /// Its standard input.
    pub(crate) input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The CPU time of all children before.
    before: Duration,
}

impl Service {
    /// Starts it.
    pub(crate) fn start(options: &Options, path: &str, more: &[&str]) -> anyhow::Result<Self> {
        let before = cpu_time_of_children()?;
        let mut child = Command::new(path)
            .args(["--threads", &options.threads.to_string()])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {path}: build the package first"))?;
        let output = child.stdout.take().context("it has no output")?;
        Ok(Self {
            input: child.stdin.take(),
            child,
            output: BufReader::new(output),
            before,
        })
    }

    /// Where it says that it listens.
    pub(crate) fn address(&mut self) -> anyhow::Result<SocketAddr> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on ");
        Ok(address.context("it does not listen")?.parse()?)
    }

    /// Tells it to end.
    pub(crate) fn terminate(&self) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::TERM)?)
    }

    /// Waits for its end, which must be in order. Returns what it has printed, and its CPU time.
    pub(crate) fn end(mut self) -> anyhow::Result<(String, Duration)> {
        drop(self.input.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the service has ended with {status}");
        Ok((text, cpu_time_of_children()?.saturating_sub(self.before)))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of all children that have ended, with their own.
fn cpu_time_of_children() -> anyhow::Result<Duration> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills it in if the call succeeds.
    let usage = unsafe {
        let failed = libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        ensure!(failed == 0, "{}", std::io::Error::last_os_error());
        usage.assume_init()
    };
    let of =
        |time: libc::timeval| Duration::new(time.tv_sec.unsigned_abs(), 1000 * time.tv_usec as u32);
    Ok(of(usage.ru_utime) + of(usage.ru_stime))
}

/// Latencies in nanoseconds.
pub(crate) fn latencies() -> anyhow::Result<Histogram<u64>> {
    Ok(Histogram::new_with_max(60_000_000_000, 3)?)
}

/// The reading of a run with requests that took so long.
pub(crate) fn reading(cpu: Duration, latencies: &Histogram<u64>) -> anyhow::Result<Reading> {
    ensure!(!latencies.is_empty(), "not one request was made");
    let quantile = |share| latencies.value_at_quantile(share) as f64 / 1e6;
    Ok(Reading {
        cpu_us: cpu.as_secs_f64() * 1e6 / latencies.len() as f64,
        quantiles_ms: Some([quantile(0.5), quantile(0.99)]),
    })
}
