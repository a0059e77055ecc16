//! Runs the tests of a mutant, from the narrowest to the widest, until one fails.

use std::time::Duration;

use anyhow::Result;

use crate::mutants::programs::{self, CHOICE, Outcome, Program, Test};
use crate::mutants::results::Verdict;
use crate::mutants::scratch::{Binary, File};

/// How much longer than the longest of them did without a mistake tests may take until one of them
/// ends, before they are taken to hang.
const PATIENCE: u32 = 10;

/// The programs that should see a mutant of this file: the shorter ones first, suites last.
fn lane<'a>(
    programs: &'a [Program],
    file: &File,
    number: usize,
) -> Vec<(&'a Program, Vec<&'a Test>)> {
    let ours = |program: &&Program| file.subject.is_tested_by(&program.binary.name);
    let mut lane: Vec<_> = programs
        .iter()
        .filter(ours)
        .map(|program| (program, program.tests_of(number)))
        .filter(|(_, tests)| !tests.is_empty())
        .collect();
    lane.sort_by_key(|(program, tests)| {
        let suite = file.subject.suites.contains(&program.binary.name.as_str());
        let took: Duration = tests.iter().map(|test| test.took).sum();
        (suite, took)
    });
    lane
}

/// Whether the tests see the mutant of this number.
pub(crate) fn judge(programs: &[Program], file: &File, number: usize) -> Result<Verdict> {
    let lane = lane(programs, file, number);
    if lane.is_empty() {
        return Ok(Verdict::Unreached);
    }
    for (program, tests) in lane {
        let longest = tests.iter().map(|test| test.took).max().unwrap_or_default();
        let limit = longest * PATIENCE + Duration::from_secs(10);
        let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let (test, suspects) = match run(&program.binary, &names, number, limit)? {
            Outcome::Passed => continue,
            Outcome::Failed(test) => (test.clone(), vec![test]),
            Outcome::Stuck(tests) => ("(hangs, or ends the process)".to_owned(), tests),
        };
        // Models have no chance in them. Another one that fails without the mistake, too, has seen
        // nothing.
        let suspects: Vec<&str> = suspects.iter().map(String::as_str).collect();
        if program.is_model() || run(&program.binary, &suspects, 0, limit)? == Outcome::Passed {
            return Ok(Verdict::Killed(format!("{} {test}", program.binary.name)));
        }
    }
    Ok(Verdict::Survived)
}

/// Runs these tests with a mistake, or with none.
fn run(binary: &Binary, tests: &[&str], number: usize, limit: Duration) -> Result<Outcome> {
    programs::run(binary, tests, limit, |command| {
        command.env(CHOICE, number.to_string());
    })
}
