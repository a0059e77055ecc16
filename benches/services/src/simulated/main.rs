//! The services on fibres, over a simulated network with faults: each run is a seed, which says
//! when links are slow, lose, hold or cut what is under way, and what peers do.
//!
//! `cargo run --release -p fibre-services --bin simulated -- --seeds 10000` prints how many runs
//! there were, and how long each took. It ends at the first failure, with the line that repeats it.
//! What needs the kernel is left out: the UDP service starts programs, the pipeline reads its
//! standard input, and the orders have sockets of std; of these the client `redis` is here.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod crawler;
mod network;
mod proxy;
mod redis;

use clap::Parser;
use fibre_test::{Schedule, Sim};
use std::time::Instant;

/// Runs services over a simulated network with faults.
#[derive(Parser)]
struct Options {
    /// Seeds for each service and kind of schedule
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Parts of names of services; all, if none is named
    services: Vec<String>,
}

/// A service's name, and a run of it.
type Service = (&'static str, fn(&Sim));

/// The services.
const SERVICES: [Service; 3] = [
    ("proxy", proxy::run),
    ("crawler", crawler::run),
    ("redis", redis::run),
];

fn main() {
    let options = Options::parse();
    let named = |name: &str| {
        options
            .services
            .iter()
            .any(|part| name.contains(part.as_str()))
    };
    for (name, service) in SERVICES {
        if !options.services.is_empty() && !named(name) {
            continue;
        }
        for (kind, schedule) in [("in order", Schedule::in_order()), ("POS", Schedule::pos())] {
            let begun = Instant::now();
            let runs = Sim::builder().seed(options.first).seeds(options.seeds);
            let report = runs.schedule(schedule).run(service);
            let each = begun.elapsed() / u32::try_from(report.runs()).unwrap_or(u32::MAX);
            println!("{name}, {kind}: {} runs, {each:?} each", report.runs());
        }
    }
}
