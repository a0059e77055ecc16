//! `ci`: everything the build machine runs, in its order, within a budget of time.
//!
//! The script `.ci/run` installs the tools named here and calls this lane; nothing is checked there
//! that cannot be run by hand.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::lanes::part::{self, PARTS, Part};
use crate::lanes::{
    arm, audit, bench, c, check, clients, doc, features, gdb, guide, header, instructions, links,
    loom, package, policies, pollers, sanitize, test, threads, types,
};
use crate::steps::Steps;
use crate::workspace::{Workspace, require_program};

/// A lane, as it runs.
type Lane<'a> = &'a dyn Fn(&mut Steps) -> Result<()>;

/// Programs that only tests of the whole system need.
const TOOLS: [&str; 6] = ["wrk", "strace", "curl", "valgrind", "gdb", "mdbook"];

/// How long all of it shall take. The build machine is not always the same, and a slow hour is no
/// fault of the tree: more than this is noted, not refused.
const INTENDED: Duration = Duration::from_secs(35 * 60);

/// What all steps together write from a clean checkout, in bytes, and a reserve. A compiler that
/// finds no room fails at whatever step comes next.
const ROOM: u64 = 25 << 30;

/// How long all of it may take.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes of wall time for all steps together; what still runs then is taken to hang
    #[arg(long, default_value_t = 86)]
    budget_minutes: u64,
    /// All rows, also of the lanes that run a part each day
    #[arg(long)]
    all: bool,
    /// Goes on after a lane or program that has failed, to find all that fail in one run
    #[arg(long)]
    keep_going: bool,
    /// The part of the day of this number, to repeat what the log of that day has
    #[arg(long, conflicts_with = "all")]
    day: Option<u64>,
}

impl Options {
    /// The part to run, that of lanes that have a day themselves, and what to say of it.
    fn part(&self) -> (Part, Part, String) {
        if self.all {
            let note = "all rows of all lanes".to_owned();
            return (Part::default(), Part::default(), note);
        }
        let day = self.day.unwrap_or_else(part::today);
        (Part::of_day(day), Part::of_turn(day), part::note(day))
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    steps.set_budget(INTENDED, Duration::from_secs(60 * options.budget_minutes));
    steps.give_second_chance();
    if options.keep_going {
        steps.keep_going();
    }
    prepare(workspace, steps)?;
    let (part, turn, note) = options.part();
    steps.note(note);
    let daily: [Lane; 15] = [
        &|steps| check::without_build(workspace, steps),
        &|steps| audit::run(workspace, steps, &audit::Options::default()),
        &|steps| test::run(steps, &test::Options::default()),
        &|steps| test::suites_in_release(workspace, steps, &test::Options::default()),
        &|steps| test::optimised(steps, &test::Options::default(), part),
        &|steps| check::clippy(steps),
        &|steps| doc::run(steps),
        &|steps| header::check(workspace, steps),
        &|steps| package::run(workspace, steps),
        &|steps| c::run(workspace, steps, &c::Options::of(part)),
        &|steps| gdb::run(workspace, steps, &gdb::Options::built()),
        &|steps| policies::run(workspace, steps, &policies::Options::of(part)),
        &|steps| pollers::run(steps, &pollers::Options::of(part)),
        &|steps| loom::run(workspace, steps, &loom::Options::default()),
        &|steps| instructions::run(workspace, steps, &instructions::Options::default()),
    ];
    // What takes long, and seldom fails where the others pass, has its day.
    let by_turns: [(&str, &[Lane]); PARTS] = [
        (
            "sanitize, features, types",
            &[
                &|steps| sanitize::run(workspace, steps),
                &|steps| features::run(workspace, steps),
                &|steps| types::run(workspace, steps),
            ],
        ),
        (
            "guide, clients, links, threads",
            &[
                &|steps| guide::run(workspace, steps, &guide::Options::built()),
                &|steps| clients::run(steps, &clients::Options::default()),
                &|steps| links::run(workspace, steps, &links::Options::default()),
                &|steps| threads::run(workspace, steps, &threads::Options::default()),
            ],
        ),
        (
            "documents in release, hwloc, bench, arm",
            &[
                &|steps| test::documents_in_release(steps, &test::Options::default()),
                &|steps| test::hwloc(steps),
                &|steps| bench::run(workspace, steps, &bench::Options::smoke(turn)),
                &|steps| arm::run(workspace, steps),
            ],
        ),
    ];
    let lanes = todays(steps, &daily, &by_turns, part);
    run_all(steps, &lanes, options.keep_going)
}

/// Fails without the tools; says so if there is little room.
fn prepare(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.check("ci: tools", || {
        for tool in TOOLS {
            require_program(tool, "`.ci/run` installs it")?;
        }
        Ok(TOOLS.join(", "))
    })?;
    if let Some(note) = little_room(workspace.room()?) {
        steps.note(note);
    }
    Ok(())
}

/// The lanes of a part of the days: those of each day, and those that have their turn.
fn todays<'a>(
    steps: &mut Steps,
    daily: &[Lane<'a>],
    by_turns: &[(&str, &[Lane<'a>])],
    part: Part,
) -> Vec<Lane<'a>> {
    let mut lanes = daily.to_vec();
    for (turn, (names, its)) in by_turns.iter().enumerate() {
        match part.has(turn) {
            true => lanes.extend_from_slice(its),
            false => steps.note(format!("not in this part: {names}")),
        }
    }
    lanes
}

/// Runs one lane after another. Those after one that has failed run only `to_the_end`; the error is
/// that of the first.
fn run_all(steps: &mut Steps, lanes: &[Lane], to_the_end: bool) -> Result<()> {
    let mut outcome = Ok(());
    for lane in lanes {
        let result = lane(steps);
        if let (Err(error), true) = (&result, to_the_end) {
            steps.note(format!("FAILED: {error:#}"));
        }
        outcome = outcome.and(result);
        if outcome.is_err() && !to_the_end {
            break;
        }
    }
    outcome
}

/// What to say of a disk with this much room, if it may be too little.
fn little_room(room: u64) -> Option<String> {
    let in_gib = |bytes: u64| bytes >> 30;
    (room < ROOM).then(|| {
        format!(
            "the disk has room for {} GiB, and all steps may need {}: a step that fails may lack room",
            in_gib(room),
            in_gib(ROOM)
        )
    })
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_day_chooses_the_part() {
        let options = |all, day| Options {
            budget_minutes: 1,
            all,
            keep_going: false,
            day,
        };
        assert_eq!(options(true, None).part().0, Part::default());
        let (part, turn, _) = options(false, Some(7)).part();
        assert_eq!((part, turn), (Part::of_day(7), Part::of_turn(7)));
    }

    /// All lanes run within the parts, those by turns once, and all at once if that is asked for.
    #[test]
    fn each_lane_has_its_day() {
        let lane: Lane = &|_| Ok(());
        let by_turns: [(&str, &[Lane]); PARTS] =
            [("a", &[lane]), ("b", &[lane, lane]), ("c", &[lane])];
        let count = |part| todays(&mut Steps::new(), &[lane; 5], &by_turns, part).len();
        assert_eq!(count(Part::default()), 9);
        let days = (0..PARTS as u64).map(|day| count(Part::of_day(day)));
        assert_eq!(days.collect::<Vec<_>>(), [6, 7, 6]);
    }

    #[test]
    fn lanes_after_a_failure_run_when_asked_to() {
        let passes: Lane = &|steps| steps.check("one", || Ok(String::new()));
        let fails: Lane = &|_| bail!("the first");
        let fails_too: Lane = &|_| bail!("the second");
        for (to_the_end, count) in [(false, 1), (true, 2)] {
            let mut steps = Steps::new();
            let lanes = [passes, fails, passes, fails_too];
            let error = run_all(&mut steps, &lanes, to_the_end).unwrap_err();
            assert_eq!(error.to_string(), "the first");
            assert_eq!(steps.count(), count);
        }
    }

    #[test]
    fn a_disk_with_little_room_is_told_of() {
        assert_eq!(little_room(ROOM), None);
        let note = little_room(3 << 30).unwrap();
        assert!(note.contains("room for 3 GiB"), "{note}");
    }

    #[test]
    fn the_disk_can_be_asked() {
        assert!(Workspace::find().unwrap().room().unwrap() > 0);
    }
}
