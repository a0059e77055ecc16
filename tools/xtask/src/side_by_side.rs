//! Commands of tests that run side by side, as tests wait more than they compute.

use std::io::{self, Write, stdout};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::commands::{cannot_start, print_command, under_budget};
use crate::verdict::{Verdict, decide};

/// How many commands of tests run at a time: as many as keep two CPUs busy, nearly.
const AT_ONCE: usize = 3;

/// A `cargo test` command, and what is asked of it.
pub(crate) struct Tests {
    /// The title of its step.
    pub(crate) title: String,
    pub(crate) command: Command,
    /// In how many programs, at least, tests must have passed.
    pub(crate) least: usize,
}

/// Such a command that has ended.
pub(crate) struct Ended {
    pub(crate) tests: Tests,
    /// What it has printed.
    output: io::Result<Output>,
    /// How long it took.
    pub(crate) took: Duration,
    /// How many have ended by now, of how many.
    progress: (usize, usize),
}

impl Ended {
    /// Shows what was printed, and says whether the tests have passed: what they have said of
    /// themselves, those that passed only when they ran once more, and in how many programs some
    /// must have.
    pub(crate) fn judge(
        self,
        second_chance: bool,
        until: Option<Instant>,
    ) -> Result<(Verdict, Vec<String>, usize)> {
        let Tests {
            title,
            command,
            least,
        } = self.tests;
        let (done, all) = self.progress;
        println!("\n==> {title} ({done} of {all})");
        print_command(&command);
        let output = self.output.with_context(|| cannot_start(&command))?;
        let verdict = Verdict::read(&*output.stdout)?;
        stdout().write_all(&output.stderr)?;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let failed = decide(&command, &verdict, output.status, second_chance, left)?;
        Ok((verdict, failed, least))
    }
}

/// Runs commands, [`AT_ONCE`] at a time, and gives each to `then` when it has ended, on this
/// thread. Begins none after `then` has failed.
pub(crate) fn side_by_side(
    all: Vec<Tests>,
    until: Option<Instant>,
    mut then: impl FnMut(Ended) -> Result<()>,
) -> Result<()> {
    let (mut done, count) = (0, all.len());
    let rest = Mutex::new(all.into_iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (ended, endings) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (ended, next) = (ended.clone(), &next);
            scope.spawn(move || {
                while let Some(tests) = next() {
                    let started = Instant::now();
                    let left = until.map(|until| until.saturating_duration_since(started));
                    let output = under_budget(&tests.command, left).output();
                    let took = started.elapsed();
                    // The receiver stays until all have ended.
                    let _ = ended.send(Ended {
                        tests,
                        output,
                        took,
                        progress: (0, count),
                    });
                }
            });
        }
        drop(ended);
        let mut result = Ok(());
        for mut one in endings {
            done += 1;
            one.progress.0 = done;
            let outcome = then(one);
            if outcome.is_err() {
                while next().is_some() {}
            }
            result = result.and(outcome);
        }
        result
    })
}
