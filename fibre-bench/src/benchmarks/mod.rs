//! The table of benchmarks.

mod micro;
mod pingpong;
mod spawning;
mod syscalls;
mod webserver;
mod yielding;

use std::fmt::Write as _;

use anyhow::{Context as _, bail};

use crate::measure::Sample;
use crate::plan::Benchmark;

/// Every benchmark, in the order in which `run all` takes them.
static BENCHMARKS: &[Benchmark] = &[
    webserver::BENCHMARK,
    syscalls::BENCHMARK,
    yielding::BENCHMARK,
    spawning::BENCHMARK,
    pingpong::BENCHMARK,
];

/// The micro-benchmarks among them, for the processes that run one repetition.
static FAMILIES: &[&micro::Family] = &[&yielding::FAMILY, &spawning::FAMILY, &pingpong::FAMILY];

/// The benchmarks of these names; `all` stands for every one.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    if let Some(unknown) = names
        .iter()
        .find(|&name| name != "all" && BENCHMARKS.iter().all(|row| row.name != name))
    {
        bail!("there is no benchmark `{unknown}`; there are:\n{}", list());
    }
    let wanted = |row: &&Benchmark| names.iter().any(|name| name == "all" || name == row.name);
    Ok(BENCHMARKS.iter().filter(wanted).collect())
}

/// Names and sentences, a line each.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for row in BENCHMARKS {
        // Writing to a string cannot fail.
        writeln!(text, "{:10} {}", row.name, row.about).ok();
    }
    text
}

/// One repetition of a micro-benchmark, in this process.
pub(crate) fn measure_here(
    family: &str,
    case: &str,
    subject: &str,
    seconds: f64,
) -> anyhow::Result<Sample> {
    FAMILIES
        .iter()
        .find(|row| row.name == family)
        .and_then(|family| family.cases.iter().find(|row| row.name == case))
        .context("there is no such micro-benchmark")?
        .measure_here(subject, seconds)
}
