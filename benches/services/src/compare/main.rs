//! What the services cost on fibres, beside tokio, in one run.
//!
//! `cargo build --release -p fibre-services`, and then `cargo run --release -p fibre-services --bin
//! compare`. Each repetition runs both programs of a service, one after the other, under the same
//! load, and then has it end: by SIGTERM, for the proxy in the middle of the load, or by the end of
//! its work. The CPU time is that of the service from its start to its end, with that of its
//! children. A request that fails, an answer that is wrong or lost, and an end that is not in order
//! end the comparison.

mod crawler;
mod pipeline;
mod proxy;
mod service;
mod udp;

use clap::Parser;
use fibre_measure::format::{figure, ratio, table};
use fibre_measure::{Machine, Series};

/// Compares the services on fibres with those on tokio.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Options {
    /// How often each service is measured
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Seconds of load each time
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Clients of the proxy
    #[arg(long, default_value_t = 50)]
    clients: usize,
    /// Kernel threads of a service
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Only these services
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// What one run of a service showed.
pub(crate) struct Reading {
    /// CPU time of a request, in microseconds.
    cpu_us: f64,
    /// Latencies that half of the requests and 99 of 100 stayed under, in milliseconds; `None`
    /// where nobody waits for single ones.
    quantiles_ms: Option<[f64; 2]>,
}

/// How a service is measured: its name, what a request is, and a run of the program at a path.
type Subject = (
    &'static str,
    &'static str,
    fn(&Options, &str) -> anyhow::Result<Reading>,
);

/// The services.
const SUBJECTS: [Subject; 4] = [
    ("proxy", "64 bytes and back", proxy::measure),
    ("crawler", "a page", crawler::measure),
    ("pipeline", "a line", pipeline::measure),
    ("udp", "a datagram, and a program", udp::measure),
];

/// The runtimes; ratios are to the last one.
const RUNTIMES: [&str; 2] = ["fibre", "tokio"];

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    println!("{}\n", Machine::observe());
    let header = [
        "service",
        "a request is",
        "on",
        "CPU µs",
        "least",
        "paired",
        "p50 ms",
        "p99 ms",
    ];
    let mut rows = table(&header, 3);
    for (service, request, measure) in SUBJECTS {
        if !options.only.is_empty() && !options.only.iter().any(|name| name == service) {
            continue;
        }
        // CPU time and the two quantiles of each runtime.
        let mut readings: [[Series; 3]; 2] = Default::default();
        for _ in 0..options.repetitions {
            for (runtime, series) in RUNTIMES.iter().zip(&mut readings) {
                let path = service::path(&format!("{service}-{runtime}"))?;
                let reading = measure(&options, &path)?;
                let [p50, p99] = reading.quantiles_ms.unwrap_or([f64::NAN; 2]);
                for (series, value) in series.iter_mut().zip([reading.cpu_us, p50, p99]) {
                    series.push(value);
                }
            }
        }
        for (runtime, [cpu, p50, p99]) in RUNTIMES.iter().zip(&readings) {
            rows.add_row([
                service.to_owned(),
                request.to_owned(),
                (*runtime).to_owned(),
                figure(cpu.median()),
                figure(cpu.minimum()),
                ratio(cpu.paired(&readings[1][0]).median()),
                figure(p50.median()),
                figure(p99.median()),
            ]);
        }
    }
    println!("{rows}\n");
    println!(
        "Medians of {} repetitions that take turns, services with {} kernel threads. Paired: the median of the ratios to \
         tokio within each repetition. No request has failed, the proxy has lost none at SIGTERM, and all have ended in order.",
        options.repetitions, options.threads
    );
    Ok(())
}
