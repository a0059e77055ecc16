//! Servers in other languages, under the load of [`crate::tasks::served`]: the client is the one
//! that ours has.
//!
//! A repetition starts `PROGRAM served WORKLOAD processors=N size=N`, which prints `listening on
//! ADDRESS`, serves until its standard input is closed, and then prints `counter VALUE`. The value
//! has to be the number of increments, or the repetition fails. The server is a process of its own
//! on the same cores, and the CPU time is that of both, as it is where they share a process.

use std::io::{BufRead as _, BufReader, Lines};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use super::protocol::{Arguments, Parameters, Refusal, Workload};
use super::tasks::ToldServed;
use crate::measure::{CpuClock, Sample};
use crate::tasks::served::{Kind, check};

/// What a server is measured with. The key `program` says which one.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("echoing", echoing),
        Workload::new("counting", counting),
    ]
}

/// What a server and its client can be told.
struct ToldProgram {
    /// The server's program.
    program: PathBuf,
    /// The rest is as for ours.
    served: ToldServed,
}

impl Parameters for ToldProgram {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let program = arguments.path("program")?;
        Ok(Self {
            program: program.ok_or_else(|| Refusal("program=PATH is missing".into()))?,
            served: ToldServed::read(arguments)?,
        })
    }
}

/// The echo server.
fn echoing(told: ToldProgram) -> anyhow::Result<Sample> {
    measure(&told, "echoing", Kind::Echo(told.served.bytes))
}

/// The counter server.
fn counting(told: ToldProgram) -> anyhow::Result<Sample> {
    measure(&told, "counting", Kind::Counter(told.served.reads))
}

/// Starts a server, puts the load on it, stops it, and checks its counter.
fn measure(told: &ToldProgram, workload: &str, kind: Kind) -> anyhow::Result<Sample> {
    let mut server = Server::start(told, workload)?;
    let address = server.address()?;
    let clocks = [CpuClock::own(), CpuClock::of(server.child.id())?];
    let load = told.served.load(kind);
    let (sample, increments) = load.put_on_process(address, &clocks)?;
    check(server.stop()?, increments)?;
    Ok(sample)
}

/// A server that runs. It is killed when this is dropped before its end.
struct Server {
    child: Child,
    /// What it prints.
    lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts it.
    fn start(told: &ToldProgram, workload: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(&told.program);
        command
            .args(["served", workload])
            .arg(format!("processors={}", told.served.processors))
            .arg(format!("size={}", told.served.bytes))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let started = command.spawn();
        let mut child = started.with_context(|| format!("starting {}", told.program.display()))?;
        match child.stdout.take() {
            Some(output) => Ok(Self {
                child,
                lines: BufReader::new(output).lines(),
            }),
            None => bail!("the server's output was not piped"),
        }
    }

    /// Where it listens.
    fn address(&mut self) -> anyhow::Result<SocketAddr> {
        let address = self.told("listening on ")?;
        address.parse().with_context(|| address)
    }

    /// Ends it; returns the counter's value.
    fn stop(mut self) -> anyhow::Result<u64> {
        drop(self.child.stdin.take());
        let value = self.told("counter ")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        value.parse().with_context(|| value)
    }

    /// What follows these words in the next line that it prints.
    fn told(&mut self, words: &str) -> anyhow::Result<String> {
        let line = self.lines.next().context("the server has ended")??;
        match line.strip_prefix(words) {
            Some(rest) => Ok(rest.to_owned()),
            None => bail!("the server said `{line}`, not `{words}…`"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, if all went well.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
