//! Supervisors as Erlang's `supervisor` behaviour has them.
//!
//! | there | here |
//! |---|---|
//! | `one_for_one` | a group, and `restarts.run` in its fibres |
//! | `one_for_all` | `restarts.run` around a group |
//! | `intensity` and `period` | `Restarts::new(intensity, period)`, which the children share |
//! | `transient` child | `restarts.run`: what returns `Ok` has ended |
//! | `permanent` child | one that returns an error when it ends, too |
//! | `temporary` child | a fibre without `restarts.run`, in a group that keeps going |
//! | a tree | a group in a fibre of a group |

use super::{LONG, SHORT, everywhere, no_results};
use fibre::sync::Event;
use fibre::{Group, GroupError, Restarts, group};
use std::sync::atomic::{AtomicU32, Ordering};

/// A child that fails so often, and then waits until it is shut down.
fn child(fails: u32, runs: &AtomicU32) -> Result<(), &'static str> {
    match runs.fetch_add(1, Ordering::Relaxed) < fails {
        true => Err("crashed"),
        false => fibre::sleep_within(LONG).map_err(|_| "shut down"),
    }
}

/// `one_for_one`: only the child that crashes is started again. As many restarts as the intensity
/// are fine; one more within the period ends the supervisor, which shuts down its other children
/// and hands on the reason.
#[test]
fn one_for_one_has_an_intensity() {
    everywhere(|| {
        for (fails, survives) in [(0, true), (3, true), (4, false)] {
            let restarts = Restarts::new(3, LONG);
            let (crashing, steady) = (AtomicU32::new(0), AtomicU32::new(0));
            let ended: Result<(), _> = group(|supervisor| {
                no_results(supervisor);
                supervisor.run(|| restarts.run(|| child(0, &steady)));
                supervisor.run(|| restarts.run(|| child(fails, &crashing)));
                let is_settled = || crashing.load(Ordering::Relaxed) > fails;
                while !is_settled() && !supervisor.has_failed() {
                    fibre::yield_now();
                }
                if survives {
                    while steady.load(Ordering::Relaxed) == 0 {
                        fibre::yield_now();
                    }
                    supervisor.end_rest();
                }
                Ok(())
            });
            let expected = match survives {
                true => Ok(()),
                false => Err(GroupError::Failed("crashed")),
            };
            assert_eq!(ended, expected);
            assert_eq!(crashing.into_inner(), (fails + 1).min(4));
            assert_eq!(steady.into_inner(), 1, "its sibling was not restarted");
        }
    });
}

/// The intensity is the supervisor's: crashes of all children count together.
#[test]
fn children_share_the_intensity() {
    everywhere(|| {
        let restarts = Restarts::new(3, LONG);
        let runs = AtomicU32::new(0);
        let ended: Result<(), _> = group(|supervisor| {
            no_results(supervisor);
            for _ in 0..2 {
                supervisor.run(|| restarts.run(|| child(u32::MAX, &runs)));
            }
            Ok(())
        });
        assert_eq!(ended, Err(GroupError::Failed("crashed")));
        // Three restarts; a child that has not begun before the end does not run.
        assert!((4..=5).contains(&runs.into_inner()));
    });
}

/// Crashes that lie further apart than the period are forgotten.
#[test]
fn old_crashes_are_forgotten() {
    everywhere(|| {
        let restarts = Restarts::new(2, SHORT);
        let runs = AtomicU32::new(0);
        let ended = group(|supervisor| {
            supervisor.spawn(|| {
                restarts.run(|| match runs.fetch_add(1, Ordering::Relaxed) {
                    run @ 0..8 => {
                        if run % 2 == 0 {
                            fibre::sleep(2 * SHORT);
                        }
                        Err("crashed")
                    }
                    runs => Ok(runs),
                })
            });
            supervisor.next().ok_or("no result")
        });
        assert_eq!(ended, Ok(8));
    });
}

/// `one_for_all`: when one crashes, its siblings are ended and all begin again.
#[test]
fn one_for_all() {
    everywhere(|| {
        let restarts = Restarts::new(5, LONG);
        let (rounds, ended) = (AtomicU32::new(0), AtomicU32::new(0));
        let done = restarts.run(|| {
            let round = rounds.fetch_add(1, Ordering::Relaxed);
            let begun = Event::new();
            group(|children| {
                no_results(children);
                children.run(|| {
                    begun.set();
                    let was_ended = fibre::sleep_within(LONG).is_err();
                    ended.fetch_add(u32::from(was_ended), Ordering::Relaxed);
                    Ok(())
                });
                children.run(|| {
                    begun.wait();
                    Err(round)
                });
                if round == 3 {
                    begun.wait();
                    children.end_rest();
                }
                Ok(round)
            })
            .or_else(|error| match error.into_error() {
                Some(3) => Ok(3), // it came before the end of the rest
                _ => Err("a child has crashed"),
            })
        });
        assert_eq!((done, rounds.into_inner()), (Ok(3), 4));
        assert_eq!(ended.into_inner(), 4, "each sibling has been ended once");
    });
}

/// A tree: the inner supervisor gives up, which is a crash of the outer one's child; the outer one
/// starts it again, with all of its children, until it gives up, too.
#[test]
fn a_tree_hands_failures_up() {
    everywhere(|| {
        let outer = Restarts::new(2, LONG);
        let (leaves, inner_supervisors) = (AtomicU32::new(0), AtomicU32::new(0));
        let ended: Result<(), _> = group(|top| {
            no_results(top);
            top.run(|| {
                outer.run(|| {
                    inner_supervisors.fetch_add(1, Ordering::Relaxed);
                    let restarts = Restarts::new(3, LONG);
                    let inner: Result<(), GroupError<&str>> = group(|inner| {
                        no_results(inner);
                        inner.run(|| restarts.run(|| child(u32::MAX, &leaves)));
                        Ok(())
                    });
                    inner.map_err(|_| "the inner supervisor gave up")
                })
            });
            Ok(())
        });
        assert_eq!(
            ended,
            Err(GroupError::Failed("the inner supervisor gave up"))
        );
        assert_eq!(
            (inner_supervisors.into_inner(), leaves.into_inner()),
            (3, 3 * 4)
        );
    });
}

/// `permanent`, `transient` and `temporary` children, by what they return and how they are started.
#[test]
fn kinds_of_children() {
    everywhere(|| {
        let restarts = Restarts::new(2, LONG);
        let runs = [(); 3].map(|()| AtomicU32::new(0));
        let count = |kind: usize| runs[kind].fetch_add(1, Ordering::Relaxed);
        let items = Group::builder().keep_going().run(|supervisor| {
            // Ends by itself, which is a reason to start it again.
            supervisor.spawn(|| {
                restarts.run(|| {
                    count(0);
                    Err::<(), _>("has ended")
                })
            });
            supervisor.spawn(|| {
                restarts.run(|| {
                    count(1);
                    Ok(())
                })
            });
            supervisor.spawn(|| {
                count(2);
                Err("crashed")
            });
            Ok(supervisor
                .results_in_order()
                .map(|item| item.map_err(|e| e.to_string()))
                .collect())
        });
        let items: Vec<Result<(), String>> = items.unwrap();
        assert_eq!(
            items,
            [Err("has ended".into()), Ok(()), Err("crashed".into())]
        );
        assert_eq!(runs.map(AtomicU32::into_inner), [3, 1, 1]);
    });
}
