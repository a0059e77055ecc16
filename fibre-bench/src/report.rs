//! Measurements, the tables people read and the file programs read.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::machine::Machine;
use crate::measure::Series;

/// One measured thing: every reading, and what is read from them.
#[derive(Serialize)]
pub(crate) struct Measurement {
    /// The benchmark, as `list` names it.
    pub(crate) benchmark: &'static str,
    /// The case within it.
    pub(crate) case: String,
    /// Who was measured.
    pub(crate) subject: String,
    /// What was measured.
    pub(crate) metric: &'static str,
    /// Unit of the readings.
    pub(crate) unit: &'static str,
    /// The figure ours has to reach, where there is one.
    pub(crate) to_reach: Option<f64>,
    /// Every reading, in the order in which they were made.
    pub(crate) readings: Series,
}

/// Everything a run has measured.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    measurements: Vec<Measurement>,
    /// What went wrong without stopping the run.
    faults: Vec<String>,
}

impl Report {
    /// An empty report.
    pub(crate) fn new(machine: Machine) -> Self {
        Self {
            machine,
            measurements: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Keeps a measurement for the JSON file.
    pub(crate) fn add(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// Notes a fault, which makes the exit code non-zero.
    pub(crate) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Writes header, measurements and faults.
    pub(crate) fn write_json(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// Prints the faults and returns the exit code they call for.
    pub(crate) fn conclude(&self) -> ExitCode {
        for fault in &self.faults {
            eprintln!("fault: {fault}");
        }
        if self.faults.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// An empty table in Markdown whose columns after the first `text` ones hold
/// figures.
pub(crate) fn table(header: &[&str], text: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(ASCII_MARKDOWN)
        .set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(text) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A figure with as many digits as it deserves.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".into(),
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => grouped(value.round()),
    }
}

/// A ratio; nothing where there is nothing to compare with.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        _ if !value.is_finite() || value <= 0.0 => "–".into(),
        0.1..100.0 => format!("{value:.2}"),
        _ => figure(value),
    }
}

/// The figure to reach, marked where it is missed; nothing where there is none.
pub(crate) fn target(value: f64, to_reach: Option<f64>) -> String {
    match to_reach {
        None => String::new(),
        Some(bar) if value <= bar => format!("≤ {bar}: reached"),
        Some(bar) => format!("≤ {bar}: MISSED"),
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A whole number with its thousands set apart.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(figure(4.8312), "4.83");
        assert_eq!(figure(15.26), "15.3");
        assert_eq!(figure(173_812.4), "173,812");
        assert_eq!(figure(-123_456.0), "-123,456");
        assert_eq!(figure(f64::INFINITY), "–");
    }
}
