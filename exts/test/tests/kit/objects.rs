//! The scenarios of the example `objects`, by few seeds: all pass. `cargo xtask kit` shows what
//! they find.

#[allow(dead_code, reason = "its main function is the example's")]
#[path = "../../examples/objects/main.rs"]
mod example;

use example::scenarios::{SCENARIOS, SCHEDULES};
use fibre_test::Sim;
use std::collections::BTreeSet;

/// How many seeds each scenario is run with, by each kind of schedule.
const SEEDS: u64 = 20;

/// Runs every scenario by the schedule at this place.
fn all_pass(place: usize) {
    let (_, schedule) = SCHEDULES[place];
    for scenario in SCENARIOS {
        println!("{}", scenario.name); // which one it was, if it fails
        let report = Sim::builder()
            .seeds(SEEDS)
            .schedule(schedule)
            .run(scenario.test);
        assert_eq!(report.runs(), SEEDS);
    }
}

#[test]
fn random_walks_find_nothing() {
    all_pass(0);
}

#[test]
fn pct_finds_nothing() {
    all_pass(1);
}

#[test]
fn pos_finds_nothing() {
    all_pass(2);
}

#[test]
fn names_are_told_apart() {
    let names: BTreeSet<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), SCENARIOS.len());
}
