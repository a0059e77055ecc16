//! Runs scenarios with a fault planted, until one finds it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::mutants::programs::{CHOICE, REACHED, kill};
use crate::mutants::scratch::Binary;

/// How many seeds find out what a scenario comes to.
const LOOK: u64 = 30;

/// How many seeds are tried with all scenarios first.
const FEW: u64 = 60;

/// The most scenarios that try a fault with few seeds, and with all.
const MOST: [usize; 2] = [12, 3];

/// How long a program may say nothing: much longer than all seeds of a scenario take.
const SILENCE: Duration = Duration::from_secs(120);

/// What makes a fault act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// This one, by its name.
    Planted(String),
    /// The mutant of this number.
    Mutant(usize),
}

/// A scenario, and what it comes to.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    mutants: BTreeSet<usize>,
    planted: BTreeSet<String>,
}

/// How a fault was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) scenario: String,
    pub(crate) schedule: String,
    /// How many schedules of this kind it took; unknown if the process has ended.
    pub(crate) schedules: Option<u64>,
    pub(crate) words: String,
}

/// What came of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Found(Found),
    /// So many scenarios have tried.
    NotFound(usize),
    /// No scenario comes to it.
    NotReached,
}

impl Scenario {
    /// Whether it comes to a fault.
    fn comes_to(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Planted(name) => self.planted.contains(name),
            Choice::Mutant(number) => self.mutants.contains(number),
        }
    }

    /// How much it comes to.
    fn width(&self) -> usize {
        self.mutants.len() + self.planted.len()
    }
}

/// All scenarios of the program, each run without a fault to see what it comes to. `count` is how
/// many numbers of mutants there are.
pub(crate) fn look(program: &Binary, count: usize, folder: &Path) -> Result<Vec<Scenario>> {
    let list = Command::new(&program.path).arg("list").output()?;
    ensure!(
        list.status.success(),
        "the program does not list its scenarios"
    );
    let (marks, asked) = (folder.join("reached"), folder.join("asked"));
    let look = |name: &str| {
        fs::write(&marks, vec![0; count])?;
        fs::write(&asked, "")?;
        let found = run(program, LOOK, &[name], |command| {
            command
                .env(REACHED, &marks)
                .env("FIBRE_PLANTED_ASKED", &asked);
        })?;
        ensure!(found.is_none(), "without a fault: {found:?}");
        let marked = fs::read(&marks)?.into_iter().enumerate();
        let planted = fs::read_to_string(&asked)?;
        Ok(Scenario {
            name: name.to_owned(),
            mutants: marked
                .filter(|(_, mark)| *mark != 0)
                .map(|(n, _)| n)
                .collect(),
            planted: planted.lines().map(str::to_owned).collect(),
        })
    };
    let names = String::from_utf8(list.stdout)?;
    names.lines().map(look).collect()
}

/// All names of faults that scenarios come to.
pub(crate) fn all_planted(scenarios: &[Scenario]) -> BTreeSet<&str> {
    let planted = scenarios.iter().flat_map(|scenario| &scenario.planted);
    planted.map(String::as_str).collect()
}

/// Whether any scenario comes to a fault.
pub(crate) fn is_reached(scenarios: &[Scenario], choice: &Choice) -> bool {
    scenarios.iter().any(|scenario| scenario.comes_to(choice))
}

/// Tries a fault: with few seeds by all scenarios that come to it, then with all by the narrowest.
pub(crate) fn judge(
    program: &Binary,
    scenarios: &[Scenario],
    choice: &Choice,
    seeds: u64,
) -> Result<Verdict> {
    let reach = scenarios
        .iter()
        .filter(|scenario| scenario.comes_to(choice));
    let mut reach: Vec<_> = reach.collect();
    reach.sort_by_key(|scenario| scenario.width());
    let names: Vec<&str> = reach
        .iter()
        .map(|scenario| scenario.name.as_str())
        .collect();
    for (most, seeds) in MOST.into_iter().zip([FEW.min(seeds), seeds]) {
        let names = &names[..most.min(names.len())];
        if names.is_empty() {
            return Ok(Verdict::NotReached);
        }
        let found = run(program, seeds, names, |command| {
            match choice {
                Choice::Planted(name) => command.env("FIBRE_PLANTED", name),
                Choice::Mutant(number) => command.env(CHOICE, number.to_string()),
            };
        })?;
        if let Some(found) = found {
            return Ok(Verdict::Found(found));
        }
    }
    Ok(Verdict::NotFound(names.len().min(MOST[1])))
}

/// Runs scenarios until one fails; says which.
fn run(
    program: &Binary,
    seeds: u64,
    names: &[&str],
    prepare: impl FnOnce(&mut Command),
) -> Result<Option<Found>> {
    let mut command = Command::new(&program.path);
    command.arg(seeds.to_string()).args(names);
    command.env("RUST_BACKTRACE", "0").process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    prepare(&mut command);
    let mut child = command.spawn().context("cannot start the program")?;
    let output = child.stdout.take().context("no output")?;
    let (said, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines
            .take_while(|line| said.send(line.clone()).is_ok())
            .for_each(drop);
    });
    let mut account = Account::default();
    let hangs = loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => account.note(&line),
            Err(silence) => break silence == RecvTimeoutError::Timeout,
        }
    };
    // Its threads may be stuck.
    kill(&format!("-{}", child.id()));
    let status = child.wait()?;
    let _ = reader.join();
    let ended = match (hangs, status.signal()) {
        (true, _) => "it hangs".to_owned(),
        (false, Some(signal)) => format!("the process ends by signal {signal}"),
        (false, None) => "the process ends".to_owned(),
    };
    Ok(account.found(ended))
}

/// What a program has said so far.
#[derive(Debug, Default)]
struct Account {
    /// The scenario and the schedule that it is at, if it has not said how these ended.
    at: Option<(String, String)>,
    found: Option<Found>,
}

impl Account {
    /// Notes a line.
    fn note(&mut self, line: &str) {
        if let Some((scenario, schedule)) = line
            .strip_prefix("run ")
            .and_then(|at| at.split_once(" | "))
        {
            self.at = Some((scenario.to_owned(), schedule.to_owned()));
        } else if line.starts_with("passed ") {
            self.at = None;
        } else if let Some((count, words)) = line
            .strip_prefix("found ")
            .and_then(|of| of.split_once(' '))
        {
            let (scenario, schedule) = self.at.take().unwrap_or_default();
            self.found = Some(Found {
                scenario,
                schedule,
                schedules: count.parse().ok(),
                words: words.to_owned(),
            });
        }
    }

    /// What was found, if the program has ended so.
    fn found(self, ended: String) -> Option<Found> {
        let (scenario, schedule) = match (self.found, self.at) {
            (Some(found), _) => return Some(found),
            (None, at) => at?,
        };
        Some(Found {
            scenario,
            schedule,
            schedules: None,
            words: ended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an account of these lines says.
    fn account(lines: &[&str]) -> Option<Found> {
        let mut account = Account::default();
        lines.iter().for_each(|line| account.note(line));
        account.found("it hangs".to_owned())
    }

    #[test]
    fn an_account_has_what_was_found_and_where_it_ended() {
        assert_eq!(account(&["run a b | POS", "passed 10 in 3 s"]), None);
        let found = |schedules, words: &str| {
            Some(Found {
                scenario: "c".to_owned(),
                schedule: "PCT".to_owned(),
                schedules,
                words: words.to_owned(),
            })
        };
        let lines = ["run a b | POS", "passed 10 in 3 s", "run c | PCT"];
        assert_eq!(account(&lines), found(None, "it hangs"));
        let lines = ["run c | PCT", "found 7 a lock is lost"];
        assert_eq!(account(&lines), found(Some(7), "a lock is lost"));
    }
}
