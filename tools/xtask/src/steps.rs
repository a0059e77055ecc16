//! Runs commands one after another and keeps the account of them.
//!
//! A *step* is one command or one check of our own under a title. The command line is printed
//! before it runs, with the environment it adds, so that it can be repeated by hand. The first
//! failure ends the lane: its error goes up, and the summary lists what ran, what failed and how
//! long each took.
//!
//! A step of tests must have run at least one test: a lane without tests fails instead of passing.
//!
//! With a *second chance* the few tests of a step that failed run once more, by themselves. If they
//! pass then, so does the step, and the summary names them: each shows a fault, of a test or of
//! what it tests, which somebody has to find. That is for the build machine, where one such test
//! among thousands would keep all else from being seen; a person wants the failure.
//!
//! With a *budget* every command runs under `timeout` with what is left of it. Thus a hang ends in
//! a failure that names the step, not in silence.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::commands::{cannot_start, judge, print_command, under_budget};
use crate::programs::{self, Program};
use crate::side_by_side::{Tests, side_by_side};
use crate::verdict::{Verdict, decide, run_and_read, to_the_end};

/// The account of the steps run so far.
pub(crate) struct Steps {
    /// What ran, in order.
    entries: Vec<Entry>,
    /// What a reader of the summary must know besides.
    notes: Vec<String>,
    /// When the first step could start.
    started: Instant,
    /// The time all steps together may take.
    budget: Option<Duration>,
    /// The time they are meant to take.
    intended: Option<Duration>,
    /// Whether tests that failed run once more.
    second_chance: bool,
    /// Whether programs of tests run after one that has failed.
    keeps_going: bool,
}

/// One step that has ended.
struct Entry {
    /// Lane and subject, as printed in its heading.
    title: String,
    /// Wall time.
    took: Duration,
    /// A remark such as the number of tests, or `None` after a failure.
    outcome: Option<String>,
}

impl Steps {
    /// An empty account without a budget.
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            notes: Vec::new(),
            started: Instant::now(),
            budget: None,
            intended: None,
            second_chance: false,
            keeps_going: false,
        }
    }

    /// Has tests that failed run once more.
    pub(crate) fn give_second_chance(&mut self) {
        self.second_chance = true;
    }

    /// Has programs of tests run after one that has failed.
    pub(crate) fn keep_going(&mut self) {
        self.keeps_going = true;
    }

    /// How many steps have ended.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Limits the wall time of all steps together, those before included. The summary says so if
    /// they take longer than they are meant to.
    pub(crate) fn set_budget(&mut self, intended: Duration, budget: Duration) {
        self.intended = Some(intended);
        self.budget = Some(budget);
    }

    /// Runs a command that must succeed.
    pub(crate) fn run(&mut self, title: &str, command: Command) -> Result<()> {
        self.step(title, |budget| {
            print_command(&command);
            let mut command = under_budget(&command, budget);
            let status = command.status().with_context(|| cannot_start(&command))?;
            judge(status)?;
            Ok(String::new())
        })
    }

    /// Runs a `cargo test` command that must succeed and, if `some_must_run`, must have passed at
    /// least one test.
    pub(crate) fn run_tests(
        &mut self,
        title: &str,
        command: Command,
        some_must_run: bool,
    ) -> Result<()> {
        self.run_programs(title, command, usize::from(some_must_run))
    }

    /// Runs a `cargo test` command that must succeed, in at least so many programs with a test that
    /// has passed.
    pub(crate) fn run_programs(
        &mut self,
        title: &str,
        command: Command,
        least: usize,
    ) -> Result<()> {
        let command = self.chosen(command);
        let second_chance = self.second_chance;
        self.step(title, |budget| {
            let started = Instant::now();
            let (verdict, status) = run_and_read(&command, budget)?;
            let left = budget.map(|budget| budget.saturating_sub(started.elapsed()));
            let failed = decide(&command, &verdict, status, second_chance, left)?;
            remark(&verdict, &failed, least)
        })
    }

    /// [`run_programs`](Self::run_programs), of such tests.
    pub(crate) fn run_one(&mut self, tests: Tests) -> Result<()> {
        self.run_programs(&tests.title, tests.command, tests.least)
    }

    /// The command as it is run.
    fn chosen(&self, command: Command) -> Command {
        match self.second_chance {
            true => to_the_end(&command),
            false => command,
        }
    }

    /// Runs commands of tests, a few at a time. Each is a step as in
    /// [`run_programs`](Self::run_programs). None is begun after one has failed, unless all run to
    /// the end.
    pub(crate) fn run_side_by_side(&mut self, all: impl IntoIterator<Item = Tests>) -> Result<()> {
        let (second_chance, until) = (self.second_chance, self.until());
        let all: Vec<Tests> = all.into_iter().map(|tests| self.prepared(tests)).collect();
        let mut failures = Failures::of(self);
        side_by_side(all, until, |ended| {
            let (title, took) = (ended.tests.title.clone(), ended.took);
            let outcome = ended
                .judge(second_chance, until)
                .and_then(|(verdict, failed, least)| remark(&verdict, &failed, least));
            println!("<== {title}: {}", in_seconds(took));
            let entered = self.enter(&title, took, outcome);
            failures.take(entered)
        })?;
        failures.told()
    }

    /// Runs commands of tests, a few at a time, as one step.
    pub(crate) fn run_as_one(&mut self, title: &str, all: Vec<Tests>) -> Result<()> {
        let (second_chance, until) = (self.second_chance, self.until());
        let all: Vec<Tests> = all.into_iter().map(|tests| self.prepared(tests)).collect();
        let mut failures = Failures::of(self);
        self.step(title, |_| {
            let (mut passed, mut programs, mut failed_once) = (0, 0, Vec::new());
            side_by_side(all, until, |ended| {
                let title = ended.tests.title.clone();
                let outcome = ended.judge(second_chance, until);
                let outcome = outcome.and_then(|(verdict, failed, least)| {
                    remark(&verdict, &failed, least)?;
                    passed += verdict.passed + failed.len() as u64;
                    programs += 1;
                    failed_once.extend(failed);
                    Ok(())
                });
                failures.take(outcome.context(title))
            })?;
            failures.told()?;
            Ok(match &failed_once[..] {
                [] => format!("{passed} tests passed in {programs} programs"),
                failed => format!(
                    "{passed} tests passed, but FAILED ONCE: {}",
                    failed.join(", ")
                ),
            })
        })
    }

    /// The same tests, by the command that is run.
    fn prepared(&self, tests: Tests) -> Tests {
        let command = self.chosen(tests.command);
        Tests { command, ..tests }
    }

    /// When the budget is used up.
    fn until(&self) -> Option<Instant> {
        self.budget.map(|budget| self.started + budget)
    }

    /// Builds tests, and returns their programs.
    pub(crate) fn build_tests(&mut self, title: &str, command: Command) -> Result<Vec<Program>> {
        let mut programs = Vec::new();
        self.step(title, |budget| {
            print_command(&command);
            programs = programs::build(&mut under_budget(&command, budget))?;
            Ok(format!("{} programs", programs.len()))
        })?;
        Ok(programs)
    }

    /// Runs a check of our own; what it returns is its remark in the summary.
    pub(crate) fn check(
        &mut self,
        title: &str,
        check: impl FnOnce() -> Result<String>,
    ) -> Result<()> {
        self.step(title, |_| check())
    }

    /// Prints a line and repeats it in the summary.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("note: {text}");
        self.notes.push(text);
    }

    /// Prints what ran and how long it took.
    pub(crate) fn print_summary(&self) {
        println!("\n==> summary");
        for entry in &self.entries {
            let verdict = if entry.outcome.is_some() {
                "ok"
            } else {
                "FAILED"
            };
            let took = in_seconds(entry.took);
            let remark = entry.outcome.as_deref().unwrap_or_default();
            println!("  {verdict:<6} {took:>8}  {:<42} {remark}", entry.title);
        }
        for note in &self.notes {
            println!("  note: {note}");
        }
        let took = self.started.elapsed();
        let total = in_seconds(took);
        match self.intended {
            Some(intended) => println!("  total  {total:>8}  of {}", in_seconds(intended)),
            None => println!("  total  {total:>8}"),
        }
        if self.intended.is_some_and(|intended| took > intended) {
            println!(
                "  note: this took longer than it is meant to; something has to become shorter"
            );
        }
    }

    /// Prints the heading, runs `body` with what is left of the budget, enters the result.
    fn step(
        &mut self,
        title: &str,
        body: impl FnOnce(Option<Duration>) -> Result<String>,
    ) -> Result<()> {
        println!("\n==> {title}");
        let left = self.left();
        let started = Instant::now();
        let result = body(left);
        let took = started.elapsed();
        println!("<== {title}: {}", in_seconds(took));
        self.enter(title, took, result)
    }

    /// What is left of the budget, if there is one.
    fn left(&self) -> Option<Duration> {
        self.budget
            .map(|budget| budget.saturating_sub(self.started.elapsed()))
    }

    /// Enters the result of a step.
    fn enter(&mut self, title: &str, took: Duration, result: Result<String>) -> Result<()> {
        let (outcome, result) = match result {
            Ok(remark) => (Some(remark), Ok(())),
            Err(error) => (None, Err(error.context(title.to_owned()))),
        };
        self.entries.push(Entry {
            title: title.to_owned(),
            took,
            outcome,
        });
        result
    }
}

/// Failures of programs of tests: the first ends them all, unless they run to the end.
struct Failures {
    to_the_end: bool,
    all: Vec<String>,
}

impl Failures {
    /// Begins without a failure.
    fn of(steps: &Steps) -> Self {
        Self {
            to_the_end: steps.keeps_going,
            all: Vec::new(),
        }
    }

    /// Takes how one has ended. An error: no other one shall run.
    fn take(&mut self, outcome: Result<()>) -> Result<()> {
        match outcome {
            Err(error) if self.to_the_end => {
                println!("note: FAILED: {error:#}");
                self.all.push(format!("{error:#}"));
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// An error with all failures, if there are any.
    fn told(self) -> Result<()> {
        match &self.all[..] {
            [] => Ok(()),
            [one] => bail!("{one}"),
            all => bail!("{} programs failed: {}", all.len(), all.join("; ")),
        }
    }
}

/// What to say of a step of tests: an error if those of fewer programs ran than had to.
fn remark(verdict: &Verdict, failed: &[String], least: usize) -> Result<String> {
    let passed = verdict.passed + failed.len() as u64;
    if least > 0 && passed == 0 {
        bail!("not a single test ran");
    }
    // One with tests that have all passed only when they ran once more counts, too.
    if verdict.programs + failed.len() < least {
        bail!(
            "tests of {} programs ran, of {least} they should",
            verdict.programs
        );
    }
    Ok(match failed {
        [] => format!("{passed} tests passed"),
        failed => format!(
            "{passed} tests passed, but FAILED ONCE: {}",
            failed.join(", ")
        ),
    })
}

/// Seconds with one decimal below a minute, minutes and seconds above.
fn in_seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1}s", time.as_secs_f64())
    } else {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_tests_without_tests_fails() {
        let mut steps = Steps::new();
        let mut command = Command::new("echo");
        command.arg("test result: ok. 0 passed; 0 failed");
        let error = steps.run_tests("empty", command, true).unwrap_err();
        assert_eq!(format!("{error:#}"), "empty: not a single test ran");
        assert!(steps.entries[0].outcome.is_none());
    }

    #[test]
    fn a_step_in_which_a_program_has_lost_its_tests_fails() {
        let one = "test result: ok. 3 passed; 0 failed\ntest result: ok. 0 passed; 0 failed";
        let run = |least: usize| {
            let mut command = Command::new("echo");
            command.arg(one);
            Steps::new().run_programs("two", command, least)
        };
        run(1).unwrap();
        let error = format!("{:#}", run(2).unwrap_err());
        assert_eq!(error, "two: tests of 1 programs ran, of 2 they should");
    }

    #[test]
    fn those_at_once_are_steps_of_their_own() {
        let say = |text: &str| {
            let mut command = Command::new("echo");
            command.arg(text);
            command
        };
        let passes = || say("test result: ok. 3 passed;");
        let mut steps = Steps::new();
        let mut run = |commands: Vec<Command>| {
            let titles = ["one", "two", "three", "four"].map(str::to_owned);
            let all = titles.into_iter().zip(commands);
            let result = steps.run_side_by_side(all.map(|(title, command)| Tests {
                title,
                command,
                least: 1,
            }));
            let entries = std::mem::take(&mut steps.entries).into_iter();
            let outcomes = entries.map(|entry| (entry.title, entry.outcome.is_some()));
            (result, outcomes.collect::<Vec<_>>())
        };
        for count in 1..=4 {
            let (result, outcomes) = run((0..count).map(|_| passes()).collect());
            result.unwrap();
            assert!(outcomes.len() == count && outcomes.iter().all(|(_, passed)| *passed));
        }
        for (failing, named) in ["one", "two", "three"].into_iter().enumerate() {
            for failure in [say_nothing, || Command::new("false")] {
                let mut commands: Vec<_> = (0..4).map(|_| passes()).collect();
                commands[failing] = failure();
                let (result, outcomes) = run(commands);
                let error = result.unwrap_err();
                assert!(format!("{error:#}").starts_with(named), "{error:#}");
                // Those that have begun are entered, and no other one failed.
                let passed = |(title, passed): &(String, bool)| *passed == (title != named);
                assert!(outcomes.iter().any(|(title, _)| title == named));
                assert!(outcomes.iter().all(passed), "{outcomes:?}");
            }
        }
    }

    /// Tests by a program with one argument, which is their title.
    fn tests(program: &str, argument: &str, least: usize) -> Tests {
        let mut command = Command::new(program);
        command.arg(argument);
        Tests {
            title: argument.to_owned(),
            command,
            least,
        }
    }

    #[test]
    fn none_is_begun_after_one_has_failed() {
        let mut steps = Steps::new();
        // The first one has no tests. Whoever ran it may begin another one before that is known.
        let others = (0..20).map(|_| tests("sleep", "0.3", 0));
        let all = std::iter::once(tests("sleep", "0", 1)).chain(others);
        assert!(steps.run_side_by_side(all).is_err());
        assert!(steps.entries.len() <= 4, "{}", steps.entries.len());
    }

    #[test]
    fn all_are_begun_and_told_if_they_run_to_the_end() {
        let mut steps = Steps::new();
        steps.keep_going();
        let four = || {
            let passes = || tests("echo", "test result: ok. 1 passed;", 1);
            let fails = |title| tests("echo", title, 1);
            [fails("one"), passes(), fails("two"), passes()]
        };
        let error = steps.run_side_by_side(four()).unwrap_err().to_string();
        assert_eq!(steps.entries.len(), 4);
        let error_of_one_step = steps.run_as_one("all", four().into()).unwrap_err();
        for text in [error, format!("{error_of_one_step:#}")] {
            assert!(text.contains("2 programs failed: "), "{text}");
            for failed in ["one", "two"] {
                assert!(text.contains(&format!("{failed}: not a single test ran")));
            }
        }
    }

    #[test]
    fn many_commands_may_be_one_step() {
        let three = || tests("echo", "test result: ok. 3 passed;", 1);
        let mut steps = Steps::new();
        let all = vec![three(), tests("echo", "nothing", 0), three()];
        steps.run_as_one("all", all).unwrap();
        let outcome = steps.entries[0].outcome.as_deref();
        assert_eq!(outcome, Some("6 tests passed in 3 programs"));
        let error = steps.run_as_one("all", vec![three(), tests("echo", "nothing", 1)]);
        let error = format!("{:#}", error.unwrap_err());
        assert_eq!(error, "all: nothing: not a single test ran");
    }

    /// A command without a test.
    fn say_nothing() -> Command {
        let mut command = Command::new("echo");
        command.arg("nothing");
        command
    }

    #[test]
    fn a_command_that_fails_fails_its_step() {
        let mut steps = Steps::new();
        assert!(steps.run("fails", Command::new("false")).is_err());
        assert!(steps.run("passes", Command::new("true")).is_ok());
        assert!(
            steps
                .run("missing", Command::new("no-such-program"))
                .is_err()
        );
    }

    #[test]
    fn a_used_up_budget_ends_the_command_and_says_so() {
        let mut steps = Steps::new();
        steps.set_budget(Duration::ZERO, Duration::ZERO);
        let mut command = Command::new("sleep");
        command.arg("60");
        let error = steps.run("sleeps", command).unwrap_err();
        assert!(format!("{error:#}").contains("budget"));
    }

    #[test]
    fn long_times_are_in_minutes() {
        assert_eq!(in_seconds(Duration::from_millis(1500)), "1.5s");
        assert_eq!(in_seconds(Duration::from_secs(125)), "2m05s");
    }
}
