//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};

use crate::benchmarks;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::report::Report;

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
    /// Name every benchmark and what it measures.
    List,
    /// Run benchmarks and print their tables.
    Run(Run),
    /// One repetition of one micro-benchmark, in a process of its own.
    #[command(hide = true)]
    Micro {
        /// The benchmark, as `list` names it.
        family: String,
        /// The case within it.
        case: String,
        /// The runtime to measure.
        subject: String,
        /// About how much CPU time the measured part should take.
        #[arg(long)]
        seconds: f64,
    },
}

/// Options of `run`.
#[derive(Args)]
pub(crate) struct Run {
    /// Benchmarks by name, or `all`.
    #[arg(required = true)]
    names: Vec<String>,
    /// Length of one repetition; each benchmark has its own default.
    #[arg(long)]
    seconds: Option<f64>,
    /// Repetitions of each row.
    #[arg(long)]
    repetitions: Option<usize>,
    /// Connection counts of the web server benchmark.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1000])]
    connections: Vec<usize>,
    /// Measure only these subjects.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Measure one more web server: it prints `listening on ADDRESS` and ends on SIGTERM.
    #[arg(long, value_name = "NAME=COMMAND", value_parser = parse_also)]
    also: Vec<(String, String)>,
    /// Write header and measurements to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// One tiny repetition of everything: shows that it runs, measures nothing.
    #[arg(long)]
    quick: bool,
}

impl Command {
    /// Does what the command says.
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List => {
                print!("{}", benchmarks::list());
                Ok(ExitCode::SUCCESS)
            }
            Self::Run(run) => run.execute(),
            Self::Micro {
                family,
                case,
                subject,
                seconds,
            } => {
                let sample = benchmarks::measure_here(&family, &case, &subject, seconds)?;
                println!("{}", serde_json::to_string(&sample)?);
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl Run {
    /// Runs the named benchmarks; a benchmark that saw errors makes the exit
    /// code non-zero after all tables are out.
    fn execute(self) -> anyhow::Result<ExitCode> {
        let selected = benchmarks::select(&self.names)?;
        let plan = Plan {
            seconds: self.seconds,
            repetitions: self.repetitions,
            connections: self.connections,
            only: self.only,
            also: self.also,
            quick: self.quick,
        };
        let mut report = Report::new(Machine::observe());
        println!("{}", report.machine);
        for benchmark in selected {
            println!("\n## {}: {}\n", benchmark.name, benchmark.about);
            (benchmark.run)(&plan, &mut report)
                .with_context(|| format!("benchmark {}", benchmark.name))?;
        }
        if let Some(path) = self.json {
            report.write_json(&path)?;
        }
        Ok(report.conclude())
    }
}

/// Splits `NAME=COMMAND`.
fn parse_also(text: &str) -> Result<(String, String), String> {
    let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
    Ok((name.into(), command.into()))
}
