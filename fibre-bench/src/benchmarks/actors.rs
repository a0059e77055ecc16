//! The programs over actors: nine benchmarks, and a chat server.
//!
//! Ours is measured as it is, and under each policy as a variant. Times on the wall are of one
//! message; the shortest run stands beside them.

use super::micro::{Case, Family, From, Layout, Metric};
use crate::report::{Better, Read};

/// How long the shortest run of a program took.
const RUN: Metric =
    Metric::new("a run", "ms", Better::Lower, From::Value("run_ms")).read_as(Read::Best);
/// The median time on the way.
const MEDIAN: Metric = Metric::new("median", "µs", Better::Lower, From::Value("p50_us"));
/// The time on the way that one in a hundred exceeds.
const P99: Metric = Metric::new("99 %", "µs", Better::Lower, From::Value("p99_us"));
/// The time on the way that one in a thousand exceeds.
const P999: Metric = Metric::new("99.9 %", "µs", Better::Lower, From::Value("p999_us"));
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

/// BIG, from many to many.
pub(crate) const BIG: Family = Family {
    name: "big",
    about: "BIG: each of 512 actors pings all, and waits for all pongs. A ping carries a reference.",
    layout: Layout::Cases,
    cases: &[program("BIG 512, a message", "big", "players=16")],
};

/// BANG, from many to one.
pub(crate) const BANG: Family = Family {
    name: "bang",
    about: "BANG: each of 512 actors sends 2000 numbers to one.",
    layout: Layout::Cases,
    cases: &[program(
        "BANG 512 × 2000, a message",
        "bang",
        "senders=8 numbers=20",
    )],
};

/// Question and answer, with the next questions waiting.
pub(crate) const LOGM: Family = Family {
    name: "logm",
    about: "LOGM: ten series of 25,000 terms; for each an actor asks another, and waits.",
    layout: Layout::Cases,
    cases: &[program("LOGM, a message", "logm", "terms=50 series=3")],
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
    cases: &[program("CSLL, a message", "csll", "workers=4 questions=30")],
};

/// Work that divides itself.
pub(crate) const NQN: Family = Family {
    name: "nqn",
    about: "NQN: twelve queens, twenty actors, and a master that hands out 4959 boards.",
    layout: Layout::Cases,
    cases: &[program("NQN 12, a message", "nqn", "size=6 threshold=2")],
};

/// Work without messages.
pub(crate) const TRAPR: Family = Family {
    name: "trapr",
    about: "TRAPR: an integral of 10,000,000 trapezoids by a hundred actors, with a message each.",
    layout: Layout::Cases,
    cases: &[program(
        "TRAPR, a message",
        "trapr",
        "pieces=20000 workers=10",
    )],
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
            .metrics(&[Metric::WALL, RUN, Metric::CPU, MEDIAN, P99])
            .sized(0.3, 5)
    }],
};

/// The chat server.
pub(crate) const CHAT: Family = Family {
    name: "chat",
    about: "The chat server of the thesis, section 5.4.3, at a hundredth of its size: 10,000 users \
            write a message each second, one in twenty to one of 100 groups.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "users=60 groups=3 period_ms=50 to_groups=20",
        ..Case::wall("a delivery", "chat")
            .with_variants()
            .metrics(&[Metric::CPU, DELIVERIES, MEDIAN, P99, P999, MEMORY])
            .sized(10.0, 3)
    }],
};
