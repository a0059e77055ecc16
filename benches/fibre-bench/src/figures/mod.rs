//! The figures of the thesis, redrawn with what this machine has.
//!
//! Each file is a figure or a few that share their setting. What the thesis had
//! 32 or 64 cores for is shown with as many as there are; the parameters stand
//! under each figure. The same command draws further points on a larger machine.

mod locks;
mod pollers;
mod queues;
mod sweep;
mod visit;
mod web;

use std::fmt::Write as _;

use anyhow::bail;

use crate::plan::Benchmark;

pub(crate) use sweep::Sweep;

/// Every figure that today's code can fill, in the order of the thesis.
static FIGURES: &[Benchmark] = &[
    Benchmark {
        name: "4.1",
        about: "queues: two clusters between which fibres migrate 10 times, by kind of ready queue",
        run: queues::migration,
    },
    Benchmark {
        name: "4.2",
        about: "yield before read: web server throughput with and without, pipeline depth 1 and 4",
        run: web::yield_before_read,
    },
    Benchmark {
        name: "4.3",
        about: "lazy registration: throughput of short connections",
        run: web::lazy_registration,
    },
    Benchmark {
        name: "4.4",
        about: "pollers: throughput and latency of the web server over the pipeline depth",
        run: pollers::depth,
    },
    Benchmark {
        name: "4.5",
        about: "scalability: algorithm 1, throughput against the length of the work",
        run: locks::scalability,
    },
    Benchmark {
        name: "4.6",
        about: "efficiency: algorithm 1, CPU time per iteration against cores",
        run: locks::efficiency,
    },
    Benchmark {
        name: "4.7",
        about: "web server with 12,000 connections: throughput against cores",
        run: web::cores,
    },
    Benchmark {
        name: "4.8",
        about: "web server: throughput against connections, up to 60,000",
        run: web::connections,
    },
    Benchmark {
        name: "4.9",
        about: "web server: throughput against very many connections",
        run: web::very_many,
    },
];

/// Those about input and output, which `io` stands for.
const IO: &[&str] = &["4.2", "4.3", "4.4", "4.7", "4.8", "4.9"];

/// Whether a figure, or a group of them, has this name.
pub(crate) fn known(name: &str) -> bool {
    name == "io" || FIGURES.iter().any(|figure| figure.name == name)
}

/// The figures of these names, `io` for those about input and output; all where
/// none is named.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        bail!("there is no figure `{unknown}`; there are:\n{}", list());
    }
    let named = |figure: &Benchmark, name: &str| match name {
        "io" => IO.contains(&figure.name),
        name => name == figure.name,
    };
    let wanted =
        |figure: &&Benchmark| names.is_empty() || names.iter().any(|name| named(figure, name));
    Ok(FIGURES.iter().filter(wanted).collect())
}

/// Names and sentences, a line each.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for figure in FIGURES {
        // Writing to a string cannot fail.
        writeln!(text, "{:10} {}", figure.name, figure.about).ok();
    }
    text
}
