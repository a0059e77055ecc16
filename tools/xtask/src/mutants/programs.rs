//! Test programs, and the mutants that each test reaches.
//!
//! Each test runs once by itself, without a mistake, in a process that marks the mutants that it
//! asks for. Only these tests run for a mutant; one that no test comes to need not be tried.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::mutants::scratch::Binary;
use crate::mutants::subjects::MODELS;

/// The mutant that is to act.
pub(crate) const CHOICE: &str = "FIBRE_MUTANT";
/// A file that marks the mutants that are asked for.
pub(crate) const REACHED: &str = "FIBRE_MUTANTS_REACHED";

/// The longest that a test may take without a mistake; one that takes longer is not used.
const MAX_TIME: Duration = Duration::from_secs(20);

/// How long the tests of a suite may take together that try one mutant.
const ENOUGH: Duration = Duration::from_secs(30);

/// A test program, with its tests.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) binary: Binary,
    pub(crate) tests: Vec<Test>,
}

/// One test.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) name: String,
    /// How long it takes.
    pub(crate) took: Duration,
    /// The mutants that it comes to.
    pub(crate) reached: BTreeSet<usize>,
}

/// Runs each test of a program once. `count` is how many mutants there are.
pub(crate) fn look(binary: Binary, count: usize, folder: &Path) -> Result<Program> {
    let output = Command::new(&binary.path)
        .args(["--list", "--format=terse"])
        .args(&binary.module)
        .output()?;
    ensure!(
        output.status.success(),
        "{} does not list its tests",
        binary.name
    );
    let mut tests = Vec::new();
    let marks = folder.join(format!("reached-{}", binary.name));
    for name in listed(&output.stdout, binary.module.as_deref()) {
        fs::write(&marks, vec![0; count])?;
        let begun = Instant::now();
        let marking = |command: &mut Command| {
            command.env(REACHED, &marks);
        };
        if run(&binary, &[&name], MAX_TIME, marking)? != Outcome::Passed {
            println!("not used: {} {name}", binary.name);
            continue;
        }
        let marked = fs::read(&marks)?.into_iter().enumerate();
        let reached: BTreeSet<usize> = marked
            .filter(|(_, mark)| *mark != 0)
            .map(|(n, _)| n)
            .collect();
        if !reached.is_empty() {
            tests.push(Test {
                name,
                took: begun.elapsed(),
                reached,
            });
        }
    }
    println!("{}: {} tests come to mutants", binary.name, tests.len());
    Ok(Program { binary, tests })
}

/// The tests in a list of them, but for those of other modules.
fn listed(list: &[u8], module: Option<&str>) -> Vec<String> {
    let list = String::from_utf8_lossy(list);
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let ours = names.filter(|name| module.is_none_or(|module| name.starts_with(module)));
    ours.map(str::to_owned).collect()
}

/// What came of some tests that ran together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of them pass.
    Passed,
    /// This one fails.
    Failed(String),
    /// One of these hangs, or ends the process; the others have passed.
    Stuck(Vec<String>),
}

/// Runs tests of a program until one fails, or until none of them has ended for so long.
pub(crate) fn run(
    binary: &Binary,
    tests: &[&str],
    limit: Duration,
    prepare: impl FnOnce(&mut Command),
) -> Result<Outcome> {
    let mut command = Command::new(&binary.path);
    command
        .arg("--exact")
        .args(tests)
        .current_dir(&binary.folder);
    command.env("RUST_BACKTRACE", "0").process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    prepare(&mut command);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", binary.name))?;
    let output = child.stdout.take().context("no output")?;
    let (said, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(io::Result::ok);
        lines
            .take_while(|line| said.send(line.clone()).is_ok())
            .for_each(drop);
    });
    let mut left: Vec<String> = tests.iter().map(|test| (*test).to_owned()).collect();
    let mut failed = None;
    // One that has said all may not have ended yet, and is let.
    let ended = loop {
        match lines.recv_timeout(limit) {
            Ok(line) => failed = failed_test(&line, &mut left),
            Err(silence) => break silence == RecvTimeoutError::Disconnected,
        }
        if failed.is_some() {
            break false;
        }
    };
    if !ended {
        kill(&format!("-{}", child.id()));
    }
    let status = child.wait()?;
    drop(lines);
    let _ = reader.join();
    Ok(match failed {
        Some(test) => Outcome::Failed(test),
        None if status.success() => Outcome::Passed,
        None if left.is_empty() => Outcome::Stuck(tests.iter().map(ToString::to_string).collect()),
        None => Outcome::Stuck(left),
    })
}

/// Ends a process with all that it has started.
pub(crate) fn kill(group: &str) {
    let mut command = Command::new("kill");
    command.args(["-KILL", "--", group]).stderr(Stdio::null());
    let _ = command.status();
}

/// The test that has failed, as this line says. Those that have passed are `left` no more.
fn failed_test(line: &str, left: &mut Vec<String>) -> Option<String> {
    let (test, word) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let test = test.trim_end_matches(" - should panic");
    if word == "ok" {
        left.retain(|other| other != test);
    }
    (word == "FAILED").then(|| test.to_owned())
}

impl Program {
    /// The tests that try a mutant: all that come to it. In suites these are often nearly all there
    /// are, so those are chosen that come to the fewest mutants, as many as end within some time.
    pub(crate) fn tests_of(&self, number: usize) -> Vec<&Test> {
        let tests = self.tests.iter();
        let mut tests: Vec<&Test> = tests
            .filter(|test| test.reached.contains(&number))
            .collect();
        if self.is_suite() {
            tests.sort_by_key(|test| (test.reached.len(), test.took));
            let mut all = Duration::ZERO;
            tests.retain(|test| {
                let first = all.is_zero();
                all += test.took;
                first || all <= ENOUGH
            });
        }
        tests
    }

    /// Whether this is a suite: neither models nor unit tests.
    fn is_suite(&self) -> bool {
        !self.is_model() && !self.binary.name.starts_with("fibre_")
    }

    /// Whether this is a program of models.
    pub(crate) fn is_model(&self) -> bool {
        self.binary.name.starts_with(MODELS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A shell that says so.
    fn says(text: &str) -> Binary {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("says-{}-{number}", std::process::id()));
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
        Binary {
            name: "shell".into(),
            module: None,
            path,
            folder: "/".into(),
        }
    }

    #[test]
    fn tests_that_fail_or_hang_are_named() {
        let judge = |text: &str, limit| {
            let binary = says(text);
            let result = run(&binary, &["a", "b::c"], limit, |_| ()).unwrap();
            fs::remove_file(binary.path).unwrap();
            result
        };
        let stuck = |tests: &[&str]| {
            let tests = tests.iter().map(ToString::to_string);
            Outcome::Stuck(tests.collect())
        };
        let long = Duration::from_secs(60);
        let passes = "echo 'test a ... ok'; echo 'test b::c ... ok'";
        assert_eq!(judge(passes, long), Outcome::Passed);
        let fails = "echo 'test a ... ok'; echo 'test b::c - should panic ... FAILED'; sleep 1000";
        assert_eq!(judge(fails, long), Outcome::Failed("b::c".into()));
        assert_eq!(
            judge("echo 'test a ... ok'; exit 101", long),
            stuck(&["b::c"])
        );
        assert_eq!(
            judge(&format!("{passes}; exit 101"), long),
            stuck(&["a", "b::c"])
        );
        let short = Duration::from_millis(300);
        assert_eq!(
            judge("sleep 1000 & sleep 1000", short),
            stuck(&["a", "b::c"])
        );
    }

    #[test]
    fn only_tests_of_the_module_are_used() {
        let list = b"a::b: test\nb::a::c: test\na::c: test\na::d: benchmark\n\n3 tests\n";
        assert_eq!(listed(list, Some("a::")), ["a::b", "a::c"]);
        assert_eq!(listed(list, None), ["a::b", "b::a::c", "a::c"]);
    }

    /// Of models and unit tests all that come to a mutant try it, of suites the narrowest.
    #[test]
    fn the_narrowest_tests_try_a_mutant() {
        let test = |name: &str, took, reached| Test {
            name: name.into(),
            took: Duration::from_secs(took),
            reached,
        };
        let tests = vec![
            test("wide", 1, BTreeSet::from([1, 2, 3])),
            test("narrow and long", 100, BTreeSet::from([1])),
            test("elsewhere", 1, BTreeSet::from([2])),
        ];
        let mut program = Program {
            binary: says("exit 0"),
            tests,
        };
        let chosen = |program: &Program| -> Vec<String> {
            program
                .tests_of(1)
                .into_iter()
                .map(|test| test.name.clone())
                .collect()
        };
        assert_eq!(chosen(&program), ["narrow and long"]);
        program.tests[1].took = ENOUGH - Duration::from_secs(1);
        assert_eq!(chosen(&program), ["narrow and long", "wide"]);
        program.tests[1].took = ENOUGH;
        for name in ["loom::any", "fibre_core"] {
            program.binary.name = name.into();
            assert_eq!(chosen(&program), ["wide", "narrow and long"]);
        }
        fs::remove_file(program.binary.path).unwrap();
    }
}
