//! `fibre-bench`: measures fibre and its peers in one run.
//!
//! Every benchmark interleaves the repetitions of all its subjects, so that a
//! noisy neighbour or a changing clock falls on all of them alike, and each
//! repetition runs in a process of its own, so that no runtime disturbs
//! another. Modules, lowest first: [`measure`] (clocks, samples), [`machine`]
//! (what a result header says), [`report`] (measurements, tables, JSON),
//! [`process`] (servers and tools under measurement), [`plan`] (what a run was
//! asked for), [`peers`] (what each runtime calls spawn, yield, …),
//! [`benchmarks`] (the table of what can be run), [`cli`].

mod benchmarks;
mod cli;
mod machine;
mod measure;
mod peers;
mod plan;
mod process;
mod report;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().command.execute() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fibre-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
