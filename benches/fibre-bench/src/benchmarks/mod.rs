//! The table of benchmarks.

mod actors;
mod events;
mod families;
mod ideal;
mod micro;
mod pthreads;
mod sharing;
mod tasks;
mod web;

use std::fmt::Write as _;

use anyhow::bail;

use crate::peers::Wanted;
use crate::plan::Benchmark;

pub(crate) use ideal::unit_ns;
pub(crate) use web::{Load, Served, Setting, pollers};

/// Every benchmark, in the order of `run all`.
static BENCHMARKS: &[Benchmark] = &[
    web::WEBSERVER,
    web::ECHO,
    web::SHORT,
    web::PIPELINED,
    web::SYSCALLS,
    web::LINES,
    web::IDLE,
    web::DELAY,
    web::STALL,
    web::POLLERS,
    web::INSIDE,
    web::METRICS,
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
        name: sharing::RWLOCKS.name,
        about: "algorithm 1 with read-write locks of every kind, by the share of turns that write",
        run: |run| micro::run(&sharing::RWLOCKS, run),
    },
    Benchmark {
        name: sharing::FANOUT.name,
        about: "watch and broadcast, which 2 to 5000 follow",
        run: |run| micro::run(&sharing::FANOUT, run),
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
    Benchmark {
        name: actors::BIG.name,
        about: "actors that ping each other, all of them",
        run: |run| micro::run(&actors::BIG, run),
    },
    Benchmark {
        name: actors::BANG.name,
        about: "actors that all send to one",
        run: |run| micro::run(&actors::BANG, run),
    },
    Benchmark {
        name: actors::LOGM.name,
        about: "actors that ask, with thousands of messages waiting",
        run: |run| micro::run(&actors::LOGM, run),
    },
    Benchmark {
        name: actors::APSP.name,
        about: "actors with a block of a matrix each, in rounds",
        run: |run| micro::run(&actors::APSP, run),
    },
    Benchmark {
        name: actors::CDICT.name,
        about: "actors that read and write a dictionary; values of several sizes",
        run: |run| micro::run(&actors::CDICT, run),
    },
    Benchmark {
        name: actors::CSLL.name,
        about: "actors that search a sorted list and add to it",
        run: |run| micro::run(&actors::CSLL, run),
    },
    Benchmark {
        name: actors::NQN.name,
        about: "queens on a board: actors with work that divides itself",
        run: |run| micro::run(&actors::NQN, run),
    },
    Benchmark {
        name: actors::TRAPR.name,
        about: "an integral: actors that only compute",
        run: |run| micro::run(&actors::TRAPR, run),
    },
    Benchmark {
        name: actors::PUBSUB.name,
        about: "actors that publish to topics: deliveries, and how long they take",
        run: |run| actors::run_with_latencies(&actors::PUBSUB, run),
    },
    Benchmark {
        name: actors::ASK.name,
        about: "actors that ask each other: there and back, beside semaphores",
        run: |run| actors::run_with_latencies(&actors::ASK, run),
    },
    Benchmark {
        name: actors::REST.name,
        about: "actors that have nothing to do: CPU time",
        run: |run| micro::run(&actors::REST, run),
    },
    Benchmark {
        name: actors::CHAT.name,
        about: "a chat server of actors: deliveries, how long they take, memory",
        run: |run| actors::run_with_latencies(&actors::CHAT, run),
    },
    Benchmark {
        name: actors::MILLION.name,
        about: "a chat server of a million users; takes 6 GiB and ten minutes, so `all` leaves it out",
        run: |run| actors::run_with_latencies(&actors::MILLION, run),
    },
    Benchmark {
        name: events::UNBALANCED.name,
        about: "coloured events that begin on one processor, and what each policy steals",
        run: |run| micro::run(&events::UNBALANCED, run),
    },
    Benchmark {
        name: events::TABLE2.name,
        about: "coloured events that go on by themselves, in the four steps of libasync-smp",
        run: |run| micro::run(&events::TABLE2, run),
    },
    Benchmark {
        name: events::PENALTY.name,
        about: "coloured events that read what others of their colour have made",
        run: |run| micro::run(&events::PENALTY, run),
    },
    Benchmark {
        name: events::CACHE_EFFICIENT.name,
        about: "coloured events that share arrays by two",
        run: |run| micro::run(&events::CACHE_EFFICIENT, run),
    },
    web::SWS,
    web::SFS,
    web::HTTP_CACHE,
    Benchmark {
        name: tasks::FIB.name,
        about: "Fibonacci numbers by tasks, by fibres in scopes, and by rayon",
        run: |run| micro::run(&tasks::FIB, run),
    },
    Benchmark {
        name: tasks::COUNTER.name,
        about: "servers that echo and count, by tasks with permissions, by locks, and by tokio",
        run: |run| micro::run(&tasks::COUNTER, run),
    },
    Benchmark {
        name: tasks::COUNTER_FULL.name,
        about: "the same under the load of the paper; takes half an hour, so `all` leaves it out",
        run: |run| micro::run(&tasks::COUNTER_FULL, run),
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
    "lines",
    "idle",
    "delay",
    "stall",
    "pollers",
    "pipes",
];

/// Those about the C library, which `c` stands for.
const C: &[&str] = &[pthreads::PTHREADS.name, web::TEXTBOOK.name];

/// The programs over actors, which `actors` stands for.
const ACTORS: &[&str] = &[
    actors::BIG.name,
    actors::BANG.name,
    actors::LOGM.name,
    actors::APSP.name,
    actors::CDICT.name,
    actors::CSLL.name,
    actors::NQN.name,
    actors::TRAPR.name,
    actors::PUBSUB.name,
    actors::ASK.name,
    actors::REST.name,
    actors::CHAT.name,
];

/// The programs over coloured events, which `events` stands for.
const EVENTS: &[&str] = &[
    events::UNBALANCED.name,
    events::TABLE2.name,
    events::PENALTY.name,
    events::CACHE_EFFICIENT.name,
    web::SWS.name,
    web::SFS.name,
    web::HTTP_CACHE.name,
];

/// The benchmarks that no group has: they take too long or too much memory, or need a program that
/// is seldom there.
const LARGE: [&str; 3] = [
    actors::MILLION.name,
    tasks::COUNTER_FULL.name,
    web::METRICS.name,
];

/// Which groups that have peers of their own are among these.
pub(crate) fn wanted(selected: &[&Benchmark]) -> Wanted {
    let any = |group: &[&str]| selected.iter().any(|row| group.contains(&row.name));
    Wanted {
        actors: any(ACTORS) || any(&[actors::MILLION.name]),
        tasks: any(TASKS) || any(&[tasks::COUNTER_FULL.name]),
        events: any(EVENTS),
    }
}

/// The programs over tasks.
const TASKS: &[&str] = &[tasks::FIB.name, tasks::COUNTER.name];

/// Whether a benchmark, or a group of them, has this name.
pub(crate) fn known(name: &str) -> bool {
    matches!(name, "all" | "io" | "c" | "actors" | "events" | "tasks")
        || BENCHMARKS.iter().any(|row| row.name == name)
}

/// The benchmarks of these names; `all` stands for every one, `io` for those about
/// input and output, `c` for those about the C library, `actors` for the programs over
/// actors, `events` for those over coloured events, `tasks` for those over tasks.
pub(crate) fn select(names: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        bail!("there is no benchmark `{unknown}`; there are:\n{}", list());
    }
    let wanted = |row: &&Benchmark| {
        names.iter().any(|name| match name.as_str() {
            "all" => !LARGE.contains(&row.name),
            "io" => IO.contains(&row.name),
            "c" => C.contains(&row.name),
            "actors" => ACTORS.contains(&row.name),
            "events" => EVENTS.contains(&row.name),
            "tasks" => TASKS.contains(&row.name),
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
        writeln!(text, "{:12} {}", row.name, row.about).ok();
    }
    text
}
