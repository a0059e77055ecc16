//! The first results of a group, which end the rest, and what there is when a time is over.

use crate::support::{Drops, Random, any_cluster, for_each_cluster, run_in, watched};
use fibre::sync::Event;
use fibre::{Builder, CancelToken, Group, GroupError, Limit, PartialCause, group, timeout};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_secs(3600);

/// Runs a body in a fibre of each kind of cluster, and on a plain thread.
fn everywhere(body: fn()) {
    for_each_cluster(move |_| body());
    watched(move || std::thread::spawn(body).join().unwrap());
}

/// The first result ends the rest: their errors are no failure, and all have been joined.
#[test]
fn the_first_result_ends_the_rest() {
    everywhere(|| {
        let ended = AtomicU32::new(0);
        let first = group(|group| {
            for _ in 0..5 {
                group.spawn(|| {
                    let cancelled = fibre::sleep_within(LONG).is_err();
                    ended.fetch_add(u32::from(cancelled), Ordering::Relaxed);
                    Err("ended")
                });
            }
            group.spawn(|| Ok(7));
            let first = group.first();
            assert!(!group.has_failed() && group.token().is_cancelled());
            // Too late: it is not started.
            group.spawn(|| unreachable!("the group has settled"));
            Ok(first)
        });
        assert_eq!(first, Ok(Some(7)));
        assert_eq!(ended.load(Ordering::Relaxed), 5, "all have been joined");
    });
}

/// An error before the first result is the group's; without fibres there is no first result.
#[test]
fn an_error_before_the_first_result_counts() {
    everywhere(|| {
        let failed = group(|group| {
            group.spawn(|| fibre::sleep_within(LONG).map_err(|_| 1));
            group.run(|| Err(2));
            Ok(group.first())
        });
        assert_eq!(failed, Err(GroupError::Failed(2)));
        let empty = group(|group: &Group<'_, '_, u32, ()>| {
            group.run(|| Ok(()));
            Ok(group.first())
        });
        assert_eq!(empty, Ok(None));
    });
}

/// What others return after the first result comes later; what nobody takes is dropped once.
#[test]
fn later_results_are_not_lost() {
    everywhere(|| {
        let drops = Drops::new();
        let event = Event::new();
        let left = group(|group| {
            for _ in 0..3 {
                let (value, event) = (drops.value(), &event);
                group.spawn(move || {
                    event.wait();
                    Ok::<_, ()>(value)
                });
            }
            let value = drops.value();
            group.spawn(move || Ok(value));
            let first = group.first();
            assert!(first.is_some());
            event.set();
            let second = group.next();
            assert!(second.is_some() && drops.count() == 0);
            Ok(())
        });
        assert_eq!((left, drops.count()), (Ok(()), 4));
    });
}

/// So many results end the rest; too few fibres give what there is, at once.
#[test]
fn a_quorum_is_so_many_results() {
    everywhere(|| {
        let met = group(|group| {
            for number in 0..3 {
                group.spawn(move || Ok::<_, ()>(number));
                group.spawn(|| fibre::sleep_within(LONG).map(|()| 9).map_err(drop));
            }
            Ok(group.quorum(3).unwrap())
        });
        let mut met = met.unwrap();
        met.sort_unstable();
        assert_eq!(met, [0, 1, 2]);
        let missed = group(|group| {
            for number in 0..3 {
                group.spawn(move || Ok::<_, ()>(number));
            }
            let partial = group.quorum(4).unwrap_err();
            assert_eq!(partial.cause(), PartialCause::TooFew);
            // None was left to wait for: they may come still.
            let come = partial.results().len();
            Ok(come + group.results().count())
        });
        assert_eq!(missed, Ok(3));
        let none = group(|group: &Group<'_, '_, (), ()>| Ok(group.quorum(0)));
        assert_eq!(none, Ok(Ok(vec![])));
    });
}

/// A time gives what is there by then, in the order of ends, and ends the rest; a shorter time
/// around the call gives it, too, by a form that fails.
#[test]
fn a_time_gives_what_is_there() {
    everywhere(|| {
        for outer in [false, true] {
            let there = group(|group| {
                for _ in 0..3 {
                    group.spawn(|| fibre::sleep_within(LONG).map(|()| 0));
                }
                group.spawn(|| Ok::<_, fibre::Cancelled>(7));
                while group.running() > 3 {
                    fibre::sleep(Duration::from_micros(50));
                }
                let partial = match outer {
                    false => group.results_within(SHORT).unwrap_err(),
                    true => {
                        let late = timeout(SHORT, || group.results_within(LONG));
                        late.unwrap_err().into_value().unwrap().unwrap_err()
                    }
                };
                let cause = partial.cause();
                assert!(cause == PartialCause::TimedOut || outer, "{cause:?}");
                Ok(partial.into_results())
            });
            assert_eq!(there, Ok(vec![7]));
        }
        let quorum = group(|group| {
            group.spawn(|| Ok::<_, fibre::Cancelled>(7));
            group.spawn(|| fibre::sleep_within(LONG).map(|()| 0));
            while group.running() > 1 {
                fibre::yield_now();
            }
            Ok(group.quorum_within(2, SHORT).unwrap_err().into_results())
        });
        assert_eq!(quorum, Ok(vec![7]));
        let all = group(|group| {
            group.spawn(|| Ok::<_, ()>(7));
            Ok(group.results_within(LONG).unwrap())
        });
        assert_eq!(all, Ok(vec![7]));
    });
}

/// A time-out that unwinds the wait has taken nothing, and ended nobody.
#[test]
fn a_wait_that_is_unwound_takes_nothing() {
    everywhere(|| {
        let event = Event::new();
        let sum = group(|group| {
            group.spawn(|| Ok::<_, ()>(1));
            group.spawn(|| {
                event.wait();
                Ok(2)
            });
            let late = timeout(SHORT, || group.quorum(2)).unwrap_err();
            assert_eq!(late.into_value(), None);
            assert!(!group.token().is_cancelled());
            event.set();
            Ok(group.quorum(2).unwrap().into_iter().sum::<u32>())
        });
        assert_eq!(sum, Ok(3));
    });
}

/// A body that fails, is cancelled or panics after the first result fails the group as ever, and
/// what ends while the others are waited for does not.
#[test]
fn a_settled_group_fails_by_its_body_only() {
    everywhere(|| {
        let settle = |group: &Group<'_, '_, u32, u32>| {
            group.spawn(|| Ok(1));
            group.spawn(|| {
                let _ = fibre::sleep_within(LONG);
                resume_unwind(Box::new("a loser's"))
            });
            assert_eq!(group.first(), Some(1));
        };
        let failed: Result<(), _> = group(|group| {
            settle(group);
            Err(5)
        });
        assert_eq!(failed, Err(GroupError::Failed(5)));
        let cancelled = group(|group| {
            settle(group);
            group.cancel();
            Ok(())
        });
        assert_eq!(cancelled, Err(GroupError::Cancelled));
        let panics = catch_unwind(AssertUnwindSafe(|| {
            group(|group| -> Result<(), _> {
                settle(group);
                resume_unwind(Box::new(7_u32))
            })
        }));
        assert_eq!(panics.unwrap_err().downcast_ref(), Some(&7_u32));
        // The time of the group ends while a loser that notices nothing is waited for. (On a busy
        // machine it may end before.)
        let in_time = |_: &u32| {
            let builder = Group::builder().timeout(SHORT);
            let ended = builder.run(|group| {
                group.spawn(|| Ok::<_, u32>(1));
                group.spawn(|| {
                    fibre::shield(|| fibre::sleep(2 * SHORT));
                    Ok(2)
                });
                Ok(group.first())
            });
            ended == Ok(Some(1))
        };
        assert!((0..100).any(|round| in_time(&round)));
    });
}

/// A caller that is cancelled gets what there is, and its group has not failed.
#[test]
fn a_cancelled_caller_gets_what_there_is() {
    for_each_cluster(|_| {
        for before in [false, true] {
            let token = CancelToken::new();
            let body = || {
                let event = Event::new();
                group(|group| {
                    group.spawn(|| Ok::<_, ()>(7));
                    group.spawn(|| {
                        event.wait();
                        Ok(8)
                    });
                    while group.running() > 1 {
                        fibre::yield_now();
                    }
                    let partial = group.quorum_within(2, Limit::Cancellation).unwrap_err();
                    assert_eq!(partial.cause(), PartialCause::Cancelled);
                    event.set();
                    Ok(partial.into_results())
                })
            };
            if before {
                token.cancel();
            }
            let caller = Builder::new().cancel_token(&token).spawn(body).unwrap();
            token.cancel();
            assert_eq!(caller.join().unwrap(), Ok(vec![7]));
        }
    });
}

/// Several fibres that wait for room learn that the group has settled.
#[test]
fn those_that_wait_for_room_learn_of_the_end() {
    everywhere(|| {
        let started = AtomicU32::new(0);
        let first = Group::builder().limit(2).run(|group| {
            let inner = group.clone();
            let started = &started;
            // It waits for room while the body waits for its result.
            group.run(move || {
                for _ in 0..3 {
                    started.fetch_add(1, Ordering::Relaxed);
                    inner.spawn(|| {
                        let _ = fibre::sleep_within(SHORT);
                        Ok::<_, ()>(1)
                    });
                }
                Ok(())
            });
            Ok(group.first())
        });
        assert_eq!(first, Ok(Some(1)));
        assert_eq!(started.load(Ordering::Relaxed), 3);
    });
}

/// One group of the stress test: its fibres return a value, an error, or panic, after a moment, a
/// yield, or when they are cancelled. What the values' owner counts has to come out.
fn random_group(random: &mut Random, drops: &Drops) {
    let (fibres, wanted) = (1 + random.below(6), 1 + random.below(4));
    let limited = random.one_in(3);
    let time = Duration::from_nanos(random.below(60_000) as u64);
    let fails = random.one_in(4);
    let made = std::cell::Cell::new(0);
    let ended = group(|group| {
        for number in 0..fibres {
            let (value, how) = (drops.value(), random.below(5));
            made.set(made.get() + 1);
            group.spawn(move || {
                match how {
                    0 => fibre::yield_now(),
                    1 => drop(fibre::sleep_within(Duration::from_micros(20))),
                    2 => drop(fibre::sleep_within(LONG)),
                    _ => {}
                }
                match fails && number == 0 {
                    true => Err(()),
                    false => Ok(value),
                }
            });
        }
        let taken = match limited {
            true => group.quorum_within(wanted, time),
            // Those that sleep for long would be waited for.
            false => group.quorum_within(wanted.min(2), Duration::from_micros(80)),
        };
        Ok(match taken {
            Ok(values) => {
                assert_eq!(values.len(), if limited { wanted } else { wanted.min(2) });
                values.len()
            }
            Err(partial) => partial.results().len(),
        })
    });
    assert!(matches!(ended, Ok(0..=4) | Err(GroupError::Failed(()))));
    assert_eq!(drops.count(), made.get(), "each value is dropped once");
}

/// Random groups, in clusters of 1, 2 and 4 processors: each ends, and nothing is lost.
#[test]
fn random_groups_lose_nothing() {
    for processors in [1, 2, 4] {
        let cluster = any_cluster().processors(processors).build().unwrap();
        let seed = Random::seed();
        let body = move |_: &fibre::Cluster| {
            let fibres: Vec<_> = (0..4)
                .map(|number| {
                    fibre::spawn(move || {
                        let mut random = Random::new(seed ^ number);
                        for _ in 0..100 {
                            random_group(&mut random, &Drops::new());
                        }
                    })
                })
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        };
        run_in(cluster, Arc::new(body));
    }
}
