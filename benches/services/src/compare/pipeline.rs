//! The pipeline: numbers with divisors that take about a tenth of a millisecond to count.

use std::fmt::Write as _;
use std::io::Write as _;
use std::thread;

use anyhow::{Context, ensure};

use crate::service::Service;
use crate::{Options, Reading};

/// Lines, for each second that a run is to take.
const LINES_A_SECOND: f64 = 4000.0;

/// About how large the numbers are.
const NUMBER: usize = 50_000;

/// Measures the pipeline at a path.
pub(crate) fn measure(options: &Options, path: &str) -> anyhow::Result<Reading> {
    let count = (LINES_A_SECOND * options.seconds) as usize;
    let mut lines = String::new();
    for number in 0..count {
        writeln!(lines, "{}", NUMBER + number % 100)?;
    }
    let mut service = Service::start(options, path, &[])?;
    let mut input = service.input.take().context("it has no input")?;
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let (text, cpu) = service.end()?;
    let wrote = writer.join();
    wrote.ok().context("the writer has panicked")??;
    ensure!(text.lines().count() == count, "results are missing");
    let expected = fibre_services::divisors(&NUMBER.to_string())?;
    let mut firsts = text.lines().step_by(100);
    ensure!(
        firsts.all(|line| line.parse() == Ok(expected)),
        "a wrong result"
    );
    Ok(Reading {
        cpu_us: cpu.as_secs_f64() * 1e6 / count as f64,
        quantiles_ms: None,
    })
}
