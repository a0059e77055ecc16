//! The micro-benchmarks: what is asked of every peer, and what ours has to
//! reach.
//!
//! The bars and the peers' figures beside them (`there`) come from one machine,
//! a 2-core AMD EPYC (Zen 5) with Linux 6.18.

use super::micro::{Case, Family, From, Layout, Metric};
use crate::report::{Better, Goal, Read};

/// Giving the processor to the next in line and getting it back.
pub(crate) const YIELD: Family = Family {
    name: "yield",
    about: "A yield between fibres that have all started; corosensei alone is the floor, a bare switch.",
    layout: Layout::Cases,
    cases: &[
        Case::cpu("2 fibres, a yield", "yield")
            .with("fibres=2")
            .metrics(&[Metric::CPU.goal(Goal::scaled(
                15.0,
                &[
                    ("may", 26.0),
                    ("tokio", 85.0),
                    ("thread", 1126.0),
                    ("boost", 44.0),
                    ("go", 102.0),
                ],
            ))]),
        Case::cpu("1000 fibres, a yield", "yield")
            .with("fibres=1000")
            .metrics(&[
                Metric::CPU.goal(Goal::scaled(16.0, &[("thread", 1642.0), ("boost", 22.0)]))
            ]),
        Case::wall("1000 fibres, a yield", "yield")
            .with("fibres=1000")
            .metrics(&[Metric::WALL.goal(Goal::scaled(
                9.0,
                &[("may", 12.0), ("tokio", 67.0), ("thread", 584.0)],
            ))]),
    ],
};

/// Making a fibre that does nothing, and joining it.
pub(crate) const SPAWN: Family = Family {
    name: "spawn",
    about: "Spawning a fibre that does nothing and joining it: one at a time the same lines of memory serve them all, in \
            batches all exist before the first is joined. Skynet is a tree of fork and join with ten children a node.",
    layout: Layout::Cases,
    cases: &[
        Case::cpu("one at a time, spawn + join", "spawn")
            .with("batch=1")
            .metrics(&[Metric::CPU.goal(Goal::scaled(
                46.0,
                &[("thread", 15_840.0), ("boost", 252.0), ("go", 281.0)],
            ))]),
        Case::cpu("batches of 1000, spawn + join", "spawn")
            .with("batch=1000")
            .metrics(&[Metric::CPU.goal(Goal::scaled(
                53.0,
                &[
                    ("may", 686.0),
                    ("tokio", 314.0),
                    ("thread", 28_565.0),
                    ("boost", 171.0),
                ],
            ))]),
        Case {
            quick: "leaves=100",
            without: &["thread", "may"],
            ..Case::cpu("skynet, a fibre", "skynet")
                .with("leaves=100000")
                .metrics(&[Metric::CPU.goal(Goal::figure(100.0))])
        },
        Case {
            quick: "batch=10000",
            without: &["thread", "may", "boost", "crossbeam", "corosensei"],
            ..Case::cpu("a million at once, spawn + join", "spawn")
                .with("batch=1000000")
                .sized(0.1, 3)
                .metrics(&[Metric::CPU.goal(Goal::times_of("go", 1.0))])
        },
    ],
};

/// Two fibres that wake each other in turn.
pub(crate) const PINGPONG: Family = Family {
    name: "pingpong",
    about: "A round trip between two fibres: two wakes, two blocks. Peers without a semaphore of their own use the \
            nearest thing. `fibre, moving` is ours in a cluster that moves started fibres.",
    layout: Layout::Subjects,
    cases: &[
        Case::cpu("semaphore", "semaphore").metrics(&[
            Metric::CPU.goal(Goal::scaled(90.0, &[("thread", 3385.0), ("boost", 293.0)])),
            Metric::WALL,
        ]),
        Case::cpu("mutex + condvar", "condvar").metrics(&[
            Metric::CPU.goal(Goal::scaled(
                90.0,
                &[
                    ("thread", 6920.0),
                    ("boost", 258.0),
                    ("may", 432.0),
                    ("tokio", 274.0),
                ],
            )),
            Metric::WALL,
        ]),
        Case::cpu("channel", "channel").metrics(&[
            Metric::CPU.goal(Goal::scaled(
                110.0,
                &[("may", 276.0), ("tokio", 220.0), ("go", 309.0)],
            )),
            Metric::WALL,
        ]),
        Case::wall("semaphore", "semaphore")
            .with_variants()
            .metrics(&[
                Metric::WALL.goal(Goal::scaled(360.0, &[("thread", 18_200.0)])),
                Metric::CPU,
            ]),
        Case::wall("mutex + condvar", "condvar")
            .with_variants()
            .metrics(&[
                Metric::WALL.goal(Goal::scaled(
                    400.0,
                    &[
                        ("thread", 41_100.0),
                        ("boost", 1150.0),
                        ("may", 456.0),
                        ("tokio", 601.0),
                    ],
                )),
                Metric::CPU,
            ]),
        Case::wall("channel", "channel").with_variants().metrics(&[
            Metric::WALL.goal(Goal::scaled(
                250.0,
                &[("may", 280.0), ("tokio", 381.0), ("go", 264.0)],
            )),
            Metric::CPU,
        ]),
    ],
};

/// A byte there and back over two pipes.
pub(crate) const PIPES: Family = Family {
    name: "pipes",
    about: "A round trip between two fibres over two pipes: four system calls that move a byte, and two waits.",
    layout: Layout::Cases,
    cases: &[
        Case::cpu("pipe, a round trip", "pipe").metrics(&[
            Metric::CPU.goal(Goal::scaled(1150.0, &[("thread", 6430.0)])),
            Metric::WALL,
        ]),
        Case::wall("pipe, a round trip", "pipe").metrics(&[
            Metric::WALL.goal(Goal::times_of("thread", 1.0)),
            Metric::CPU,
        ]),
    ],
};

/// A case of `stream` on one processor (`cpu`) or two (`wall`), without those peers, beside that
/// one.
macro_rules! stream {
    ($form:ident $metrics:tt, $name:literal, $parameters:literal, [$($without:literal),*]) => {
        Case {
            without: &["corosensei", "tokio-worker", $($without),*],
            ..Case::$form($name, "stream").with($parameters).metrics(&$metrics)
        }
    };
}

/// Each shape of a stream, with these figures read of it.
macro_rules! streams {
    ($form:ident $metrics:tt) => {
        [
            stream!($form $metrics, "1 to 1, no room, a number", "room=0", ["tokio", "may"]),
            stream!($form $metrics, "1 to 1, room for 1, a number", "room=1", ["may"]),
            stream!($form $metrics, "1 to 1, room for 128, a number", "room=128", ["may"]),
            stream!($form $metrics, "1 to 1, any number", "", ["go"]),
            stream!($form $metrics, "4 to 1, room for 128, a number", "senders=4 room=128", ["may"]),
            stream!($form $metrics, "4 to 1, any number", "senders=4", ["go"]),
            stream!(
                $form $metrics,
                "4 to 4, room for 128, a number",
                "senders=4 receivers=4 room=128",
                ["may", "tokio", "thread"]
            ),
            stream!(
                $form $metrics,
                "4 to 4, any number",
                "senders=4 receivers=4",
                ["go", "tokio", "thread"]
            ),
        ]
    };
}

/// What a number may cost at most: what it costs in crossbeam's channel.
const BESIDE: Goal = Goal::times_of("crossbeam", 1.0);

/// On one processor, and on two.
const STREAMS: [[Case; 8]; 2] = [
    streams!(cpu[Metric::CPU.goal(BESIDE)]),
    streams!(wall[Metric::WALL.goal(BESIDE), Metric::CPU]),
];

/// Numbers that go through one channel.
pub(crate) const STREAM: Family = Family {
    name: "stream",
    about: "Numbers that go through one channel, from one or four senders to one or four receivers, with no room, with \
            room for 1 or 128, or for any number: what a number costs, with all waits and wakes. The channels of \
            crossbeam, flume and std block kernel threads. Go has no channel without a bound, may has no other; those of \
            tokio and std have one receiver, and tokio's always have room for one.",
    layout: Layout::Subjects,
    cases: STREAMS.as_flattened(),
};

/// Locks: alone, and with others who want them too.
pub(crate) const MUTEX: Family = Family {
    name: "mutex",
    about: "Lock and unlock of a mutex: alone, and contended, with nothing done with the lock or without it; there with \
            fairness, which is Jain's index over the locks each participant took (1: all the same, 1/n: one took all). \
            `fibre` is the default mutex. Instructions are those of user space, counted by valgrind. The bar of 4 was set \
            beside a C program of a single thread with 3.4 ns, where the C library leaves out the lock prefix; all programs \
            in Rust here have more threads.",
    layout: Layout::Subjects,
    cases: &[
        Case::cpu("uncontended, lock + unlock", "mutex")
            .with_variants()
            .metrics(&[Metric::CPU.goal(Goal::figure(4.0)), Metric::INSTRUCTIONS]),
        Case::wall("8 fibres, 1 lock, lock + unlock", "contend")
            .with("threads=8 locks=1 held=0 free=0")
            .metrics(&[
                Metric::WALL.goal(Goal::scaled(
                    220.0,
                    &[("tokio", 435.0), ("may", 456.0), ("thread", 228.0)],
                )),
                Metric::JAIN,
                Metric::CPU,
            ]),
        Case::wall("64 fibres, 16 locks, lock + unlock", "contend")
            .with("threads=64 locks=16 held=0 free=0")
            .metrics(&[
                Metric::WALL.goal(Goal::scaled(
                    180.0,
                    &[("tokio", 209.0), ("may", 358.0), ("thread", 187.0)],
                )),
                Metric::JAIN,
                Metric::CPU,
            ]),
    ],
};

/// Rate and fairness of algorithm 1 with a bar for each.
macro_rules! rate {
    ($rate:literal, $thread:literal, $boost:literal, $jain:literal) => {
        &[
            Metric::RATE.goal(Goal::scaled(
                $rate,
                &[("thread", $thread), ("boost", $boost)],
            )),
            Metric::JAIN.goal(Goal::figure($jain)),
            Metric::CPU,
        ]
    };
}

/// The share of the ideal that algorithm 1 reaches, and how evenly.
macro_rules! share {
    ($percent:literal) => {
        &[
            Metric::new("of the ideal", "%", Better::Higher, From::Ideal)
                .goal(Goal::figure($percent)),
            Metric::new("variation", "cv", Better::Lower, From::Value("cv"))
                .goal(Goal::figure(0.1)),
        ]
    };
}

/// Algorithm 1 of the thesis on two processors.
pub(crate) const LOCKS: Family = Family {
    name: "locks",
    about: "Algorithm 1 of the thesis (4.5) on two processors: T fibres work for a while, take one of L locks at random, \
            work with it, and release it. Behind T and L stand the units of work without the lock / with it; a unit is one \
            dependent multiplication and addition, the same in every program, about 1 ns at 4 GHz. Throughput in million \
            iterations a second over a fixed time; Jain's index (1: all the same, 1/n: one had it all) and the coefficient \
            of variation over the iterations of each fibre. The ideal is what the processors, or the locks, could do at \
            most, with what a unit costs in that program. `fibre` is the default mutex. On the machine where the bars were \
            set, the best of other runtimes were bthread with 6.72 (1.0) and 56 (.37) in the second and third column, and \
            Argobots with 14.9 (1.0) and 1.92 (.98) in the fourth and fifth.",
    layout: Layout::Subjects,
    cases: &[
        Case::wall("T16 L1 1000/100", "contend")
            .with_variants()
            .with("threads=16 locks=1 free=1000 held=100")
            .metrics(rate!(2.0, 2.0, 0.99, 0.9)),
        Case::wall("T16 L1 100/100", "contend")
            .with_variants()
            .with("threads=16 locks=1 free=100 held=100")
            .metrics(rate!(6.7, 4.75, 6.64, 0.9)),
        Case::wall("T64 L1 10/10", "contend")
            .with_variants()
            .with("threads=64 locks=1 free=10 held=10")
            .metrics(rate!(50.0, 43.0, 10.0, 0.6)),
        Case::wall("T64 L64 100/100", "contend")
            .with_variants()
            .with("threads=64 locks=64 free=100 held=100")
            .metrics(rate!(14.9, 13.3, 6.7, 0.9)),
        Case::wall("T1000 L4 100/1000", "contend")
            .with_variants()
            .with("threads=1000 locks=4 free=100 held=1000")
            .metrics(rate!(1.9, 1.11, 0.98, 0.9)),
        Case::wall("T64 L1 1 µs", "contend")
            .with_variants()
            .with("threads=64 locks=1 free=1000 held=1000")
            .metrics(share!(65.0)),
        Case::wall("T64 L1 5 µs", "contend")
            .with_variants()
            .with("threads=64 locks=1 free=5000 held=5000")
            .metrics(share!(85.0)),
        Case::wall("T64 L1 20 µs", "contend")
            .with_variants()
            .with("threads=64 locks=1 free=20000 held=20000")
            .metrics(share!(92.0)),
    ],
};

/// What the guest of the workload `wait` reports, the longest of all its waits first.
const WAITS: &[Metric] = &[
    Metric::new(
        "longest wait",
        "µs",
        Better::Lower,
        From::Value("wait_us_max"),
    )
    .read_as(Read::Worst),
    Metric::new("99 %", "µs", Better::Lower, From::Value("wait_us_p99")).read_as(Read::Median),
    Metric::new("median", "µs", Better::Lower, From::Value("wait_us_median")).read_as(Read::Median),
    Metric::new(
        "longest gap",
        "µs",
        Better::Lower,
        From::Value("gap_us_max"),
    )
    .read_as(Read::Worst),
    Metric::new(
        "acquisitions",
        "count",
        Better::Higher,
        From::Value("acquired"),
    )
    .read_as(Read::Median),
    Metric::RATE.read_as(Read::Median),
];

/// A fibre that wants a mutex now and then, and fifty that want it always.
pub(crate) const WAIT: Family = Family {
    name: "wait",
    about: "How long one fibre waits for a mutex that 50 others take again and again: each works 100 units with it, unlocks, \
            and locks it again. The one sleeps 100 µs between two acquisitions, so it gets few where it waits long. On one \
            processor nobody would ever find the mutex taken, so there each of the 50 yields with it at every 16th \
            iteration. The throughput is that of the 50. A crowd that leaves no processor to the one keeps it from waiting \
            at all, and shows in the longest gap between two acquisitions, the sleep included. What the end of a repetition \
            cuts short counts as long as it was. The longest of all repetitions stands for them, so a disturbance of the \
            machine shows; look at the 99 %, too.",
    layout: Layout::Subjects,
    cases: &[
        Case::wall("50 : 1, yielding with it", "wait")
            .on(1)
            .with("crowd=50 held=100 yields=16")
            .with_variants()
            .sized(0.5, 5)
            .metrics(WAITS),
        Case::wall("50 : 1", "wait")
            .with("crowd=50 held=100")
            .with_variants()
            .sized(0.5, 5)
            .metrics(WAITS),
    ],
};

/// Bytes a blocked fibre keeps resident.
const RESIDENT: Metric = Metric::new("resident", "bytes", Better::Lower, From::Value("rss_bytes"));
/// Mappings of the process while all are blocked.
const MAPPINGS: Metric = Metric::new("mappings", "count", Better::Lower, From::Value("mappings"));

/// What the first pass takes, when all memory is new.
const FIRST: Metric = Metric::new("first pass", "ns", Better::Lower, From::Value("first_ns"));

/// Many fibres blocked at once.
pub(crate) const BLOCKED: Family = Family {
    name: "blocked",
    about: "Fibres that are created, block, are woken and joined, all blocked at once, the cheapest of four passes in one \
            process and the first (a million: one pass); resident memory of each, and how many mappings the process needs \
            (the kernel allows 65,530 by default).",
    layout: Layout::Cases,
    cases: &[
        Case {
            quick: "fibres=200",
            without: &["corosensei"],
            ..Case::cpu("20,000 at once, a fibre", "blocked")
                .with("fibres=20000 passes=4")
                .sized(0.1, 5)
                .metrics(&[
                    Metric::CPU.goal(Goal::scaled(
                        1800.0,
                        &[("thread", 75_000.0), ("boost", 4940.0)],
                    )),
                    FIRST,
                    RESIDENT.goal(Goal::figure(4506.0)),
                    MAPPINGS,
                ])
        },
        Case {
            quick: "fibres=2000",
            without: &["thread", "may", "boost", "corosensei", "tokio-worker"],
            ..Case::cpu("1,000,000 at once, a fibre", "blocked")
                .with("fibres=1000000")
                .sized(0.1, 1)
                .metrics(&[
                    Metric::CPU.goal(Goal::times_of("go", 1.0)),
                    RESIDENT,
                    MAPPINGS,
                ])
        },
    ],
};

/// How much later than asked a sleeper wakes.
const LATE: Metric = Metric::new(
    "late (median)",
    "µs",
    Better::Lower,
    From::Value("over_us_median"),
);
const LATEST: Metric = Metric::new(
    "late (worst)",
    "µs",
    Better::Lower,
    From::Value("over_us_max"),
);

/// Sleeping in an idle process.
pub(crate) const SLEEP: Family = Family {
    name: "sleep",
    about: "One fibre sleeps in an idle process: how much later than asked it wakes.",
    layout: Layout::Cases,
    cases: &[
        Case {
            quick: "micros=50 count=5",
            ..Case::cpu("50 µs, a sleep", "sleep")
                .with("micros=50 count=200")
                .sized(0.1, 5)
                .metrics(&[
                    LATE.goal(Goal::scaled(60.0, &[("go", 1032.0), ("tokio", 1026.0)])),
                    LATEST,
                    Metric::CPU,
                ])
        },
        Case {
            quick: "micros=1000 count=5",
            ..Case::cpu("1 ms, a sleep", "sleep")
                .with("micros=1000 count=100")
                .sized(0.1, 5)
                .metrics(&[LATE.goal(Goal::figure(40.0)), LATEST, Metric::CPU])
        },
    ],
};
