//! What was read at a point with a server, repetition by repetition.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use fibre_mcload::Report;
use fibre_mcload::idle::Idle;
use fibre_measure::{Cores, Series};
use serde::{Deserialize, Serialize};

use super::contestant::Contestant;
use super::point::Point;

/// How long a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Length {
    /// Seconds that it counts.
    pub seconds: f64,
    /// Seconds before.
    pub warm_up: f64,
    /// Instead of that, where nothing is measured in earnest.
    pub tiny: Option<Tiny>,
}

/// A run that ends by itself, however slow the machine is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Tiny {
    /// How many keys are stored first.
    pub keys: u32,
    /// How many requests there are.
    pub requests: u64,
}

/// The readings at a point with a server: one of each in every repetition, not a number where it
/// failed, so that what is paired was read in the same one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Readings {
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
    /// Which share of the questions found a value.
    pub hits: Series,
}

/// One repetition: a server, the point, and how it is to be done.
pub(super) struct Run<'a> {
    /// The server.
    pub contestant: &'a Contestant,
    /// The setting.
    pub point: Point,
    /// Requests per second, in an open loop.
    pub rate: Option<f64>,
    /// How long it takes.
    pub length: Length,
    /// Where it runs.
    pub cores: &'a Cores,
}

impl Readings {
    /// Measures once more.
    pub(super) fn measure(&mut self, run: &Run<'_>) -> anyhow::Result<()> {
        let report = run.execute();
        let figures = report.and_then(|report| figures(&report));
        let readings = figures.as_ref().copied().unwrap_or([f64::NAN; 8]);
        for (series, reading) in self.series().into_iter().zip(readings) {
            series.push(reading);
        }
        figures.map(drop)
    }

    /// All of them, in the order of [`figures`].
    fn series(&mut self) -> [&mut Series; 8] {
        [
            &mut self.throughput,
            &mut self.cpu_us,
            &mut self.load_cpu_us,
            &mut self.p10_ms,
            &mut self.mean_ms,
            &mut self.p90_ms,
            &mut self.p99_ms,
            &mut self.hits,
        ]
    }
}

/// What is kept of a report.
fn figures(report: &Report) -> anyhow::Result<[f64; 8]> {
    let times = report.latency_us.get("all");
    let times = times.context("there were no answers")?;
    let server = report.server.as_ref();
    let server = server.context("the server was not looked at")?;
    Ok([
        report.requests_per_second,
        server.cpu_us_per_request,
        report.own_cpu_us_per_request,
        times.p10 / 1e3,
        times.mean / 1e3,
        times.p90 / 1e3,
        times.p99 / 1e3,
        report.hit_ratio(),
    ])
}

impl Run<'_> {
    /// Starts the server, puts the load on, and says what was seen if all of it is as it should be.
    fn execute(&self) -> anyhow::Result<Report> {
        let Self {
            contestant,
            point,
            length,
            ..
        } = self;
        let server = contestant.start(&self.cores.measured(point.cores), point.connections)?;
        let beside = self.cores.load(point.cores);
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
        let tiny = length
            .tiny
            .map(|Tiny { keys, requests }| format!("--keys {keys} --requests {requests}"));
        words.extend(tiny);
        words.extend(point.etc.then(|| "--etc".into()));
        words.extend(self.rate.map(|rate| format!("--rate {rate}")));
        let report: Report = load(&words.join(" "))?;
        ensure!(report.is_clean(), "{}", trouble(&report));
        if let Some(shortfall) = report.shortfall(point.least_hits()) {
            bail!("it does less than it should: {shortfall}");
        }
        Ok(report)
    }
}

/// What was not as it should be, in a line.
fn trouble(report: &Report) -> String {
    let counts = |counts: &BTreeMap<String, u64>| -> String {
        let words = counts
            .iter()
            .map(|(what, count)| format!(", {count} {what}"));
        words.collect()
    };
    format!(
        "{} requests were answered and {} not; connections lost: {}{}; wrong answers: {}{}",
        report.counts.requests(),
        report.unanswered,
        report.lost.values().sum::<u64>(),
        counts(&report.lost),
        report.wrong.values().sum::<u64>(),
        counts(&report.wrong),
    )
}

/// Measures idle connections.
pub(super) fn idle(
    contestant: &Contestant,
    connections: u32,
    cores: &Cores,
) -> anyhow::Result<Idle> {
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

/// Runs this program as a load, and reads what it prints: one line of JSON, whether or not it is
/// content.
fn load<T: serde::de::DeserializeOwned>(words: &str) -> anyhow::Result<T> {
    let program = std::env::current_exe().context("finding this program")?;
    let output = Command::new(program).args(words.split(' ')).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim().is_empty() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_str(&text).with_context(|| format!("the load printed {text:?}"))
}
