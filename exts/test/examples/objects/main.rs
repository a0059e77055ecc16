//! The objects of fibre under schedules, with time-outs and cancellation at the same moments: what
//! each promises, as a table of scenarios. All pass.
//!
//! `cargo run -p fibre-test --example objects` runs each by several schedules. Arguments: how many
//! seeds (default: 100), and names of scenarios (default: all); or `list` for the names. It ends
//! at the first failure, which it prints. `cargo xtask kit` runs it with mistakes planted in fibre,
//! and counts what is found.

#![allow(clippy::expect_used, reason = "a scenario fails by panicking")]

mod channels;
mod crowd;
mod ends;
mod locks;
mod regressions;
pub mod scenarios;
mod signals;
mod sockets;

use fibre_test::{Schedule, Sim};
use scenarios::{SCENARIOS, SCHEDULES, Scenario};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs a scenario by a schedule; says how, and whether it passed.
fn passes(scenario: &Scenario, schedule: (&str, Schedule), seeds: u64) -> bool {
    let begun = Instant::now();
    println!("run {} | {}", scenario.name, schedule.0);
    let runs = Sim::builder().seeds(seeds).schedule(schedule.1);
    let runs = runs.most_switches(100_000).patience(Duration::from_secs(5));
    let failed = runs.shorten_for(Duration::ZERO).try_run(scenario.test);
    let failed = match failed {
        Ok(report) => {
            let (took, hash) = (begun.elapsed(), report.hash());
            println!("passed {seeds} in {took:?}; the last run is {hash:016x}");
            return true;
        }
        Err(failed) => failed,
    };
    let text = failed.to_string();
    let words = text.lines().next().unwrap_or_default();
    let words = words.split_once("): ").map_or(words, |(_, words)| words);
    println!("found {} {words}", failed.runs());
    eprintln!("{text}");
    false
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == "list" {
        SCENARIOS
            .iter()
            .for_each(|scenario| println!("{}", scenario.name));
        return ExitCode::SUCCESS;
    }
    let seeds = first.parse().ok();
    let names: Vec<String> = arguments.collect();
    let is_named =
        |scenario: &&Scenario| names.is_empty() || names.iter().any(|name| name == scenario.name);
    let mut named = SCENARIOS.iter().filter(is_named);
    let pass = named.all(|scenario| {
        let mut schedules = SCHEDULES.into_iter();
        schedules.all(|schedule| passes(scenario, schedule, seeds.unwrap_or(100)))
    });
    ExitCode::from(u8::from(!pass))
}
