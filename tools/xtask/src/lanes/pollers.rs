//! `pollers`: the tests of I/O with every poller.
//!
//! The poller is a builder value with a default from the environment, so the same test binaries run
//! once per poller. The switches of I/O take turns, each value with several pollers, and so do some
//! policies of the scheduler. What a poller promises beyond that, `tests/descriptors/io/pollers.rs`
//! tests for each of them by itself.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::choices::{self, Choice};
use crate::lanes::part::{PARTS, Part};
use crate::lanes::test;
use crate::side_by_side::Tests;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// The table of all of them.
const TABLE: &str = "fibre-core/src/config/pollers.rs";

/// The choices that are enums and take turns: of the values of each the next one comes after so
/// many pollers.
const CHOICES: [(&Choice, usize); 2] = [(&choices::QUEUE, 2), (&choices::PLACEMENT, 1)];

/// What else takes turns: variables, and their values; the next one comes after so many pollers.
const OTHERS: [(&str, usize, &[&str]); 5] = [
    ("FIBRE_BATCHED_UNBLOCKING", 1, &["1", "0"]),
    ("FIBRE_YIELD_BEFORE_READ", 2, &["1", "0"]),
    ("FIBRE_LAZY_REGISTRATION", 4, &["1", "0"]),
    ("FIBRE_TEST_MOVES", 1, &["never", "started", "forced"]),
    ("FIBRE_TEST_PROCESSORS", 1, &["1,2", "4", "1,2", "16"]),
];

/// The program of the suites that make fibres wait for descriptors.
const PROGRAM: &str = "descriptors";

/// Passed to the test binaries.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// The rows that take turns
    #[arg(skip)]
    part: Part,
    /// A name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// Options that run a part of the rows.
    pub(crate) fn of(part: Part) -> Self {
        Self {
            part,
            ..Self::default()
        }
    }
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = tests();
    build.arg("--no-run");
    steps.run("pollers: build", build)?;
    let workspace = Workspace::find()?;
    let table = std::fs::read_to_string(workspace.root().join(TABLE))?;
    let turns = turns(&workspace)?;
    let rows = names(&table).enumerate();
    let rows = rows.filter(|(row, _)| options.part.has(*row));
    let rows = rows.map(|(row, poller)| Tests {
        title: format!("pollers: {poller}"),
        command: with_poller(row, poller, &turns, options),
        least: usize::from(options.arguments.is_empty()),
    });
    steps.run_side_by_side(rows)
}

/// A variable with values that take turns.
struct Turn {
    /// The variable.
    variable: &'static str,
    /// How many pollers have the same value.
    pollers: usize,
    /// The values.
    values: Vec<String>,
}

impl Turn {
    /// The value for a row.
    fn value(&self, row: usize) -> &str {
        let values = self.values.len();
        // The rows of one day are PARTS apart, and would all have one of so many values.
        let more = if values.is_multiple_of(PARTS) {
            row / PARTS
        } else {
            0
        };
        &self.values[(row / self.pollers + more) % values]
    }
}

/// All that takes turns.
fn turns(workspace: &Workspace) -> Result<Vec<Turn>> {
    let choices = CHOICES.iter().map(|(choice, pollers)| {
        Ok(Turn {
            variable: choice.variable,
            pollers: *pollers,
            values: choice.names(workspace.root())?,
        })
    });
    let others = OTHERS.iter().map(|(variable, pollers, values)| {
        Ok(Turn {
            variable,
            pollers: *pollers,
            values: values.iter().map(ToString::to_string).collect(),
        })
    });
    choices.chain(others).collect()
}

/// The names in the table: each row begins with a variant of the enum and its name.
fn names(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter_map(|line| {
        let (variant, rest) = line.trim_start().split_once(", \"")?;
        let (name, _) = rest.split_once("\", ")?;
        let is_row = variant.chars().all(char::is_alphanumeric);
        is_row.then_some(name)
    })
}

/// The command that runs the suites.
fn tests() -> Command {
    let mut command = test::suites();
    command.args(["--quiet", "--test", PROGRAM]);
    command
}

/// The command that runs the suites with a poller, and the switches for its row.
fn with_poller(row: usize, poller: &str, turns: &[Turn], options: &Options) -> Command {
    let mut command = tests();
    command.env("FIBRE_POLLER", poller);
    for turn in turns {
        command.env(turn.variable, turn.value(row));
    }
    command.args(["--", "--skip", "pollers::"]);
    command.args(&options.arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_there() {
        let root = Workspace::find().unwrap();
        let there = test::suites_of(root.root(), PROGRAM).unwrap();
        assert!(!there.is_empty());
    }

    #[test]
    fn rows_are_found() {
        let table =
            "//! \"no\", row\n  A, \"a-b\", a::start,\n  \"of, \"a\", b\";\n  B2, \"c\", c, \"d\";";
        assert!(names(table).eq(["a-b", "c"]));
    }

    /// Every value of every variable has its row, also those of a kind that is new.
    #[test]
    fn no_value_is_left_out() {
        let workspace = Workspace::find().unwrap();
        let table = std::fs::read_to_string(workspace.root().join(TABLE)).unwrap();
        let rows = names(&table).count();
        for turn in turns(&workspace).unwrap() {
            let shown: Vec<&str> = (0..rows).map(|row| turn.value(row)).collect();
            for value in &turn.values {
                let variable = turn.variable;
                assert!(shown.contains(&value.as_str()), "{variable}: {value}");
            }
        }
    }

    /// What most tests of I/O depend on takes turns within each part, too.
    #[test]
    fn each_part_moves_fibres_in_all_ways() {
        let workspace = Workspace::find().unwrap();
        let table = std::fs::read_to_string(workspace.root().join(TABLE)).unwrap();
        let rows = names(&table).count();
        let all = turns(&workspace).unwrap();
        let moves = all
            .iter()
            .find(|turn| turn.variable == "FIBRE_TEST_MOVES")
            .unwrap();
        for part in 0..PARTS as u64 {
            let its = (0..rows).filter(|row| Part::of_day(part).has(*row));
            let shown: std::collections::BTreeSet<&str> = its.map(|row| moves.value(row)).collect();
            assert!(shown.len() > 1, "part {part}: {shown:?}");
        }
    }

    #[test]
    fn no_poller_is_left_out() {
        let root = Workspace::find().unwrap();
        let table = std::fs::read_to_string(root.root().join(TABLE)).unwrap();
        assert_eq!(names(&table).next(), Some("processors"));
        let is_row = |line: &&str| line.contains("::") && !line.starts_with("use ");
        let rows = table.lines().filter(is_row);
        assert_eq!(names(&table).count(), rows.count());
    }
}
