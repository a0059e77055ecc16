//! A process that is measured, or is in the way of one.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fibre_clients::load::Reading;
use fibre_clients::way::Way;
use fibre_measure::Pinned;

/// How long a process may take, and what it means if it takes longer.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    /// It has failed.
    Required(Duration),
    /// It hangs, as it may.
    Tolerated(Duration),
}

impl Patience {
    /// That for a way to run.
    pub(crate) fn of(way: Way) -> Self {
        match way {
            Way::Bare => Self::Tolerated(Duration::from_secs(60)),
            _ => Self::Required(Duration::from_secs(120)),
        }
    }
}

/// A program of this package that runs. One that is dropped before its end is killed.
pub(crate) struct Measured {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Measured {
    /// Starts it, on these cores if they are given.
    pub(crate) fn start(
        program: &str,
        arguments: &[&str],
        cores: Option<&[usize]>,
    ) -> Result<Self> {
        let path = env::current_exe()?.with_file_name(program);
        let mut command = Command::new(&path);
        command.args(arguments);
        if let Some(cores) = cores {
            command.pinned(cores);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.spawn();
        let mut child = started
            .with_context(|| format!("cannot start {}: build the package first", path.display()))?;
        let output = child.stdout.take().context("it has no output")?;
        Ok(Self {
            child,
            output: BufReader::new(output),
        })
    }

    /// Where it says that it is.
    pub(crate) fn place(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(line.starts_with("http://"), "it says {line:?}");
        Ok(line.trim().to_owned())
    }

    /// Waits for its end, which must be a success, and returns what it has read; `None` if it hangs
    /// as it may.
    pub(crate) fn reading(mut self, patience: Patience) -> Result<Option<Reading>> {
        drop(self.child.stdin.take());
        let (limit, tolerated) = match patience {
            Patience::Required(limit) => (limit, false),
            Patience::Tolerated(limit) => (limit, true),
        };
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if begun.elapsed() > limit {
                ensure!(tolerated, "it hangs");
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(2));
        };
        if !status.success() {
            bail!("it has ended with {status}");
        }
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(Some(serde_json::from_str(&line)?))
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
