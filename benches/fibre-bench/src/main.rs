//! `fibre-bench`: measures fibre and its peers in one run.
//!
//! Every benchmark interleaves the repetitions of all its subjects, so that a noisy neighbour or a
//! changing clock falls on all of them alike, and each repetition runs in a process of its own, so
//! that no runtime disturbs another. Modules, lowest first: [`report`] (measurements, goals,
//! tables, documents), [`process`] (programs under measurement and tools), [`c`] (C programs,
//! compiled twice), [`peers`] and [`servers`] (who is measured), [`plan`] (what a run was asked
//! for), [`benchmarks`] and [`figures`] (what can be run), [`utilisation`] (a program with locks,
//! beside its models), [`cli`]. What is not of this program alone lies in [`fibre_measure`].

#![deny(unreachable_pub, unnameable_types)]

mod benchmarks;
mod c;
mod cli;
mod figures;
mod peers;
mod plan;
mod process;
mod report;
mod servers;
mod utilisation;

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
