//! The table of benchmarks.

mod families;
mod ideal;
mod micro;
mod pthreads;
mod web;

use std::fmt::Write as _;

use anyhow::bail;

use crate::plan::Benchmark;

pub(crate) use ideal::unit_ns;
pub(crate) use web::{Load, Served, Setting, pollers};

/// Every benchmark, in the order in which `run all` takes them.
static BENCHMARKS: &[Benchmark] = &[
    web::WEBSERVER,
    web::ECHO,
    web::SHORT,
    web::PIPELINED,
    web::SYSCALLS,
    web::IDLE,
    web::DELAY,
    web::POLLERS,
    Benchmark {
        name: families::PIPES.name,
        about: "a byte there and back over two pipes, on one and on two processors",
        run: |run| micro::run(&families::PIPES, run),
    },
    Benchmark {
        name: families::YIELD.name,
        about: "a yield between 2 and between 1000 fibres, on one and on two processors",
        run: |run| micro::run(&families::YIELD, run),
    },
    Benchmark {
        name: families::SPAWN.name,
        about: "spawn and join: singly, in batches, as a tree, a million",
        run: |run| micro::run(&families::SPAWN, run),
    },
    Benchmark {
        name: families::PINGPONG.name,
        about: "a round trip over semaphores, condition variables, channels",
        run: |run| micro::run(&families::PINGPONG, run),
    },
    Benchmark {
        name: families::STREAM.name,
        about: "numbers through one channel: from one or many, to one or many, with and without room",
        run: |run| micro::run(&families::STREAM, run),
    },
    Benchmark {
        name: families::MUTEX.name,
        about: "a mutex alone, of every kind, and contended with nothing to do",
        run: |run| micro::run(&families::MUTEX, run),
    },
    Benchmark {
        name: families::LOCKS.name,
        about: "algorithm 1 of the thesis with every kind of mutex: throughput, share of the ideal, fairness",
        run: |run| micro::run(&families::LOCKS, run),
    },
    Benchmark {
        name: families::WAIT.name,
        about: "how long one waits for a mutex that fifty take again and again",
        run: |run| micro::run(&families::WAIT, run),
    },
    Benchmark {
        name: families::BLOCKED.name,
        about: "20,000 and 1,000,000 fibres blocked at once: time, memory, mappings",
        run: |run| micro::run(&families::BLOCKED, run),
    },
    Benchmark {
        name: families::SLEEP.name,
        about: "how late a sleeper wakes in an idle process",
        run: |run| micro::run(&families::SLEEP, run),
    },
    Benchmark {
        name: pthreads::PTHREADS.name,
        about: "the functions of pthreads in C: the system's, ours, and what the like costs in Rust",
        run: |run| micro::run(&pthreads::PTHREADS, run),
    },
    web::TEXTBOOK,
];

/// Those about input and output, which `io` stands for.
const IO: &[&str] = &[
    "webserver",
    "echo",
    "short",
    "pipelined",
    "syscalls",
    "idle",
    "delay",
    "pollers",
    "pipes",
];

/// Those about the C library, which `c` stands for.
const C: &[&str] = &[pthreads::PTHREADS.name, web::TEXTBOOK.name];

/// Whether a benchmark, or a group of them, has this name.
pub(crate) fn known(name: &str) -> bool {
    matches!(name, "all" | "io" | "c") || BENCHMARKS.iter().any(|row| row.name == name)
}

/// The benchmarks of these names; `all` stands for every one, `io` for those about
/// input and output, `c` for those about the C library.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        bail!("there is no benchmark `{unknown}`; there are:\n{}", list());
    }
    let wanted = |row: &&Benchmark| {
        names.iter().any(|name| match name.as_str() {
            "all" => true,
            "io" => IO.contains(&row.name),
            "c" => C.contains(&row.name),
            name => name == row.name,
        })
    };
    Ok(BENCHMARKS.iter().filter(wanted).collect())
}

/// Names and sentences, a line each.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for row in BENCHMARKS {
        // Writing to a string cannot fail.
        writeln!(text, "{:10} {}", row.name, row.about).ok();
    }
    text
}
