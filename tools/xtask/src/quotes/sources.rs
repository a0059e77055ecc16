//! The list of figures, and the reports that it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::list::Figures;
use super::report::Report;
use crate::tidy::source::{self, Violation};

/// The list of figures.
pub(super) const LIST: &str = "docs/results/figures.toml";

/// The folder of the reports.
pub(super) const REPORTS: &str = "docs/results/";

/// The counts of instructions, which are a report of their own.
const INSTRUCTIONS: &str = "benches/fibre-bench/instructions.toml";

/// The figures of the list, and the reports that they come from.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) figures: Figures,
    pub(super) reports: BTreeMap<String, Report>,
}

impl Sources {
    /// Reads the list and all reports.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut reports = BTreeMap::new();
        for path in source::walk(&root.join(REPORTS)) {
            let path = path?;
            let name = path.strip_prefix(root.join(REPORTS))?.to_string_lossy();
            if let Some(name) = name.strip_suffix(".md") {
                reports.insert(name.to_owned(), Report::new(&fs::read_to_string(&path)?));
            }
        }
        let counts = fs::read_to_string(root.join(INSTRUCTIONS))?;
        let counts = instructions(&counts.parse().context("cannot parse the counts")?);
        reports.insert("instructions".to_owned(), Report::new(&counts));
        let list = fs::read_to_string(root.join(LIST)).with_context(|| format!("no {LIST}"))?;
        let list = list
            .parse()
            .with_context(|| format!("cannot parse {LIST}"))?;
        let figures = Figures::new(&list, &reports);
        Ok(Self { figures, reports })
    }

    /// The report with this name.
    pub(super) fn report(&self, name: &str) -> Result<&Report, String> {
        let report = self.reports.get(name);
        report.ok_or_else(|| format!("there is no report `{name}`"))
    }

    /// The figure with this name.
    pub(super) fn figure(&self, name: &str) -> Result<f64, String> {
        let figure = self.figures.by_name.get(name);
        figure
            .cloned()
            .unwrap_or_else(|| Err(format!("{LIST} has no such figure")))
    }

    /// What is wrong with the list, given the figures that pages quote.
    pub(super) fn unused(&self, mut used: BTreeSet<String>) -> Vec<Violation> {
        used.extend(self.figures.parts.iter().cloned());
        let twice = self.figures.twice.iter();
        let twice = twice.map(|name| format!("`{name}` stands for two figures"));
        let unused = self
            .figures
            .by_name
            .iter()
            .filter_map(|(name, figure)| match figure {
                Err(why) => Some(format!("`{name}`: {why}")),
                Ok(_) if !used.contains(name) => Some(format!("no page quotes `{name}`")),
                Ok(_) => None,
            });
        let place = || LIST.to_owned();
        let violations = twice.chain(unused);
        violations
            .map(|text| Violation {
                place: place(),
                line: 0,
                text,
            })
            .collect()
    }
}

/// The counts of instructions as a table.
fn instructions(counts: &Table) -> String {
    let mut table = "# paths\n\n| path | rust | libc |\n|---|---|---|\n".to_owned();
    for (path, counts) in counts
        .get("paths")
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
    {
        let of = |part| {
            counts
                .get(part)
                .and_then(Value::as_float)
                .unwrap_or_default()
        };
        _ = writeln!(table, "| {path} | {} | {} |", of("rust"), of("libc"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_instructions_are_a_report() {
        let counts = "[paths.spawn]\nlibc = 0.1\nrust = 327.6\n".parse().unwrap();
        assert!(instructions(&counts).contains("| spawn | 327.6 | 0.1 |"));
    }
}
