//! Load on a server, by the program `load` that lies beside this one.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::{env, iter};

use anyhow::{Context as _, bail};
use fibre_bench::load::{HOLDING, Summary};

/// What one run of the load generator saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Load {
    /// Answers received.
    pub(crate) requests: f64,
    /// Answers received per second.
    pub(crate) requests_per_second: f64,
    /// Latency that half of the exchanges stayed under, in milliseconds.
    pub(crate) p50_ms: f64,
    /// Latency that 99 of 100 stayed under.
    pub(crate) p99_ms: f64,
    /// Latency that 999 of 1000 stayed under.
    pub(crate) p999_ms: f64,
    /// The longest latency.
    pub(crate) max_ms: f64,
    /// CPU time of the server for one request, in microseconds, if its process
    /// id was given.
    pub(crate) server_cpu_us: Option<f64>,
    /// How many connections failed, by reason, in words.
    pub(crate) errors: Vec<String>,
}

impl Load {
    /// Reads the line that the program prints.
    fn parse(line: &str) -> anyhow::Result<Self> {
        let summary: Summary = serde_json::from_str(line)
            .with_context(|| format!("the load generator printed {line:?}"))?;
        let total = summary.connections;
        let error = |(reason, count): (&String, &u64)| {
            format!(
                "{count} of {total} connections: {}",
                reason.replace('_', " ")
            )
        };
        Ok(Self {
            requests: summary.requests as f64,
            requests_per_second: summary.requests_per_second,
            p50_ms: summary.p50_us / 1e3,
            p99_ms: summary.p99_us / 1e3,
            p999_ms: summary.p999_us / 1e3,
            max_ms: summary.max_us / 1e3,
            server_cpu_us: summary.server_cpu_us_per_request,
            errors: summary.errors.iter().map(error).collect(),
        })
    }
}

/// What the connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Requests on connections that stay open.
    Http {
        /// Requests that one write sends.
        pipeline: usize,
    },
    /// Messages that come back.
    Echo {
        /// Length of a message.
        bytes: usize,
    },
    /// One request for each connection.
    Short,
    /// One request, then nothing.
    Idle,
    /// One connection sends every millisecond while another disturbs it.
    Probe {
        /// What disturbs it.
        disturbance: Disturbance,
        /// How long that takes.
        milliseconds: u64,
    },
}

/// What disturbs a probe, after a fifth of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// A handler burns CPU time.
    Spin,
    /// A handler blocks its kernel thread.
    Block,
}

impl Mode {
    /// Its arguments.
    fn arguments(self) -> Vec<String> {
        let words = match self {
            Self::Http { pipeline } => format!("http --pipeline {pipeline}"),
            Self::Echo { bytes } => format!("echo --size {bytes}"),
            Self::Short => "short".into(),
            Self::Idle => "idle --hold".into(),
            Self::Probe {
                disturbance,
                milliseconds,
            } => {
                let kind = match disturbance {
                    Disturbance::Spin => "spin",
                    Disturbance::Block => "block",
                };
                format!("probe --disturb {kind} --disturb-ms {milliseconds}")
            }
        };
        let words = words.split(' ').map(str::to_owned);
        iter::once("--mode".into()).chain(words).collect()
    }
}

/// A load to put on a server.
#[derive(Debug, Clone)]
#[must_use = "nothing happens until `run`"]
pub(crate) struct LoadCommand(Vec<String>);

impl LoadCommand {
    /// So many connections (a probe has its own number) for so long.
    pub(crate) fn new(mode: Mode, connections: usize, seconds: f64) -> Self {
        Self(mode.arguments())
            .with("--connections", connections)
            .with("--seconds", seconds)
    }

    /// How many seconds the load runs before it counts. Default: 0.
    pub(crate) fn warm_up(self, seconds: f64) -> Self {
        self.with("--warm-up", seconds)
    }

    /// How many exchanges each connection makes. Default: as many as there is time for.
    pub(crate) fn exchanges(self, count: u64) -> Self {
        self.with("--exchanges", count)
    }

    /// Closes each connection after so many exchanges, and opens another one.
    pub(crate) fn reopening(self, exchanges: u64) -> Self {
        let mut load = self.exchanges(exchanges);
        load.0.push("--reopen".into());
        load
    }

    /// Asks for this path. Default: what every server of ours answers.
    pub(crate) fn path(self, path: &str) -> Self {
        self.with("--path", path)
    }

    /// Each connection also asks the server to compute for so many microseconds, so often in a
    /// second.
    pub(crate) fn stalling(self, microseconds: u64, per_second: f64) -> Self {
        self.with("--stall-us", microseconds)
            .with("--stalls-per-second", per_second)
    }

    /// Reads the CPU clock of the server, by its process id.
    pub(crate) fn measuring(self, pid: u32) -> Self {
        self.with("--measure-pid", pid)
    }

    /// Cores the load runs on. Default: any.
    pub(crate) fn pinned_to(self, cores: &[usize]) -> Self {
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        self.with("--cores", cores.join(","))
    }

    /// Threads that share the connections. Default: 1.
    pub(crate) fn threads(self, count: usize) -> Self {
        self.with("--threads", count)
    }

    /// This load with one more option.
    fn with(mut self, option: &str, value: impl ToString) -> Self {
        self.0.extend([option.into(), value.to_string()]);
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, address: &str) -> anyhow::Result<Load> {
        let output = self
            .command(address)?
            .stdin(Stdio::null())
            .output()
            .context("starting the load generator")?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("the load generator ended with {}: {error}", output.status);
        }
        Load::parse(&String::from_utf8_lossy(&output.stdout))
    }

    /// The program with its arguments.
    fn command(&self, address: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(env::current_exe()?.with_file_name("load"));
        command.arg(address).args(&self.0);
        Ok(command)
    }
}

/// Idle connections that have each had one answer; dropping them closes them.
#[derive(Debug)]
pub(crate) struct Held {
    /// The program that holds them.
    child: Child,
    /// What it prints.
    output: Lines<BufReader<ChildStdout>>,
}

impl Held {
    /// Opens so many connections from a program on these cores.
    pub(crate) fn open(address: &str, connections: usize, cores: &[usize]) -> anyhow::Result<Self> {
        let mut child = LoadCommand::new(Mode::Idle, connections, 0.0)
            .pinned_to(cores)
            .command(address)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the load generator")?;
        let output = child.stdout.take().context("the output was not piped")?;
        let mut held = Self {
            child,
            output: BufReader::new(output).lines(),
        };
        match held.line()? {
            line if line == HOLDING => Ok(held),
            line => bail!("{}", Load::parse(&line)?.errors.join("; ")),
        }
    }

    /// Closes the connections; fails if something went wrong with them meanwhile.
    pub(crate) fn close(mut self) -> anyhow::Result<()> {
        self.release()
    }

    /// Closes the connections and says what went wrong with them meanwhile; once.
    fn release(&mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        let last = self.output.next().transpose()?;
        self.child.wait()?;
        let Some(last) = last else {
            return Ok(()); // the opening failed, and has been told
        };
        let load = Load::parse(&last)?;
        anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
        Ok(())
    }

    /// The next line the program prints.
    fn line(&mut self) -> anyhow::Result<String> {
        let line = self.output.next().context("the load generator has ended")?;
        Ok(line?)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.child.stdin.is_none() {
            return; // closed and told
        }
        if let Err(error) = self.release() {
            eprintln!("fibre-bench: idle connections: {error:#}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read() -> anyhow::Result<()> {
        let line = r#"{"requests":100,"seconds":0.5,"requests_per_second":200.0,
            "p50_us":500.0,"p99_us":1500.0,"p999_us":2000.0,"max_us":2500.0,
            "errors":{"reset":2},"connections":10,"server_cpu_us_per_request":4.5}"#;
        let expected = Load {
            requests: 100.0,
            requests_per_second: 200.0,
            p50_ms: 0.5,
            p99_ms: 1.5,
            p999_ms: 2.0,
            max_ms: 2.5,
            server_cpu_us: Some(4.5),
            errors: vec!["2 of 10 connections: reset".into()],
        };
        assert_eq!(Load::parse(line)?, expected);
        assert!(Load::parse("").is_err());
        Ok(())
    }

    #[test]
    fn a_load_becomes_a_command() -> anyhow::Result<()> {
        let mode = Mode::Probe {
            disturbance: Disturbance::Block,
            milliseconds: 30,
        };
        let load = LoadCommand::new(mode, 1, 0.5)
            .warm_up(0.25)
            .measuring(7)
            .pinned_to(&[1, 2]);
        let command = load.command("host:1")?;
        let arguments: Vec<_> = command.get_args().collect();
        let expected = "host:1 --mode probe --disturb block --disturb-ms 30 --connections 1 --seconds 0.5 \
                        --warm-up 0.25 --measure-pid 7 --cores 1,2";
        assert!(arguments.into_iter().eq(expected.split(' ')));
        Ok(())
    }
}
