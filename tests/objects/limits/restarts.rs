//! What fails is run again, so often and no oftener.

use super::supervisors::{LONG, SHORT, everywhere, text};
use crate::support::{eventually, for_each_cluster, text_of, until_waiting};
use fibre::{Group, GroupError, Restarts, WaitKind, timeout};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What fails is run again, in its fibre, until it succeeds.
#[test]
fn what_fails_runs_again() {
    everywhere(|| {
        let restarts = Restarts::new(10, LONG);
        let tries = AtomicU32::new(0);
        let done = Group::builder().keep_going().run(|group| {
            group.spawn(|| {
                restarts.run(|| match tries.fetch_add(1, Ordering::Relaxed) {
                    0 | 2 => Err("no"),
                    1 => resume_unwind(Box::new("on purpose")),
                    tries => Ok(tries),
                })
            });
            Ok(text(group.next().unwrap()))
        });
        assert_eq!(done.unwrap(), "ok");
        assert_eq!(tries.into_inner(), 4);
    });
}

/// Beyond the limit, the last failure is handed on: of the group, or as an item. Fibres share it.
#[test]
fn restarts_have_a_limit() {
    everywhere(|| {
        let restarts = Restarts::new(4, LONG);
        let tries = AtomicU32::new(0);
        let fails = || {
            restarts.run(|| {
                tries.fetch_add(1, Ordering::Relaxed);
                Err::<(), _>("no")
            })
        };
        let ended = Group::builder().keep_going().run(|group| {
            group.spawn(fails);
            group.spawn(fails);
            Ok(group.results().map(text).collect::<Vec<_>>())
        });
        assert_eq!(ended.unwrap(), ["no", "no"]);
        assert_eq!(tries.load(Ordering::Relaxed), 2 + 4);
        let ended: Result<(), _> = fibre::group(|group| {
            group.spawn(fails);
            group.spawn(|| fibre::sleep_within(LONG).map_err(|_| "ended"));
            group.results().for_each(drop);
            Ok(())
        });
        assert_eq!(ended, Err(GroupError::Failed("no")));
        let panics = catch_unwind(AssertUnwindSafe(|| {
            Restarts::new(1, LONG).run(|| -> Result<(), ()> { resume_unwind(Box::new("last")) })
        }));
        assert_eq!(text_of(&*panics.unwrap_err()), "last");
    });
}

/// A group that ends waits for no pause, and a fibre that is ended does not restart.
#[test]
fn a_pause_ends_with_its_group() {
    everywhere(|| {
        let restarts = Restarts::new(10, LONG).backoff(LONG, LONG);
        let tries = AtomicU32::new(0);
        let first = Group::builder().keep_going().run(|group| {
            group.spawn(|| {
                restarts.run(|| {
                    tries.fetch_add(1, Ordering::Relaxed);
                    Err("no")
                })
            });
            group.spawn(|| {
                restarts.run(|| {
                    let ended = fibre::sleep_within(LONG).map_err(|_| "ended");
                    tries.fetch_add(1, Ordering::Relaxed);
                    ended.map(|()| 0)
                })
            });
            eventually(|| tries.load(Ordering::Relaxed) == 1);
            group.spawn(|| Ok(7));
            group.first().map_err(|_| "nobody")
        });
        assert_eq!(first, Ok(7));
        assert_eq!(tries.into_inner(), 2);
        let late = timeout(SHORT, || restarts.run(|| Err::<(), _>("no")));
        assert_eq!(late.unwrap_err().into_value(), Some(Err("no")));
    });
}

/// The panic before a pause has been dealt with: who is cancelled in the pause ends without it.
#[test]
fn a_panic_before_a_pause_that_is_ended_is_nobodys() {
    for_each_cluster(|_| {
        // Panics once, and tells its fibre's number.
        let pausing = |panicked: Arc<AtomicU64>| {
            let restarts = Restarts::new(10, LONG).backoff(LONG, LONG);
            move || {
                restarts.run(|| -> Result<(), &str> {
                    panicked.store(fibre::id().unwrap(), Ordering::SeqCst);
                    resume_unwind(Box::new("before the pause"))
                })
            }
        };
        let panicked = Arc::new(AtomicU64::new(0));
        let in_pause = || {
            eventually(|| panicked.load(Ordering::SeqCst) != 0);
            until_waiting(WaitKind::Sleep, &[panicked.swap(0, Ordering::SeqCst)]);
        };
        let joined = fibre::spawn(pausing(Arc::clone(&panicked)));
        in_pause();
        joined.cancel();
        let payload = joined.join().unwrap_err();
        assert!(payload.is::<fibre::Cancelled>(), "{}", text_of(&*payload));
        let scoped = pausing(Arc::clone(&panicked));
        let scoped = fibre::spawn(|| fibre::cancellable(scoped));
        in_pause();
        scoped.cancel();
        assert_eq!(scoped.join().unwrap(), Err(fibre::Cancelled));
        let ended: Result<(), GroupError<&str>> = fibre::group(|group| {
            group.spawn(pausing(Arc::clone(&panicked)));
            in_pause();
            Err("the body")
        });
        assert_eq!(ended, Err(GroupError::Failed("the body")));
        // One that panics in a fibre that has been cancelled is its failure.
        let cancelled = fibre::spawn(|| {
            let restarts = Restarts::new(10, LONG).backoff(LONG, LONG);
            restarts.run(|| -> Result<(), ()> {
                while !fibre::is_cancelled() {
                    fibre::yield_now();
                }
                resume_unwind(Box::new("afterwards"))
            })
        });
        cancelled.cancel();
        assert_eq!(text_of(&*cancelled.join().unwrap_err()), "afterwards");
    });
}
