//! What was read at a point with a server, repetition by repetition.

use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use fibre_mcload::Report;
use fibre_mcload::idle::Idle;
use fibre_measure::{Cores, Series};
use serde::Serialize;

use super::contestant::Contestant;
use super::point::Point;

/// How long a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Length {
    /// Seconds that it counts.
    pub seconds: f64,
    /// Seconds before.
    pub warm_up: f64,
}

/// The readings at a point with a server.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Readings {
    /// Requests per second.
    pub throughput: Series,
    /// CPU time of the server for a request, in microseconds.
    pub cpu_us: Series,
    /// CPU time of the load for a request, in microseconds.
    pub load_cpu_us: Series,
    /// What a tenth of the latencies stays below, in milliseconds.
    pub p10_ms: Series,
    /// Their mean.
    pub mean_ms: Series,
    /// What nine of ten stay below.
    pub p90_ms: Series,
    /// What 99 of 100 stay below.
    pub p99_ms: Series,
}

impl Readings {
    /// Adds what a run has seen.
    fn add(&mut self, report: &Report) -> anyhow::Result<()> {
        let profile = report
            .latency_us
            .get("all")
            .context("there were no answers")?;
        let server = report
            .server
            .as_ref()
            .context("the server was not looked at")?;
        self.throughput.push(report.requests_per_second);
        self.cpu_us.push(server.cpu_us_per_request);
        self.load_cpu_us.push(report.own_cpu_us_per_request);
        self.p10_ms.push(profile.p10 / 1e3);
        self.mean_ms.push(profile.mean / 1e3);
        self.p90_ms.push(profile.p90 / 1e3);
        self.p99_ms.push(profile.p99 / 1e3);
        Ok(())
    }

    /// Measures once more.
    pub fn measure(
        &mut self,
        contestant: &Contestant,
        point: &Point,
        length: Length,
        cores: &Cores,
    ) -> anyhow::Result<()> {
        let server = contestant.start(&cores.measured(point.cores), point.connections)?;
        let beside = cores.load(point.cores);
        let mut words = vec![
            format!("run {} --json --strict", server.address),
            format!("--server-pid {} --cores {}", server.id(), list(&beside)),
            format!(
                "--connections {} --pipeline {}",
                point.connections, point.pipeline
            ),
            format!("--update {} --processors {}", point.update, beside.len()),
            format!("--seconds {} --warm-up {}", length.seconds, length.warm_up),
        ];
        words.extend(point.etc.then(|| "--etc".into()));
        let report: Report = load(&words.join(" "))?;
        ensure!(report.is_clean(), "not all was as it should be: {report}");
        self.add(&report)
    }
}

/// Measures idle connections.
pub fn idle(contestant: &Contestant, connections: u32, cores: &Cores) -> anyhow::Result<Idle> {
    let server = contestant.start(&cores.measured(1), connections)?;
    load(&format!(
        "idle {} --json --server-pid {} --connections {connections} --cores {}",
        server.address,
        server.id(),
        list(&cores.load(1)),
    ))
}

/// Numbers with commas between them.
fn list(cores: &[usize]) -> String {
    let words: Vec<String> = cores.iter().map(usize::to_string).collect();
    words.join(",")
}

/// Runs this program as a load, and reads what it prints: one line of JSON, whether or not it is content.
fn load<T: serde::de::DeserializeOwned>(words: &str) -> anyhow::Result<T> {
    let program = std::env::current_exe().context("finding this program")?;
    let output = Command::new(program).args(words.split(' ')).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim().is_empty() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_str(&text).with_context(|| format!("the load printed {text:?}"))
}
