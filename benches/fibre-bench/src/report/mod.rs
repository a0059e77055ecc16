//! Everything a run has measured, and the three forms it leaves in: tables on
//! standard output as they come, a Markdown document with plots, and JSON.

mod absent;
mod elsewhere;
mod goal;
mod measurement;
mod pictures;
mod scorecard;
mod titles;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use comfy_table::Table;
use serde::Serialize;

pub(crate) use fibre_measure::format;

pub(crate) use elsewhere::list as elsewhere;
pub(crate) use goal::{Better, Goal, Verdict};
use pictures::{Stored, benchmark_of};

pub(crate) use measurement::{Measurement, OURS, OURS_IN_C, Read, is_ours};

use fibre_measure::Machine;

/// Draws the pictures in a directory again, from the readings that it has.
pub(crate) fn redraw(directory: &Path) -> anyhow::Result<Vec<String>> {
    let name = directory.display();
    let json = fs::read_to_string(directory.join("results.json"));
    let stored = Stored::read(&json.with_context(|| format!("reading results.json in {name}"))?)?;
    let mut drawn = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("reading {name}"))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(stem) = stem.filter(|_| path.extension().is_some_and(|it| it == "svg")) {
            fs::write(&path, stored.draw(stem)?)
                .with_context(|| format!("writing {}", path.display()))?;
            drawn.push(stem.to_owned());
        }
    }
    drawn.sort_unstable();
    Ok(drawn)
}

/// Everything a run has measured.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    measurements: Vec<Measurement>,
    /// What was not measured here, and why.
    notes: Vec<String>,
    /// What went wrong without stopping the run.
    faults: Vec<String>,
    /// The document so far: what was printed, in Markdown.
    #[serde(skip)]
    document: String,
    /// The names of the pictures beside the document.
    #[serde(skip)]
    pictures: Vec<String>,
    /// The page under `docs/` that says how to read the document.
    #[serde(skip)]
    page: &'static str,
}

impl Report {
    /// An empty report.
    pub(crate) fn new(machine: Machine) -> Self {
        Self {
            machine,
            measurements: Vec::new(),
            notes: Vec::new(),
            faults: Vec::new(),
            document: String::new(),
            pictures: Vec::new(),
            page: "PERFORMANCE.md",
        }
    }

    /// This report, with another page under `docs/` that says how to read it.
    pub(crate) fn explained_in(self, page: &'static str) -> Self {
        Self { page, ..self }
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, title: &str) {
        self.write(&format!("## {title}"));
    }

    /// Adds a paragraph.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.write(text);
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: &Table) {
        self.write(&table.to_string());
    }

    /// Adds a picture of the measurements of a benchmark, in a file of this name beside the
    /// document.
    pub(crate) fn picture(&mut self, name: impl Into<String>) {
        let name = name.into();
        // Where nobody could be measured, there is nothing to be seen.
        if self.of(benchmark_of(&name)).next().is_none() {
            return;
        }
        self.document
            .push_str(&format!("![{}]({name}.svg)\n\n", titles::of(&name)));
        self.pictures.push(name);
    }

    /// Adds a measurement.
    pub(crate) fn add(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// The measurements of a benchmark.
    pub(crate) fn of<'a>(&'a self, benchmark: &'a str) -> impl Iterator<Item = &'a Measurement> {
        self.measurements
            .iter()
            .filter(move |one| one.benchmark == benchmark)
    }

    /// Notes something that could not be measured here, once.
    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            println!("note: {note}");
            self.notes.push(note);
        }
    }

    /// Notes a fault, which makes the exit code non-zero.
    pub(crate) fn fault(&mut self, fault: String) {
        eprintln!("fault: {fault}");
        self.faults.push(fault);
    }

    /// What stands for a measurement's goal; `None` where it has none.
    pub(crate) fn verdict(&self, ours: &Measurement) -> Option<Verdict> {
        scorecard::verdict(ours, &self.measurements)
    }

    /// The peer with the best figure beside one of ours, and how many times better ours is.
    pub(crate) fn best_peer(&self, ours: &Measurement) -> Option<(&Measurement, f64)> {
        let best = scorecard::best_peer(ours, &self.measurements)?;
        Some((best, scorecard::advantage(ours, best)))
    }

    /// The verdict as a cell of a table; empty where there is no goal.
    pub(crate) fn verdict_in_words(&self, ours: &Measurement) -> String {
        self.verdict(ours).map_or_else(String::new, |verdict| {
            format!("{}: {}", verdict.bar, verdict.mark())
        })
    }

    /// Prints how ours stands against every goal.
    pub(crate) fn print_scorecard(&self) {
        println!("## Scorecard\n\n{}", scorecard::table(&self.measurements));
    }

    /// Writes `report.md`, `results.json` and the plots.
    pub(crate) fn write_to(&self, directory: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
        };
        let json = serde_json::to_string(self)?;
        let stored = Stored::read(&json)?;
        for name in &self.pictures {
            write(&format!("{name}.svg"), &stored.draw(name)?)?;
        }
        write("results.json", &json)?;
        write("report.md", &self.markdown())
    }

    /// Writes header, measurements and faults as JSON.
    pub(crate) fn write_json(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// The exit code the faults call for, after printing them once more.
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

    /// The whole document: header, scorecard, what is missing, sections.
    fn markdown(&self) -> String {
        let mut text = format!(
            "# Results\n\nWritten by `fibre-bench`; not to be edited. How to read it: \
             [{0}](../../{0}).\n\n{1}\n",
            self.page, self.machine
        );
        // A report without any bar is about one thing only.
        let has_goals = self.measurements.iter().any(|one| one.goal.is_some());
        if has_goals {
            let table = scorecard::table(&self.measurements);
            text.push_str(&format!(
                "\n## Scorecard\n\n{}\n\n{table}\n",
                scorecard::LEGEND
            ));
        }
        if has_goals || !self.notes.is_empty() {
            text.push_str(&format!("\n## Not measured\n\n{}", elsewhere::list()));
            for note in &self.notes {
                let measured = self.measurements.iter();
                let measured = measured.map(|one| (one.benchmark, one.subject.as_str()));
                text.push_str(&format!("* {}\n", absent::corrected(note, measured)));
            }
        }
        if !self.faults.is_empty() {
            text.push_str("\n## Faults\n\n");
            text.extend(self.faults.iter().map(|fault| format!("* {fault}\n")));
        }
        text.push('\n');
        text.push_str(&self.document);
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }

    /// Prints a block and keeps it for the document.
    fn write(&mut self, block: &str) {
        println!("{block}\n");
        self.document.push_str(block);
        self.document.push_str("\n\n");
    }
}
