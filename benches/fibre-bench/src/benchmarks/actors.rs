//! The programs over actors: nine benchmarks, questions and answers, actors at rest, and a chat
//! server.
//!
//! Ours is measured as it is, and under each policy as a variant; beside it tokio's tasks and the
//! actor libraries of others. Times on the wall are of one message; the shortest run stands beside
//! them.

use super::micro::{self, Case, Family, From, Layout, Metric};
use crate::plan::Run;
use crate::report::{Better, Goal, Read};

/// How long the shortest run of a program took.
const RUN: Metric =
    Metric::new("a run", "ms", Better::Lower, From::Value("run_ms")).read_as(Read::Best);
/// A time that a part of all readings exceeds.
const fn exceeded(name: &'static str, value: &'static str) -> Metric {
    Metric::new(name, "µs", Better::Lower, From::Value(value))
}

/// The median time on the way.
const MEDIAN: Metric = exceeded("median", "p50_us");
/// The time on the way that one in ten exceeds.
const P90: Metric = exceeded("90 %", "p90_us");
/// The time on the way that one in a hundred exceeds.
const P99: Metric = exceeded("99 %", "p99_us");
/// The time on the way that one in a thousand exceeds.
const P999: Metric = exceeded("99.9 %", "p999_us");
/// The time on the way that one in ten thousand exceeds.
const P9999: Metric = exceeded("99.99 %", "p9999_us");
/// The longest time on the way.
const LONGEST: Metric = exceeded("longest", "max_us");
/// Deliveries of the chat server.
const DELIVERIES: Metric = Metric::new(
    "deliveries",
    "1/s",
    Better::Higher,
    From::Value("deliveries_per_s"),
);
/// Resident memory at the end.
const MEMORY: Metric = Metric::new("resident", "bytes", Better::Lower, From::Value("rss_bytes"));

/// What is read of a program.
const TIMES: &[Metric] = &[Metric::WALL, RUN, Metric::CPU];

/// A program on two processors, under each policy.
const fn program(name: &'static str, workload: &'static str, quick: &'static str) -> Case {
    Case {
        quick,
        ..Case::wall(name, workload)
            .with_variants()
            .metrics(TIMES)
            .sized(0.3, 5)
    }
}

/// What is read of a program that tasks without actors are the measure of.
const AS_TASKS: &[Metric] = &[
    Metric::WALL.goal(Goal::times_of("tokio", 1.2)),
    RUN.goal(Goal::times_of("tokio", 1.2)),
    Metric::CPU.goal(Goal::times_of("tokio", 1.2)),
];

/// BIG, from many to many.
pub(crate) const BIG: Family = Family {
    name: "big",
    about: "BIG: each of 512 actors pings all, and waits for all pongs. A ping carries a reference.",
    layout: Layout::Cases,
    cases: &[program("BIG 512, a message", "big", "players=16").metrics(AS_TASKS)],
};

/// BANG, from many to one.
pub(crate) const BANG: Family = Family {
    name: "bang",
    about: "BANG: each of 512 actors sends 2000 numbers to one.",
    layout: Layout::Cases,
    cases: &[
        program("BANG 512 × 2000, a message", "bang", "senders=8 numbers=20").metrics(AS_TASKS),
    ],
};

/// Question and answer, with the next questions waiting.
pub(crate) const LOGM: Family = Family {
    name: "logm",
    about: "LOGM: ten series; for each of 25,000 terms an actor asks another, and waits, while the \
            requests for further terms wait in its mailbox. CAF searches these again and again, so \
            that its time grows with their square; the first row has a tenth of them.",
    layout: Layout::Cases,
    cases: &[
        program("LOGM 2500, a message", "logm", "terms=50 series=3")
            .with("terms=2500")
            .metrics(AS_CAF),
        Case {
            without: &["corosensei", "tokio-worker", "caf"],
            ..program("LOGM 25,000, a message", "logm", "terms=50 series=3")
        },
    ],
};

/// What is read of LOGM, which has to be ten times faster than CAF's.
const AS_CAF: &[Metric] = &[
    Metric::WALL.goal(Goal::times_of("caf", 0.1)),
    RUN.goal(Goal::times_of("caf", 0.1)),
    Metric::CPU,
];

/// A question there and its answer back.
pub(crate) const ASK: Family = Family {
    name: "ask",
    about: "An actor asks another, one question after the other, and waits for each answer. `fibre, \
            semaphore` is no actor: two fibres that wake each other by semaphores, two wakes and two \
            blocks. One question in 16 is timed by itself.",
    layout: Layout::Cases,
    cases: &[
        Case::cpu("ask, there and back", "ask")
            .with_variants()
            .metrics(&[
                Metric::CPU.goal(Goal::times_of("fibre, semaphore", 2.0)),
                MEDIAN,
                P90,
                P99,
                P999,
                P9999,
                LONGEST,
            ])
            .sized(0.2, 7),
        Case::wall("ask, there and back", "ask")
            .with_variants()
            .metrics(&[
                Metric::WALL.goal(Goal::times_of("fibre, semaphore", 2.0)),
                Metric::CPU.goal(Goal::times_of("fibre, semaphore", 2.0)),
                MEDIAN,
                P90,
                P99,
                P999,
                P9999,
                LONGEST,
            ])
            .sized(0.2, 7),
    ],
};

/// Actors that have nothing to do.
pub(crate) const REST: Family = Family {
    name: "rest",
    about: "1000 actors that have nothing to do: CPU time of the process in a second.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "actors=10",
        ..Case::wall("a second at rest", "rest")
            .with_variants()
            .metrics(&[Metric::CPU.goal(Goal::figure(1e6))])
            .sized(1.0, 3)
    }],
};

/// Rounds with large messages.
pub(crate) const APSP: Family = Family {
    name: "apsp",
    about: "APSP: all shortest paths among 300 nodes, in 36 blocks that exchange 108,360 messages.",
    layout: Layout::Cases,
    cases: &[program("APSP 300, a message", "apsp", "nodes=20 block=5")],
};

/// A dictionary.
pub(crate) const CDICT: Family = Family {
    name: "cdict",
    about: "CDICT: twenty actors ask a dictionary 10,000 times each; one in ten, then one in five, \
            writes. The values of the latter rows have more words: figure 5.2 of the thesis.",
    layout: Layout::Cases,
    cases: &[
        program("CDICT, a message", "cdict", CDICT_QUICK),
        program("64 words, a message", "cdict", CDICT_QUICK).with("writes=20 words=64"),
        program("256 words, a message", "cdict", CDICT_QUICK).with("writes=20 words=256"),
        program("1024 words, a message", "cdict", CDICT_QUICK).with("writes=20 words=1024"),
    ],
};

/// A tiny dictionary.
const CDICT_QUICK: &str = "workers=4 questions=30";

/// A sorted list.
pub(crate) const CSLL: Family = Family {
    name: "csll",
    about: "CSLL: twenty actors ask a sorted linked list 8000 times each; one in ten writes.",
    layout: Layout::Cases,
    cases: &[program("CSLL, a message", "csll", "workers=4 questions=30").sized(0.3, 3)],
};

/// Work that divides itself.
pub(crate) const NQN: Family = Family {
    name: "nqn",
    about: "NQN: twelve queens, twenty actors, and a master that hands out 4959 boards.",
    layout: Layout::Cases,
    cases: &[program("NQN 12, a message", "nqn", "size=6 threshold=2").sized(0.3, 3)],
};

/// Work without messages.
pub(crate) const TRAPR: Family = Family {
    name: "trapr",
    about: "TRAPR: an integral of 10,000,000 trapezoids by a hundred actors, with a message each.",
    layout: Layout::Cases,
    cases: &[program("TRAPR, a message", "trapr", "pieces=20000 workers=10").sized(0.3, 3)],
};

/// Topics.
pub(crate) const PUBSUB: Family = Family {
    name: "pubsub",
    about: "PUBSUB: ten actors publish 100 messages each, in topics of 200 of 1000 subscribers. How \
            long messages are on their way is that of one run.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "publishers=3 subscribers=20 messages=10",
        ..Case::wall("PUBSUB, a delivery", "pubsub")
            .with_variants()
            .metrics(&[
                Metric::WALL.goal(Goal::times_of("caf", 1.0)),
                RUN.goal(Goal::times_of("caf", 1.0)),
                Metric::CPU,
                MEDIAN,
                P90,
                P99.goal(Goal::times_of("caf", 1.0)),
                P999,
                P9999,
                LONGEST,
            ])
            .sized(0.3, 5)
    }],
};

/// What is read of the chat server.
const CHATTED: &[Metric] = &[
    Metric::CPU,
    DELIVERIES,
    MEDIAN,
    P90,
    P99,
    P999,
    P9999,
    LONGEST,
    MEMORY,
];

/// The chat server of so many users.
const fn chat(name: &'static str, parameters: &'static str) -> Case {
    Case {
        quick: "users=60 groups=3 period_ms=50 to_groups=20",
        ..Case::wall(name, "chat")
            .with(parameters)
            .with_variants()
            .metrics(CHATTED)
            .sized(10.0, 2)
    }
}

/// The chat server.
pub(crate) const CHAT: Family = Family {
    name: "chat",
    about: "The chat server of the thesis, section 5.4.3, at a hundredth of its size: 10,000 users \
            and 100 groups, a message in twenty to a group. Users write one message a second, as in \
            the thesis, and then five, which two processors are busy with.",
    layout: Layout::Cases,
    cases: &[
        chat("1 message a second, a delivery", ""),
        chat("5 messages a second, a delivery", "period_ms=200"),
    ],
};

/// The chat server in its full size.
pub(crate) const MILLION: Family = Family {
    name: "million",
    about: "The chat server with as many users and groups as in the thesis: 1,000,000 and 10,000. \
            Each writes one message a minute, as two processors do not keep up with one a second, \
            which makes 25 million deliveries.",
    layout: Layout::Cases,
    cases: &[chat(
        "1,000,000 users, a delivery",
        "users=1000000 groups=10000 period_ms=60000",
    )
    .sized(60.0, 1)],
};

/// Measures a family with peers that report how long messages were on their way, and draws that.
pub(crate) fn run_with_latencies(family: &Family, run: &mut Run) -> anyhow::Result<()> {
    micro::run(family, run)?;
    run.report.picture(format!("{}-latency", family.name));
    Ok(())
}
