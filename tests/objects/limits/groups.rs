//! Groups of fibres.

use crate::support::{Drops, for_each_cluster, text_of, watched};
use fibre::channel::bounded;
use fibre::sync::{Event, Semaphore};
use fibre::{CancelToken, Group, GroupError, Limit, cancellable, group, timeout};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_secs(3600);

/// Runs a body in a fibre of each kind of cluster, and on a plain thread.
fn everywhere(body: fn()) {
    for_each_cluster(move |_| body());
    watched(move || std::thread::spawn(body).join().unwrap());
}

/// Starts a fibre for each event, which it waits for.
fn start_all<'env>(group: &Group<'_, 'env, usize, ()>, events: &'env [Event; 3]) {
    for (number, event) in events.iter().enumerate() {
        group.spawn(move || {
            event.wait();
            Ok(number)
        });
    }
}

/// Results come in the order of ends, or of starts; the fibres borrow from the caller's frame.
#[test]
fn results_come_in_either_order() {
    everywhere(|| {
        let events = [Event::new(), Event::new(), Event::new()];
        events[2].set();
        let mut ended = Vec::new();
        let done = group(|group| {
            start_all(group, &events);
            while let Some(number) = group.next() {
                ended.push(number);
                // The one that was started before may end now.
                number
                    .checked_sub(1)
                    .iter()
                    .for_each(|&before| events[before].set());
            }
            Ok(())
        });
        assert_eq!((done, ended), (Ok(()), vec![2, 1, 0]));
        let started = group(|group| {
            start_all(group, &events);
            Ok(group.results_in_order().collect::<Vec<_>>())
        });
        assert_eq!(started.unwrap(), [0, 1, 2]);
    });
}

/// The first error is the group's, the others are cancelled and joined, and results are dropped.
#[test]
fn the_first_error_cancels_the_rest() {
    everywhere(|| {
        let (ended, drops) = (AtomicU32::new(0), Drops::new());
        let failed: Result<(), _> = group(|group| {
            for _ in 0..5 {
                group.spawn(|| {
                    let cancelled = fibre::sleep_within(LONG).is_err();
                    ended.fetch_add(u32::from(cancelled), Ordering::Relaxed);
                    Err(0)
                });
            }
            let result = drops.value();
            group.spawn(move || Ok(result));
            group.spawn(|| Err(7));
            while group.next().is_some() {}
            assert!(group.has_failed());
            // Too late: it is not started.
            group.spawn(|| unreachable!("the group has failed"));
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed(7)));
        assert_eq!(ended.load(Ordering::Relaxed), 5, "all have been joined");
        assert_eq!(drops.count(), 1);
    });
}

/// The body's error and its panic cancel the fibres; a fibre's panic is the group's.
#[test]
fn bodies_and_panics_count_too() {
    everywhere(|| {
        let waits = || fibre::sleep_within(LONG).map_err(|_| 1);
        let failed: Result<(), _> = group(|group| {
            group.spawn(waits);
            Err(2)
        });
        assert_eq!(failed, Err(GroupError::Failed(2)));
        for in_fibre in [false, true] {
            let payload = catch_unwind(AssertUnwindSafe(|| {
                let _: Result<(), GroupError<i32>> = group(|group| {
                    group.spawn(waits);
                    let panics = || resume_unwind(Box::new(7_u32));
                    if !in_fibre {
                        let _: Result<(), i32> = panics();
                    }
                    group.spawn(panics);
                    Ok(())
                });
            }));
            assert_eq!(payload.unwrap_err().downcast_ref(), Some(&7_u32));
        }
    });
}

/// No more fibres run at once than may.
#[test]
fn the_limit_holds() {
    everywhere(|| {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let sum = Group::builder().limit(3).run(|group| {
            for number in 0..50 {
                let (running, most) = (&running, &most);
                group.spawn(move || {
                    let now = running.fetch_add(1, Ordering::Relaxed) + 1;
                    most.fetch_max(now, Ordering::Relaxed);
                    fibre::sleep(Duration::from_micros(50));
                    running.fetch_sub(1, Ordering::Relaxed);
                    Ok::<_, ()>(number)
                });
                assert!(group.running() <= 3);
            }
            Ok(group.results().sum::<i32>())
        });
        assert_eq!(sum, Ok((0..50).sum()));
        assert!(most.into_inner() <= 3);
    });
}

/// The end of the time ends the body and the fibres, whatever they wait in.
#[test]
fn the_time_of_a_group_is_that_of_all() {
    everywhere(|| {
        let permits = Semaphore::new(0);
        for body_waits in [false, true] {
            let builder = Group::builder().timeout(SHORT);
            let ended: Result<(), GroupError<()>> = builder.run(|group| {
                for _ in 0..3 {
                    group.run(|| {
                        permits.acquire();
                        Ok(())
                    });
                }
                if body_waits {
                    permits.acquire();
                    unreachable!("the body is unwound");
                }
                group.spawn(|| Ok(()));
                Ok(())
            });
            assert_eq!(ended, Err(GroupError::TimedOut));
        }
        assert_eq!(permits.available(), 0);
        permits.release();
        assert!(permits.try_acquire(), "nobody waits any more");
    });
}

/// Groups within groups have the outer limit, and are cancelled with the outer one.
#[test]
fn groups_nest() {
    everywhere(|| {
        // The time of a time-out around reaches the fibres of the innermost group.
        let late = timeout(SHORT, || {
            group(|outer| {
                outer.spawn(|| {
                    group(|inner| {
                        inner.spawn(|| fibre::sleep_within(LONG).map_err(|_| ()));
                        Ok(inner.results().count())
                    })
                });
                Ok(outer.results().count())
            })
        });
        let late = late.unwrap_err().into_value();
        assert!(late.is_none_or(|ended| ended == Err(GroupError::TimedOut)));
        // An error of the outer one cancels those of the inner one.
        let permits = Semaphore::new(0);
        let builder = Group::builder().cancellable(true);
        let failed = builder.run(|outer| {
            outer.spawn(|| {
                let inner: Result<usize, GroupError<()>> = group(|inner| {
                    inner.spawn(|| {
                        permits.acquire();
                        Ok(())
                    });
                    Ok(inner.results().count())
                });
                assert_eq!(inner, Err(GroupError::Cancelled));
                Ok(())
            });
            outer.spawn(|| Err("no"));
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::Failed("no")));
        permits.release();
        assert!(permits.try_acquire());
    });
}

/// A cancelled caller cancels its group, and a token does.
#[test]
fn cancellation_reaches_the_fibres() {
    for_each_cluster(|_| {
        let waits = || -> Result<(), GroupError<()>> {
            group(|group| {
                group.spawn(|| fibre::sleep_within(LONG).map_err(|_| ()));
                Ok(())
            })
        };
        let caller = fibre::spawn(waits);
        caller.cancel();
        assert_eq!(caller.join().unwrap(), Err(GroupError::Cancelled));
        let token = CancelToken::new();
        let builder = fibre::Builder::new().cancel_token(&token);
        let caller = builder.spawn(move || cancellable(waits)).unwrap();
        token.cancel();
        let ended = caller.join().unwrap();
        assert_eq!(ended, Ok(Err(GroupError::Cancelled)));
        let ended: Result<(), GroupError<()>> = group(|group| {
            group.spawn(|| fibre::sleep_within(LONG).map_err(|_| ()));
            group.cancel();
            assert!(group.token().is_cancelled());
            Ok(())
        });
        assert_eq!(ended, Err(GroupError::Cancelled));
    });
}

/// In a cancellable group, a fibre in a call that cannot fail is ended, and its value is not lost.
#[test]
fn a_cancellable_group_ends_calls_that_cannot_fail() {
    everywhere(|| {
        let (sender, receiver) = bounded::<u32>(1);
        let builder = Group::builder().cancellable(true);
        let failed = builder.run(|group| {
            for _ in 0..4 {
                let receiver = &receiver;
                group.spawn(move || Ok(receiver.recv().unwrap()));
            }
            sender.send(3).unwrap();
            assert_eq!(group.next(), Some(3));
            group.spawn(|| Err("no"));
            Ok(())
        });
        assert_eq!(failed, Err(GroupError::<&str>::Failed("no")));
        sender.send(4).unwrap();
        assert_eq!(
            receiver.recv_within(Limit::after(LONG)),
            Ok(4),
            "nobody else waits for it"
        );
    });
}

/// Fibres of a group may start others in it, and the group waits for these, too.
#[test]
fn fibres_start_fibres() {
    everywhere(|| {
        let ended = AtomicU32::new(0);
        let done: Result<(), GroupError<()>> = group(|group: &Group<'_, '_, (), ()>| {
            for _ in 0..3 {
                let (inner, ended) = (group.clone(), &ended);
                group.run(move || {
                    for _ in 0..3 {
                        inner.run(|| {
                            fibre::sleep(Duration::from_micros(100));
                            ended.fetch_add(1, Ordering::Relaxed);
                            Ok(())
                        });
                    }
                    Ok(())
                });
            }
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(ended.into_inner(), 9);
    });
}

/// A group whose fibre sleeps and then asks whether it has been cancelled.
fn tidy_up() -> Result<i32, GroupError<()>> {
    group(|group| {
        group.spawn(|| {
            fibre::sleep(2 * SHORT);
            fibre::cancellation_point().map_err(drop)?;
            Ok(7)
        });
        group.next().ok_or(())
    })
}

/// A group in a shield is kept from the time around it, and from the cancellation of the caller;
/// and it has its own time.
#[test]
fn a_shield_keeps_time_and_cancellation_from_a_group() {
    everywhere(|| {
        let tidy = timeout(SHORT, || {
            fibre::shield(|| {
                fibre::sleep(SHORT);
                tidy_up()
            })
        });
        assert_eq!(
            tidy.unwrap_or_else(|late| late.into_value().unwrap()),
            Ok(7)
        );
        let late = fibre::shield(|| {
            let builder = Group::builder().timeout(SHORT);
            builder.run(|_: &Group<'_, '_, (), ()>| {
                Semaphore::new(0).acquire();
                Ok(())
            })
        });
        assert_eq!(late, Err(GroupError::TimedOut));
    });
    for_each_cluster(|_| {
        let token = CancelToken::new();
        token.cancel();
        let builder = fibre::Builder::new().cancel_token(&token);
        let cancelled = builder.spawn(move || (tidy_up(), fibre::shield(tidy_up)));
        let expected = (Err(GroupError::Cancelled), Ok(7));
        assert_eq!(cancelled.unwrap().join().unwrap(), expected);
    });
}

/// Panics when it is dropped.
#[derive(Debug)]
struct PanicsAtDrop;

impl Drop for PanicsAtDrop {
    fn drop(&mut self) {
        resume_unwind(Box::new("dropped"));
    }
}

/// A failure drops the results that nobody has taken. If that panics, the group is cancelled all
/// the same.
#[test]
fn a_destructor_that_panics_does_not_keep_a_group_from_its_end() {
    everywhere(|| {
        let kept = Event::new();
        let ends = || {
            fibre::group(|group| {
                group.spawn(|| Ok(PanicsAtDrop));
                group.run(|| fibre::sleep_within(LONG).map_err(drop));
                while group.running() > 1 {
                    fibre::sleep(SHORT);
                }
                kept.set();
                group.run(|| Err(()));
                Ok(())
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(ends)).is_err());
        assert!(kept.is_set());
    });
}

/// An error, or a panic's payload, whose destructor panics. It counts the destructors.
struct Bad(Arc<AtomicUsize>);

impl Drop for Bad {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        resume_unwind(Box::new("dropped"));
    }
}

/// Destructors that panic are called each by itself, whichever of a group's values they are of:
/// errors that come too late, results that nobody takes, what the body returns. A second panic
/// would end the process.
#[test]
fn destructors_of_several_values_may_panic() {
    everywhere(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let bad = || Bad(Arc::clone(&dropped));
        let counts = |expected: usize| assert_eq!(dropped.swap(0, Ordering::SeqCst), expected);
        let run = |group: &dyn Fn()| catch_unwind(AssertUnwindSafe(group)).is_err();
        let forgotten = |error: GroupError<Bad>| std::mem::forget(error);
        // Errors of many fibres and the body, of which one is the group's.
        run(&|| {
            let ended = fibre::group(|group: &Group<'_, '_, Bad, Bad>| {
                (0..5).for_each(|_| group.spawn(|| Err(bad())));
                Err::<(), _>(bad())
            });
            let _ = ended.map_err(forgotten);
        });
        assert!(dropped.swap(0, Ordering::SeqCst) <= 6);
        // Results that nobody takes, of a group that succeeds, with what its body returns.
        assert!(run(&|| {
            let _ = fibre::group(|group| {
                (0..5).for_each(|_| group.spawn(|| Ok::<_, ()>(bad())));
                Ok(bad())
            });
        }));
        counts(6);
        // Results that nobody takes, of a group that fails, with an error that is the group's.
        assert!(run(&|| {
            let _ = fibre::group(|group| {
                (0..5).for_each(|_| group.spawn(|| Ok(bad())));
                while group.running() > 0 {
                    fibre::sleep(SHORT);
                }
                Err::<(), _>(bad())
            });
        }));
        counts(6);
        // What the body returns, of a group in which a fibre has failed or panicked.
        for (panics, drops) in [(false, 2), (true, 1)] {
            assert!(run(&|| {
                let _ = fibre::group(|group: &Group<'_, '_, (), Bad>| {
                    group.run(|| match panics {
                        true => resume_unwind(Box::new(7)),
                        false => Err(bad()),
                    });
                    while group.running() > 0 {
                        fibre::sleep(SHORT);
                    }
                    Ok(bad())
                });
            }));
            counts(drops);
        }
    });
}

/// A scope whose fibre has panicked drops what its body returns before it panics itself.
#[test]
fn a_scope_drops_what_its_body_returns() {
    everywhere(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            fibre::scope(|scope| {
                drop(scope.spawn(|| resume_unwind(Box::new("on purpose"))));
                Bad(Arc::clone(&dropped))
            })
        }));
        let payload = ended.map(std::mem::forget).unwrap_err();
        assert_eq!(text_of(&*payload), "a fibre of this scope has panicked");
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    });
}

/// The values that the last receiver has not had are dropped each by itself.
#[test]
fn a_broadcast_drops_values_by_themselves() {
    everywhere(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = fibre::channel::broadcast(10);
        (0..5).for_each(|_| drop(sender.send(Bad(Arc::clone(&dropped)))));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
        assert_eq!(dropped.load(Ordering::SeqCst), 5);
    });
}

/// A fibre that makes something else of the end of the time, or takes too long, is too late,
/// whether or not its end is noticed before that of the time.
#[test]
fn what_is_returned_after_the_time_is_too_late() {
    everywhere(|| {
        let run = |late: fn()| {
            let builder = Group::builder().timeout(SHORT);
            builder.run(|group| {
                group.spawn(move || {
                    late();
                    Ok::<_, ()>(())
                });
                Ok(group.results().count())
            })
        };
        let computes = || {
            let since = Instant::now();
            while since.elapsed() < 2 * SHORT {
                std::hint::spin_loop();
            }
        };
        assert_eq!(run(computes), Err(GroupError::TimedOut));
        let makes_light_of_it = || assert!(fibre::sleep_within(LONG).is_err());
        assert_eq!(run(makes_light_of_it), Err(GroupError::TimedOut));
    });
}
