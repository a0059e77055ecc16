//! The command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Parser, Subcommand};

use crate::peers;
use crate::plan::{Benchmark, Effort, Plan, Run};
use crate::process::programs;
use crate::report::{Report, redraw};
use crate::servers::{self, ServerProgram};
use crate::utilisation::UtilisationCommand;
use crate::{benchmarks, figures};
use fibre_measure::Cores;
use fibre_measure::Machine;

/// The root of the workspace, seen from this package.
const WORKSPACE: &str = "../..";

/// Measures fibre against its peers in one run.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Name every benchmark and figure and what it measures.
    List,
    /// Run benchmarks and print their tables.
    Run(RunCommand),
    /// Redraw figures of the thesis: all, or those named.
    Figures(FiguresCommand),
    /// Run everything, or what is named, and write report, plots and readings into `docs/results/`.
    Report(ReportCommand),
    /// Measure nothing: draw the pictures of earlier reports again, from the readings beside them.
    Redraw(RedrawCommand),
    /// How many cores a program with locks uses: two models, two simulations, and fibres.
    Utilisation(UtilisationCommand),
}

/// What every measuring command takes.
#[derive(Args)]
pub(crate) struct Options {
    /// Length of one repetition; each benchmark has its own default.
    #[arg(long)]
    seconds: Option<f64>,
    /// Repetitions of each row.
    #[arg(long)]
    repetitions: Option<usize>,
    /// Connection counts of the web server benchmarks.
    #[arg(long, value_delimiter = ',')]
    connections: Vec<usize>,
    /// Measure only these subjects.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Of subjects that have variants, measure only these beside the usual one.
    #[arg(long, value_delimiter = ',')]
    variants: Vec<String>,
    /// Measure one more web server: it prints `listening on ADDRESS` and ends on SIGTERM.
    #[arg(long, value_name = "NAME=COMMAND", value_parser = parse_also)]
    also: Vec<(String, String)>,
    /// Install the packages of Debian that peers need and that are not there.
    #[arg(long)]
    install: bool,
    /// One tiny repetition of everything: shows that it runs, measures nothing.
    #[arg(long)]
    quick: bool,
}

/// Options of `run`.
#[derive(Args)]
pub(crate) struct RunCommand {
    /// Benchmarks by name, or `all`.
    #[arg(required = true)]
    names: Vec<String>,
    /// Of these only every Nth, from the Ith on: `2/3` is the second third.
    #[arg(long, value_name = "I/N", value_parser = parse_share)]
    share: Option<Share>,
    #[command(flatten)]
    options: Options,
    /// Write header and measurements to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Options of `figures`.
#[derive(Args)]
pub(crate) struct FiguresCommand {
    /// Figures by their number in the thesis, as `4.5`.
    names: Vec<String>,
    #[command(flatten)]
    options: Options,
    /// Where tables and plots go.
    #[arg(long, value_name = "DIRECTORY", default_value = "target/figures")]
    out: PathBuf,
}

/// Options of `report`.
#[derive(Args)]
pub(crate) struct ReportCommand {
    /// Benchmarks and figures by name, or `io`; by default all.
    names: Vec<String>,
    #[command(flatten)]
    options: Options,
    /// As many repetitions as `run` makes: takes about an hour.
    #[arg(long)]
    full: bool,
    /// Where the report goes; by default `docs/results/N-cores`, with the names behind it.
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
}

/// Options of `redraw`.
#[derive(Args)]
pub(crate) struct RedrawCommand {
    /// Directories with a `results.json` and the pictures, as `docs/results/2-cores`.
    #[arg(required = true)]
    directories: Vec<PathBuf>,
}

impl Command {
    /// Does what the command says.
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List => {
                println!("Benchmarks:\n\n{}", benchmarks::list());
                println!("Figures of the thesis:\n\n{}", figures::list());
                println!("By other programs:\n\n{}", crate::report::elsewhere());
                Ok(ExitCode::SUCCESS)
            }
            Self::Run(command) => command.execute(),
            Self::Figures(command) => command.execute(),
            Self::Report(command) => command.execute(),
            Self::Redraw(command) => command.execute(),
            Self::Utilisation(command) => command.execute(),
        }
    }
}

impl RunCommand {
    /// Runs the named benchmarks; faults make the exit code non-zero after all
    /// tables are out.
    fn execute(self) -> anyhow::Result<ExitCode> {
        let mut selected = benchmarks::select(&self.names)?;
        if let Some(share) = self.share {
            selected = share.of(selected);
        }
        let mut run = self.options.prepare(Effort::Full, &selected)?;
        run.measure(&selected)?;
        run.report.print_scorecard();
        if let Some(path) = self.json {
            run.report.write_json(&path)?;
        }
        Ok(run.report.conclude())
    }
}

impl FiguresCommand {
    /// Redraws the named figures.
    fn execute(self) -> anyhow::Result<ExitCode> {
        let selected = figures::select(&self.names)?;
        let mut run = self.options.prepare(Effort::Full, &[])?;
        run.measure(&selected)?;
        run.report.write_to(&self.out)?;
        println!("written: {}", self.out.display());
        Ok(run.report.conclude())
    }
}

impl RedrawCommand {
    /// Draws all pictures of all directories.
    fn execute(self) -> anyhow::Result<ExitCode> {
        for directory in &self.directories {
            let drawn = redraw(directory)?;
            println!("{}: {}", directory.display(), drawn.join(", "));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ReportCommand {
    /// Runs everything and writes it down.
    fn execute(self) -> anyhow::Result<ExitCode> {
        let (benchmarks, figures) = self.select()?;
        let effort = if self.full {
            Effort::Full
        } else {
            Effort::Brief
        };
        let mut run = self.options.prepare(effort, &benchmarks)?;
        let out = self.out.unwrap_or_else(|| {
            let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join(WORKSPACE);
            let names: String = self.names.iter().map(|name| format!("-{name}")).collect();
            workspace.join(format!("docs/results/{}-cores{names}", run.cores.count()))
        });
        run.measure(&benchmarks)?;
        run.measure(&figures)?;
        run.report.print_scorecard();
        run.report.write_to(&out)?;
        println!("written: {}", out.display());
        Ok(run.report.conclude())
    }
}

impl ReportCommand {
    /// The benchmarks and the figures that are named; all where nothing is.
    fn select(&self) -> anyhow::Result<(Vec<&'static Benchmark>, Vec<&'static Benchmark>)> {
        let benchmarks = match self.names.as_slice() {
            [] => vec!["all".into()],
            _ => self.known(benchmarks::known),
        };
        let figures = self.known(figures::known);
        let unknown = |name: &&String| !benchmarks.contains(name) && !figures.contains(name);
        if let Some(unknown) = self.names.iter().find(unknown) {
            bail!("there is no benchmark and no figure `{unknown}`");
        }
        let benchmarks = benchmarks::select(&benchmarks)?;
        if figures.is_empty() && !self.names.is_empty() {
            return Ok((benchmarks, Vec::new()));
        }
        Ok((benchmarks, figures::select(&figures)?))
    }

    /// The names that are known as something.
    fn known(&self, is_known: fn(&str) -> bool) -> Vec<String> {
        let names = self.names.iter().filter(|name| is_known(name));
        names.cloned().collect()
    }
}

impl Options {
    /// Builds and finds everything the run measures these with.
    fn prepare(self, effort: Effort, selected: &[&Benchmark]) -> anyhow::Result<Run> {
        let mut report = Report::new(Machine::observe());
        programs::prepare()?;
        let peers = peers::find(&mut report, benchmarks::wanted(selected), self.install)?;
        let (mut servers, absent) = servers::find(&mut report)?;
        for (name, line) in &self.also {
            servers.push(ServerProgram::other(name, line)?);
        }
        println!("{}\n", report.machine);
        Ok(Run {
            plan: Plan {
                seconds: self.seconds,
                repetitions: self.repetitions,
                connections: self.connections,
                only: self.only,
                variants: self.variants,
                effort: if self.quick { Effort::Quick } else { effort },
            },
            cores: Cores::observe()?,
            peers,
            servers,
            absent,
            report,
        })
    }
}

impl Run {
    /// Runs benchmarks or figures one after the other.
    fn measure(&mut self, selected: &[&Benchmark]) -> anyhow::Result<()> {
        for benchmark in selected {
            self.report
                .section(&format!("{}: {}", benchmark.name, benchmark.about));
            (benchmark.run)(self).with_context(|| benchmark.name.to_owned())?;
        }
        Ok(())
    }
}

/// Every so manieth of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    /// The first one, counted from 0.
    first: usize,
    /// How far it is from each to the next.
    step: usize,
}

impl Share {
    /// Returns those of a list.
    fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter()
            .skip(self.first)
            .step_by(self.step)
            .collect()
    }
}

/// Reads `I/N`, which counts from 1.
fn parse_share(text: &str) -> Result<Share, String> {
    let read = || {
        let (part, of) = text.split_once('/')?;
        let (part, step): (usize, usize) = (part.parse().ok()?, of.parse().ok()?);
        let first = part.checked_sub(1).filter(|first| *first < step)?;
        Some(Share { first, step })
    };
    read().ok_or_else(|| "expected I/N, with I from 1 to N".to_owned())
}

/// Splits `NAME=COMMAND`.
fn parse_also(text: &str) -> Result<(String, String), String> {
    let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
    Ok((name.into(), command.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of a list are all of it, and each of it once.
    #[test]
    fn shares_are_all() {
        let share = |text| parse_share(text).unwrap().of((0..8).collect::<Vec<_>>());
        assert_eq!(share("1/3"), [0, 3, 6]);
        assert_eq!(share("2/3"), [1, 4, 7]);
        assert_eq!(share("3/3"), [2, 5]);
        assert_eq!(share("1/1").len(), 8);
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", ""] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }

    /// Reports are written below `docs/results` of the workspace.
    #[test]
    fn the_workspace_is_there() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join(WORKSPACE);
        assert!(workspace.join("docs/results").is_dir());
        assert!(workspace.join("Cargo.lock").is_file());
    }
}
