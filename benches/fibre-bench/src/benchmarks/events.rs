//! The programs over coloured events.
//!
//! Ours is measured as it is, and under each policy as a variant: the rows of the papers' tables.

use super::micro::{Case, Family, From, Layout, Metric};
use crate::report::Better;

/// Thousands of events a second.
const RATE: Metric = Metric::new("rate", "KEv/s", Better::Higher, From::Value("kev_per_s"));
/// How many colours were stolen.
const THEFTS: Metric = Metric::new("thefts", "", Better::Lower, From::Value("thefts"));
/// What a theft has taken.
const THEFT: Metric = Metric::new("a theft", "ns", Better::Lower, From::Value("theft_ns"));
/// What was stolen at a time.
const STOLEN: Metric = Metric::new(
    "stolen by a theft",
    "cycles",
    Better::Higher,
    From::Value("stolen_cycles"),
);

/// What has to reach another processor's cache.
const MOVED: Metric = Metric::new("moved", "%", Better::Lower, From::Value("moved"));

/// Rounds of events that begin on one processor.
pub(crate) const UNBALANCED: Family = Family {
    name: "unbalanced",
    about: "Mely's tables III and IV: 50,000 events of different colours that begin on one processor, \
            2 in 100 of them 100 to 500 times as long as the others.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "events=500",
        ..Case::wall("an event", "unbalanced")
            .with_variants()
            .metrics(&[RATE, Metric::WALL, Metric::CPU, THEFTS, THEFT, STOLEN])
            .sized(0.5, 5)
    }],
};

/// The four steps of libasync-smp.
pub(crate) const TABLE2: Family = Family {
    name: "table2",
    about: "libasync-smp's table 2: sixteen colours that go on by themselves, on all processors but \
            one; with one queue, a queue for each processor, free lists, and stealing.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "events=20",
        ..Case::wall("an event", "table2")
            .with_variants()
            .metrics(&[RATE, Metric::WALL, Metric::CPU, THEFTS])
            .sized(0.5, 5)
    }],
};

/// Arrays that a colour makes and then reads.
pub(crate) const PENALTY: Family = Family {
    name: "penalty",
    about: "Mely's table V: 1000 colours that begin on one processor, each of which makes an array of 64 KB and reads it by eight \
            events, whose penalty is 1000. *Moved* are those that read it elsewhere than where it was made. The paper, on eight \
            cores, in KEv/s and misses of the L2 cache for an event: libasync-smp 1103 and 29, stealing 190 and 167,000; Mely by \
            the base algorithm 1386 and 42,000, with penalties 2122 and 2000.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "events=10",
        ..Case::wall("an event that makes or reads", "penalty")
            .with_variants()
            .metrics(&[RATE, Metric::WALL, Metric::CPU, THEFTS, MOVED])
            .sized(0.5, 5)
    }],
};

/// Arrays with halves that are sorted by two events.
pub(crate) const CACHE_EFFICIENT: Family = Family {
    name: "cache_efficient",
    about: "Mely's table VI: 100 arrays of 32 KB that begin on one processor of each pair; two events sort the halves, which are \
            merged. *Moved* are halves that were sorted elsewhere than where the array was made. Which processor is near matters \
            from four on; with two there is one victim. The paper, on eight cores, in KEv/s and misses of the L2 cache for an \
            event: libasync-smp 1156 and 0, stealing 1497 and 13; Mely by the base algorithm 1426 and 12, by locality 1869 and 2.",
    layout: Layout::Cases,
    cases: &[Case {
        quick: "events=5",
        ..Case::wall("an event that sorts or merges", "cache_efficient")
            .with_variants()
            .metrics(&[RATE, Metric::WALL, Metric::CPU, THEFTS, MOVED])
            .sized(0.5, 5)
    }],
};
