//! Groups that keep going when a fibre fails, and fibres that say when they are ready.

use crate::support::{Drops, Random, any_cluster, eventually, for_each_cluster, run_in, watched};
use fibre::sync::{Event, Semaphore};
use fibre::{
    FibreError, Group, GroupError, PartialCause, Restarts, StartError, Supervisor, timeout,
};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(super) const SHORT: Duration = Duration::from_millis(3);
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// Runs a body in a fibre of each kind of cluster, and on a plain thread.
pub(super) fn everywhere(body: fn()) {
    for_each_cluster(move |_| body());
    watched(move || std::thread::spawn(body).join().unwrap());
}

/// What a fibre has failed with, as text.
pub(super) fn text<T, E: std::fmt::Display>(result: Result<T, FibreError<E>>) -> String {
    result.map_or_else(|error| error.to_string(), |_| String::from("ok"))
}

/// Errors and panics are items, in either order, and end nobody else.
#[test]
fn failures_are_items() {
    everywhere(|| {
        for in_order in [false, true] {
            let texts = Group::builder().keep_going().run(|group| {
                group.spawn(|| Ok::<_, &str>(1));
                group.spawn(|| Err("no"));
                group.spawn(|| resume_unwind(Box::new("on purpose")));
                group.spawn(|| Ok(2));
                let results: Vec<_> = match in_order {
                    true => group.results_in_order().collect(),
                    false => group.results().collect(),
                };
                assert!(!group.has_failed() && !group.token().is_cancelled());
                Ok(results.into_iter().map(text).collect::<Vec<_>>())
            });
            let mut texts = texts.unwrap();
            let mut expected = ["ok", "no", "the fibre has panicked: on purpose", "ok"];
            if !in_order {
                texts.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(texts, expected);
        }
    });
}

/// A fibre without a result is an item only if it fails.
#[test]
fn fibres_without_results_are_items_when_they_fail() {
    everywhere(|| {
        let failed = Group::builder().keep_going().limit(3).run(|group| {
            for number in 0..20_u32 {
                group.run(move || match number % 10 {
                    3 => Err(number),
                    _ => Ok(()),
                });
            }
            let error = |result: Result<(), FibreError<u32>>| result.unwrap_err().into_error();
            let mut failed: Vec<_> = group.results().filter_map(error).collect();
            failed.sort_unstable();
            Ok(failed)
        });
        assert_eq!(failed.unwrap(), [3, 13]);
    });
}

/// The body's error, cancellation and the time end all, as in any group.
#[test]
fn a_supervisor_ends_as_a_whole() {
    everywhere(|| {
        type Ended = Result<(), GroupError<&'static str>>;
        let waits = || fibre::sleep_within(LONG).map_err(|_| "ended");
        let failed: Ended = Group::builder().keep_going().run(|group| {
            group.spawn(waits);
            Err("the body's")
        });
        assert_eq!(failed, Err(GroupError::Failed("the body's")));
        let cancelled: Ended = Group::builder().keep_going().run(|group| {
            group.spawn(waits);
            group.cancel();
            assert!(group.next().is_none());
            Ok(())
        });
        assert_eq!(cancelled, Err(GroupError::Cancelled));
        let late: Ended = Group::builder().timeout(SHORT).keep_going().run(|group| {
            group.spawn(waits);
            group.results().for_each(drop);
            Ok(())
        });
        assert_eq!(late, Err(GroupError::TimedOut));
    });
}

/// The first success ends the rest, whatever has failed before; if all fail, that is the error.
#[test]
fn the_first_success_passes_over_failures() {
    everywhere(|| {
        let ended = AtomicU32::new(0);
        let first = Group::builder().keep_going().run(|group| {
            let failed = Arc::new(Semaphore::new(0));
            for number in 0..3 {
                let failed = Arc::clone(&failed);
                group.spawn(move || {
                    failed.release();
                    match number {
                        0 => resume_unwind(Box::new("on purpose")),
                        number => Err(number),
                    }
                });
            }
            group.spawn(|| {
                ended.fetch_add(
                    u32::from(fibre::sleep_within(LONG).is_err()),
                    Ordering::Relaxed,
                );
                Err(9)
            });
            group.spawn(move || {
                failed.acquire_many(3);
                Ok(7)
            });
            Ok(group.first().unwrap())
        });
        assert_eq!((first, ended.into_inner()), (Ok(7), 1));
        let errors = Group::builder().keep_going().run(|group| {
            (0..3).for_each(|number| group.spawn(move || Err::<(), _>(number)));
            let partial = group.first().unwrap_err();
            assert_eq!(partial.cause(), PartialCause::TooFew);
            assert_eq!(partial.failures().count(), 3);
            let mut errors: Vec<_> = partial
                .into_results()
                .into_iter()
                .filter_map(|result| result.unwrap_err().into_error())
                .collect();
            errors.sort_unstable();
            Ok(errors)
        });
        assert_eq!(errors, Ok(vec![0, 1, 2]));
    });
}

/// A quorum gives up once too many have failed, and ends the rest then.
#[test]
fn a_quorum_counts_successes() {
    everywhere(|| {
        let met = Group::builder().keep_going().run(|group| {
            for number in 0..5 {
                group.spawn(move || match number % 2 {
                    0 => Ok(number),
                    _ => Err(number),
                });
            }
            let mut met = group.quorum(3).unwrap();
            met.sort_unstable();
            Ok(met)
        });
        assert_eq!(met, Ok(vec![0, 2, 4]));
        let missed = Group::builder().keep_going().run(|group| {
            for number in 0..3 {
                group.spawn(move || match number {
                    0 => fibre::sleep_within(LONG).map_err(|_| "ended"),
                    _ => Err("no"),
                });
            }
            let partial = group.quorum(2).unwrap_err();
            assert!(group.token().is_cancelled());
            Ok(partial.cause())
        });
        assert_eq!(missed, Ok(PartialCause::TooFew));
    });
}

/// The parent goes on once the fibre is ready, while it runs on; its later end is the group's.
#[test]
fn a_parent_waits_for_readiness() {
    everywhere(|| {
        let (event, ready_at) = (Event::new(), Cell::new(0));
        let sum = fibre::group(|group| {
            let value = group.start(|ready| {
                ready.send(String::from("here"));
                event.wait();
                Ok::<_, ()>(5)
            });
            assert_eq!(value.unwrap(), "here");
            ready_at.set(group.running());
            event.set();
            Ok(group.results().sum::<u32>())
        });
        assert_eq!((sum, ready_at.get()), (Ok(5), 1));
        let failed: Result<(), _> = fibre::group(|group| {
            group
                .start(|ready| {
                    ready.send(());
                    Err::<(), _>("later")
                })
                .unwrap_or(());
            group.results().for_each(drop);
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("later")));
        let item = Group::builder().keep_going().run(|group| {
            let ready = group.start(|ready| {
                ready.send(());
                Err::<(), _>("later")
            });
            assert!(ready.is_ok());
            Ok(text(group.next().unwrap()))
        });
        assert_eq!(item.unwrap(), "later");
    });
}

/// An error, a panic, and a silent end before readiness are the parent's, and the group goes on.
#[test]
fn a_start_that_fails_is_the_parents() {
    everywhere(|| {
        let sum = fibre::group(|group: &Group<'_, '_, u32, &'static str>| {
            let failed = group.start::<(), _>(|_ready| Err("no")).unwrap_err();
            assert_eq!(failed.into_error(), Some("no"));
            let silent = group.start::<(), _>(|_ready| Ok(7));
            assert!(matches!(silent, Err(StartError::Ended(7))));
            let panics = group.start::<(), _>(|_ready| resume_unwind(Box::new("on purpose")));
            let error = panics.unwrap_err();
            assert_eq!(error.to_string(), "the fibre has panicked: on purpose");
            assert!(!group.has_failed());
            group.spawn(|| Ok(1));
            Ok(group.results().sum::<u32>())
        });
        assert_eq!(sum, Ok(1));
    });
}

/// A group that fails ends the wait; one that has failed starts nothing.
#[test]
fn a_group_that_fails_ends_a_start() {
    everywhere(|| {
        let failed: Result<(), _> = fibre::group(|group| {
            group.run(|| {
                fibre::sleep(Duration::from_micros(50));
                Err("no")
            });
            let started = group.start::<(), _>(|_ready| {
                let _ = fibre::sleep_within(LONG);
                Err("ended")
            });
            // It may have ended before the failure was seen.
            assert!(matches!(
                started,
                Err(StartError::Cancelled | StartError::Failed(FibreError::Failed("ended")))
            ));
            while !group.has_failed() {
                fibre::yield_now();
            }
            let late = group.start::<(), _>(|_ready| unreachable!("the group has failed"));
            assert!(matches!(
                late,
                Err::<_, StartError<(), _>>(StartError::Cancelled)
            ));
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("no")));
    });
}

/// A parent that leaves cancels the fibre that it waited for, and nobody else; a value that is sent
/// to nobody is dropped.
#[test]
fn a_parent_that_leaves_ends_the_start() {
    everywhere(|| {
        let (drops, go, left) = (Drops::new(), Event::new(), AtomicU32::new(0));
        let sum = fibre::group(|group| {
            let value = drops.value();
            let late = timeout(SHORT, || {
                group.start(|ready| {
                    let cancelled = fibre::sleep_within(LONG).is_err();
                    left.fetch_add(u32::from(cancelled), Ordering::Relaxed);
                    ready.send(value);
                    Err("ended")
                })
            });
            assert!(late.unwrap_err().into_value().is_none());
            group.spawn(|| {
                go.wait();
                Ok(3)
            });
            eventually(|| group.running() == 1);
            assert!(!group.has_failed() && !group.token().is_cancelled());
            go.set();
            Ok(group.results().sum::<u32>())
        });
        assert_eq!(sum, Ok(3));
        assert_eq!((drops.count(), left.into_inner()), (1, 1));
    });
}

/// In a cancellable group, a fibre that is unwound as its parent has left does not fail the group.
#[test]
fn a_start_that_is_unwound_is_no_failure() {
    everywhere(|| {
        let permits = Semaphore::new(0);
        let sum = Group::builder().cancellable(true).run(|group| {
            let start = || {
                group.start::<(), _>(|_ready| {
                    permits.acquire();
                    Ok(1)
                })
            };
            assert!(timeout(SHORT, start).is_err());
            eventually(|| group.running() == 0);
            group.spawn(|| Ok::<_, ()>(2));
            Ok(group.results().sum::<u32>())
        });
        assert_eq!((sum, permits.available()), (Ok(2), 0));
    });
}

/// How a fibre of the stress test ends.
fn random_end(how: usize, number: u32) -> Result<u32, u32> {
    match how % 8 {
        0 => fibre::yield_now(),
        1 => drop(fibre::sleep_within(Duration::from_micros(20))),
        2 => drop(fibre::sleep_within(LONG)),
        _ => {}
    }
    match how / 8 {
        0..4 => Err(number),
        4 => resume_unwind(Box::new(number)),
        _ => Ok(number),
    }
}

/// The fibres of one group of the stress test.
struct Fibres {
    begun: AtomicU32,
    ended: AtomicU32,
    restarts: Restarts,
}

impl Fibres {
    /// One run of a fibre, which is counted.
    fn run(&self, how: usize, number: u32) -> Result<u32, u32> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| random_end(how, number)));
        self.ended.fetch_add(1, Ordering::Relaxed);
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Starts a fibre in one way or another.
    fn start<'scope>(
        &'scope self,
        group: &Supervisor<'scope, '_, u32, u32>,
        random: &mut Random,
        number: u32,
    ) {
        let how = random.below(160);
        match random.below(8) {
            0 => {
                let started = group.start(move |ready| {
                    if !how.is_multiple_of(3) {
                        ready.send(number);
                    }
                    // Not for long, as it is waited for.
                    self.run(how & !2, number)
                });
                assert!(started.ok().is_none_or(|ready| ready == number));
            }
            1 => group.run(move || self.run(how, number).map(drop)),
            2 => group.spawn(move || self.restarts.run(|| self.run(how, number))),
            _ => group.spawn(move || self.run(how, number)),
        }
    }
}

/// One group of the stress test. Every fibre that has begun has ended, and each success was had at
/// most once. Returns how many have ended.
fn random_group(random: &mut Random) -> u32 {
    let (count, wanted) = (1 + random.below(60) as u32, random.below(12));
    let time = Duration::from_nanos(random.below(100_000) as u64);
    let fibres = Fibres {
        begun: AtomicU32::new(0),
        ended: AtomicU32::new(0),
        restarts: Restarts::new(3, LONG),
    };
    let done = Group::builder().keep_going().run(|group| {
        (0..count).for_each(|number| fibres.start(group, random, number));
        let gathered = group.quorum_within(wanted, time);
        assert!(
            gathered
                .as_ref()
                .ok()
                .is_none_or(|values| values.len() == wanted)
        );
        let partial = |partial: fibre::Partial<_>| partial.into_results();
        let gathered = gathered.map_or_else(partial, |values| {
            values.into_iter().map(Ok::<_, FibreError<u32>>).collect()
        });
        let all = gathered.into_iter().chain(group.results());
        let mut numbers: Vec<_> = all.flatten().collect();
        numbers.sort_unstable();
        let had = numbers.len();
        numbers.dedup();
        assert_eq!(numbers.len(), had, "a result was had twice");
        Ok::<_, u32>(())
    });
    assert_eq!(done, Ok(()));
    let (begun, ended) = (fibres.begun.into_inner(), fibres.ended.into_inner());
    assert_eq!(begun, ended, "a fibre has not been joined");
    ended
}

/// How many groups each fibre makes: some 300,000 ends in all in a release build with
/// `FIBRE_STRESS_SECONDS`, and 9,000 otherwise.
fn rounds() -> u32 {
    let stressed = std::env::var_os("FIBRE_STRESS_SECONDS").is_some();
    match stressed && !cfg!(debug_assertions) {
        true => 800,
        false => 25,
    }
}

/// Random groups, in clusters of 1, 2 and 4 processors: each ends, all are joined.
#[test]
fn random_supervisors_end() {
    for processors in [1, 2, 4] {
        let cluster = any_cluster().processors(processors).build().unwrap();
        let seed = Random::seed();
        let body = move |_: &fibre::Cluster| {
            let fibres: Vec<_> = (0..4)
                .map(|number| {
                    fibre::spawn(move || {
                        let mut random = Random::new(seed ^ number);
                        (0..rounds())
                            .map(|_| random_group(&mut random))
                            .sum::<u32>()
                    })
                })
                .collect();
            let ends = |fibre: fibre::JoinHandle<u32>| fibre.join().unwrap();
            let ended: u32 = fibres.into_iter().map(ends).sum();
            println!("{processors} processors: {ended} ends");
        };
        run_in(cluster, Arc::new(body));
    }
}
