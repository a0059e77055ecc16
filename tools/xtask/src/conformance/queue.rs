//! Does all programs, several at a time.
//!
//! A program is one job: it is compiled and run in all settings by the same worker, so that its
//! result is complete when the worker takes the next one. Runs wait more than they compute, so
//! there are more workers than cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

use crate::conformance::program::{Library, Program};
use crate::conformance::trial::{self, Bench, Outcome, SETTINGS, Setting};
use crate::lanes::part::Part;

/// How much to do at a time, and how often.
pub(crate) struct Extent {
    /// Workers.
    pub(crate) workers: usize,
    /// Runs of each program in each setting.
    pub(crate) runs: usize,
    /// The settings.
    pub(crate) settings: Vec<Setting>,
    /// The programs that run with thread-locals of each fibre's own.
    pub(crate) own: Part,
}

/// What became of a program in all settings.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The program.
    pub(crate) program: Program,
    /// How it ended in each of [`SETTINGS`]; nothing where it was not run.
    pub(crate) outcomes: [Option<Outcome>; SETTINGS.len()],
}

impl Record {
    /// What was seen where it did not pass, each with the settings where that was so.
    pub(crate) fn failures(&self) -> Vec<(&str, String)> {
        let mut failures: Vec<(&str, String)> = Vec::new();
        for (setting, outcome) in SETTINGS.iter().zip(&self.outcomes) {
            let Some(Outcome::Failed(seen)) = outcome else {
                continue;
            };
            match failures.last_mut() {
                Some((last, settings)) if *last == seen => {
                    *settings += &format!("; {}", setting.title())
                }
                _ => failures.push((seen, setting.title())),
            }
        }
        failures
    }
}

/// Does all of them; the records are in the order of the programs.
pub(crate) fn work(bench: &Bench, programs: &[Program], extent: &Extent) -> Result<Vec<Record>> {
    let numbered: Vec<_> = programs.iter().enumerate().collect();
    each(&numbered, extent.workers, |(number, program)| {
        let has_own = program.own && extent.own.has(*number);
        let record = try_all(bench, program, extent, has_own)?;
        for (seen, settings) in record.failures() {
            println!("FAILED {} ({settings}): {seen}\n", program.title());
        }
        Ok(record)
    })
}

/// Calls a function for each item, by so many threads; the first error ends it all.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    call: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else {
                        break;
                    };
                    let result = call(item);
                    if result.is_err() {
                        next.store(items.len(), Ordering::Relaxed);
                    }
                    if let Ok(mut results) = results.lock() {
                        results.push((index, result));
                    }
                }
            });
        }
    });
    let results = results.into_inner();
    let mut results = results.map_err(|_| anyhow!("a worker has panicked"))?;
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Compiles a program for each library and runs it in each setting; where fibres have thread-locals
/// of their own, if it `has_own`.
fn try_all(bench: &Bench, program: &Program, extent: &Extent, has_own: bool) -> Result<Record> {
    let mut outcomes = SETTINGS.map(|_| None);
    for library in [Library::System, Library::Ours] {
        let settings = SETTINGS.iter().enumerate();
        let settings: Vec<_> = settings
            .filter(|(_, setting)| setting.library() == library && program.is_for(library))
            .filter(|(_, setting)| extent.settings.contains(setting))
            .filter(|(_, setting)| has_own || !matches!(setting, Setting::Own(_)))
            .collect();
        for variant in 0..program.variants.len() {
            if settings.is_empty() {
                continue;
            }
            let compiled = bench.compile(program, variant, library)?;
            for (index, setting) in &settings {
                if matches!(outcomes[*index], Some(Outcome::Failed(_))) {
                    continue;
                }
                outcomes[*index] = Some(match &compiled {
                    Ok(compiled) => {
                        repeat(extent.runs, || trial::run(program, compiled, **setting))?
                    }
                    Err(said) => Outcome::Failed(said.clone()),
                });
            }
        }
    }
    Ok(Record {
        program: program.clone(),
        outcomes,
    })
}

/// Runs it so often, or until it fails.
fn repeat(runs: usize, mut run: impl FnMut() -> Result<Outcome>) -> Result<Outcome> {
    for _ in 0..runs {
        let outcome = run()?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..50).collect();
        let doubled = each(&items, 4, |item| Ok(item * 2)).unwrap();
        assert!(doubled.into_iter().eq((0..50).map(|item| item * 2)));
    }

    #[test]
    fn an_error_ends_it_all() {
        let items: Vec<usize> = (0..50).collect();
        let result = each(&items, 2, |item| {
            if *item == 10 {
                bail!("no more");
            }
            Ok(*item)
        });
        assert_eq!(result.unwrap_err().to_string(), "no more");
    }

    #[test]
    fn what_is_seen_twice_is_said_once() {
        let failed = |seen: &str| Some(Outcome::Failed(seen.into()));
        let program = Program::of("a/b.c", "/* f: x. */\n").unwrap();
        let passed = Some(Outcome::Passed);
        let outcomes = [passed, failed("x"), failed("x"), failed("y"), None];
        let record = Record { program, outcomes };
        let want = [
            ("x", "ours, 1; ours, 2".to_owned()),
            ("y", "ours, 4".to_owned()),
        ];
        assert_eq!(record.failures(), want);
    }

    #[test]
    fn a_failure_of_many_runs_is_the_outcome() {
        let mut runs = 0;
        let outcome = repeat(5, || {
            runs += 1;
            Ok(match runs {
                3 => Outcome::Failed("third".into()),
                _ => Outcome::Passed,
            })
        });
        assert_eq!(outcome.unwrap(), Outcome::Failed("third".into()));
        assert_eq!(runs, 3);
    }
}
