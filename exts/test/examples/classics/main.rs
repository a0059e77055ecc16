//! How many schedules find each of some well-known faults: the table of the guide's page *Testing*.
//!
//! `cargo run -p fibre-test --example classics` prints it. What it tells of the failed runs besides
//! goes to standard error.

mod faults;

use faults::{FAULTS, Fault};
use fibre_test::{FailedRun, Schedule, Sim};

/// How many schedules are tried.
const TRIES: u64 = 1000;

/// What fails first by a schedule.
fn first(fault: Fault, schedule: Schedule) -> Option<FailedRun> {
    let runs = Sim::builder().seeds(TRIES).schedule(schedule);
    let failed = runs.try_run(fault.test).err()?;
    let text = failed.to_string();
    assert!(text.contains(fault.says), "another fault: {text}");
    Some(failed)
}

fn main() {
    let schedules = [
        ("random", Schedule::random()),
        ("PCT, depth 3", Schedule::pct(3)),
        ("POS", Schedule::pos()),
        ("exhaustive, 2", Schedule::exhaustive(2)),
    ];
    let names = schedules.map(|(name, _)| name).join(" | ");
    println!("| fault | {names} | switches |");
    println!("|---|---|---|---|---|---|");
    for fault in FAULTS {
        let in_order = Sim::builder().try_run(fault.test);
        assert_eq!(in_order.is_err(), fault.in_order, "{}", fault.name);
        let failed = schedules.map(|(_, schedule)| first(fault, schedule));
        let switches = failed
            .iter()
            .flatten()
            .filter_map(FailedRun::switches)
            .min();
        let runs = failed.map(|failed| match failed {
            Some(failed) => failed.runs().to_string(),
            None => format!("none of {TRIES}"),
        });
        let switches = switches.map_or_else(|| "?".to_owned(), |count| count.to_string());
        println!("| {} | {} | {switches} |", fault.name, runs.join(" | "));
    }
}
