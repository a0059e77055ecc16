//! The programs over tasks: Fibonacci numbers, and the servers that echo and count.
//!
//! Ours is measured with tasks, and with plain fibres as variants.

use super::micro::{Case, Family, From, Layout, Metric};
use crate::report::{Better, Goal};

/// Exchanges of a server.
const RATE: Metric = Metric::new("exchanges", "M/s", Better::Higher, From::Rate);

/// Fibonacci numbers.
pub(crate) const FIB: Family = Family {
    name: "fib",
    about: "fib(35) by calls in parallel down to a grain: of each that splits. Program 1 of the paper on Eve, which \
            spawns a task for both halves; the variant `scope`, and rayon, compute one of them themselves. The newest \
            tasks come first, but in the variant `arrival`.",
    layout: Layout::Cases,
    cases: &[
        fib("grain 24, a split", "n=35 grain=24").metrics(&[BESIDE_RAYON, Metric::CPU]),
        fib("grain 18, a split", "n=35 grain=18").metrics(&[BESIDE_RAYON, Metric::CPU]),
        fib("grain 10, a split", "n=30 grain=10").metrics(&[Metric::WALL, Metric::CPU]),
    ],
};

/// What a split may cost, the work below the grain included.
const BESIDE_RAYON: Metric = Metric::WALL.goal(Goal::times_of("rayon", 1.5));

/// A number on two processors.
const fn fib(name: &'static str, parameters: &'static str) -> Case {
    Case {
        quick: "n=16 grain=8",
        ..Case::wall(name, "fib")
            .with(parameters)
            .with_variants()
            .sized(0.3, 5)
    }
}

/// The servers.
pub(crate) const COUNTER: Family = Family {
    name: "counter",
    about: "150 connections in a closed loop, messages of 16 bytes that come back, and requests to a counter, of which \
            a share reads it. Server and client have the same two cores, the client is the same for all. Each \
            repetition checks the counter.",
    layout: Layout::Cases,
    cases: &[
        served("echo, 16 bytes", "echoing", "messages=2000"),
        served("counter, 0 % reads", "counting", "messages=2000 reads=0"),
        served("counter, 25 % reads", "counting", "messages=2000 reads=25"),
        served("counter, 50 % reads", "counting", "messages=2000 reads=50"),
        served("counter, 75 % reads", "counting", "messages=2000 reads=75"),
        served(
            "counter, 100 % reads",
            "counting",
            "messages=2000 reads=100",
        ),
    ],
};

/// The servers under the load of the paper.
pub(crate) const COUNTER_FULL: Family = Family {
    name: "counter-full",
    about: "150 connections in a closed loop, 10,000 messages each, as in the paper on Eve: the ends of what `counter` \
            shows in steps.",
    layout: Layout::Cases,
    cases: &[
        served("echo, all", "echoing", "messages=10000"),
        served("0 % reads, all", "counting", "messages=10000 reads=0"),
        served("100 % reads, all", "counting", "messages=10000 reads=100"),
    ],
};

/// A server on two processors.
const fn served(name: &'static str, workload: &'static str, parameters: &'static str) -> Case {
    Case {
        quick: "connections=5 messages=20",
        ..Case::wall(name, workload)
            .with(parameters)
            .with_variants()
            .metrics(&[RATE, Metric::CPU])
            .sized(0.1, 5)
    }
}
