//! How fibres end, and what ends their waits: joins, cancellation, time-outs, scopes, groups.

use super::crowd::{Inside, Patience, ms, pause, start, sum};
use fibre::activity::{Activity, Work};
use fibre::channel::bounded;
use fibre::sync::{Event, Mutex, RwLock, Semaphore};
use fibre::{CancelToken, Group, GroupError, Limit, WaitError};
use fibre_test::Sim;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A handle gives what its fibre returns to the one that joins it, or stays with who gave up.
pub fn join(sim: &Sim) {
    let token = CancelToken::new();
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..3)
            .map(|number| {
                let (mut patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, &token, move || {
                    let mut handle = fibre::spawn(move || {
                        fibre::sleep(stay);
                        number
                    });
                    let joined = loop {
                        match handle.join_within(patience.limit()) {
                            Ok(joined) => break joined,
                            Err(again) => handle = again,
                        }
                        patience = patience.after_failure();
                        fibre::sleep(ms(1));
                    };
                    assert_eq!(joined.ok(), Some(number), "another result");
                    0
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(0..4)));
        token.cancel();
        sum(fibres);
    });
}

/// A request to cancel wins over what comes after it.
pub fn request(sim: &Sim) {
    let (go, permits, other) = (Arc::new(Event::new()), Semaphore::new(0), Event::new());
    let kind = sim.draw(0..3);
    let ended = fibre::scope(|scope| {
        let goes = Arc::clone(&go);
        let mut child = fibre::spawn(move || goes.wait());
        let (permits, other) = (&permits, &other);
        let waits = scope.spawn(move || match kind {
            0 => child
                .join_within(Limit::Cancellation)
                .map_or(true, |_| false),
            1 => permits.acquire_within(Limit::Cancellation) == Err(WaitError::Cancelled),
            _ => fibre::select! {
                _ = child.finished_arm() => false,
                () = other.wait_arm() => false,
                within(Limit::Cancellation) => true,
            },
        });
        sim.settle();
        waits.cancel();
        go.set();
        permits.release();
        waits.join().expect("it panicked")
    });
    assert!(ended, "a later wake-up wins over a request: {kind}");
    go.set();
    sim.settle();
}

/// Sets a time-out where that of others is not noticed.
fn time_out_in_shield() -> u64 {
    let inner = fibre::timeout(ms(1), || fibre::sleep(ms(9)));
    assert!(inner.is_err(), "a time-out in a shield has no effect");
    0
}

/// What a time-out unwinds has taken nothing, and what was handed over meanwhile is passed on.
pub fn time_outs(sim: &Sim) {
    let (permits, lock, shared) = (Semaphore::new(1), Mutex::new(()), RwLock::new(()));
    let (sender, receiver) = bounded::<u64>(1);
    let inside = Inside::default();
    let got = fibre::scope(|scope| {
        let fibres: Vec<_> = (0..4)
            .map(|_| {
                let (time, stay, call) = (ms(sim.draw(1..4)), pause(sim), sim.draw(0..6));
                let (permits, lock, shared) = (&permits, &lock, &shared);
                let (receiver, inside) = (&receiver, &inside);
                scope.spawn(move || {
                    let body = || match call {
                        0 => {
                            permits.acquire();
                            let freed = scopeguard(|| permits.release());
                            inside.stay(1, stay);
                            drop(freed);
                            0
                        }
                        1 => {
                            let _guard = lock.lock();
                            fibre::sleep(stay);
                            0
                        }
                        2 | 3 => {
                            let _guards = match call {
                                2 => (Some(shared.write()), None),
                                _ => (None, Some(shared.read())),
                            };
                            fibre::sleep(stay);
                            0
                        }
                        4 => fibre::shield(time_out_in_shield),
                        _ => receiver.recv().unwrap_or(0),
                    };
                    let began = Instant::now();
                    let got = fibre::timeout(time, body);
                    let took = Instant::now() - began;
                    assert!(
                        took <= time.max(ms(1)) + ms(2),
                        "it lasted {took:?} of {time:?}"
                    );
                    match got {
                        Ok(got) => got,
                        Err(late) => late.into_value().unwrap_or(0),
                    }
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(0..4)));
        sender.send(1).expect("somebody has closed it");
        sum(fibres)
    });
    assert_eq!(got + receiver.len() as u64, 1, "a value is lost");
    assert_eq!(permits.available(), 1, "a permit is lost");
    assert!(
        lock.try_lock().is_some() && shared.try_write().is_some(),
        "a lock is lost"
    );
}

/// Calls a closure when it is dropped.
fn scopeguard(call: impl Fn()) -> impl Drop {
    struct Guard<F: Fn()>(F);
    impl<F: Fn()> Drop for Guard<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    Guard(call)
}

/// A scope ends when its fibres have ended, and hands their panic on.
pub fn scope(sim: &Sim) {
    let (ended, panics) = (AtomicU64::new(0), sim.draw(0..5));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        fibre::scope(|scope| {
            for number in 0..3 {
                let (stay, ended) = (pause(sim), &ended);
                let handle = scope.spawn(move || {
                    fibre::sleep(stay);
                    let _ends = scopeguard(|| {
                        ended.fetch_add(1, SeqCst);
                    });
                    if number == panics {
                        resume_unwind(Box::new(()));
                    }
                });
                fibre::sleep(pause(sim));
                drop(handle);
            }
        });
    }));
    assert_eq!(ended.load(SeqCst), 3, "it did not wait for all");
    assert_eq!(outcome.is_err(), panics < 3, "a panic is lost");
}

/// A group has all results, or the first failure; and so has one that fails by its body.
pub fn group(sim: &Sim) {
    // One fibre fails, or two, or none.
    let (fails, fails_too) = (sim.draw(0..6), sim.draw(0..6));
    let limit = 1 + sim.draw(0..3) as usize;
    let stays = [0; 4].map(|_| pause(sim));
    let (inside, first) = (Inside::default(), AtomicU64::new(99));
    let outcome = Group::builder().limit(limit).run(|group| {
        for (number, &stay) in (0..).zip(&stays) {
            let (inside, first) = (&inside, &first);
            group.spawn(move || {
                inside.stay(limit, stay);
                if [fails, fails_too].contains(&number) {
                    let _ = first.compare_exchange(99, number, SeqCst, SeqCst);
                    return Err(number);
                }
                Ok(number)
            });
        }
        let results: u64 = group.results().sum();
        Ok(results)
    });
    match outcome {
        Ok(sum) => assert_eq!((sum, first.load(SeqCst)), (6, 99), "a result is lost"),
        Err(GroupError::Failed(number)) => {
            assert_eq!(number, first.load(SeqCst), "a later failure")
        }
        Err(other) => panic!("another end: {other:?}"),
    }
}

/// The first results end the rest; time ends all.
pub fn first_results(sim: &Sim) {
    let stays = [0; 3].map(|_| ms(sim.draw(1..5)));
    let (time, wanted) = (ms(sim.draw(2..6)), 1 + sim.draw(0..3) as usize);
    let outcome = Group::builder().timeout(time).run(|group| {
        for stay in stays {
            group.spawn(move || {
                fibre::sleep_within(stay).map_err(|_| ())?;
                Ok::<_, ()>(stay)
            });
        }
        match group.quorum(wanted) {
            Ok(results) => Ok(results),
            Err(_) => Err(()),
        }
    });
    let mut sorted = stays;
    sorted.sort_unstable();
    let last = sorted[wanted - 1];
    match outcome {
        Ok(mut results) => {
            results.sort_unstable();
            assert!(
                last <= time && results == sorted[..wanted],
                "other results: {results:?}"
            );
        }
        Err(_) => assert!(last >= time, "it ended early"),
    }
}

/// Counts its runs, and waits in each.
struct Counts {
    runs: AtomicU64,
    due: AtomicU64,
    seen: AtomicU64,
    stay: Duration,
}

impl Work for Counts {
    fn run(this: &Activity<Self>) {
        let due = this.due.load(SeqCst);
        this.runs.fetch_add(1, SeqCst);
        fibre::sleep(this.stay);
        this.seen.store(due, SeqCst);
    }
}

/// What schedules an activity is followed by a run that begins later.
pub fn activity(sim: &Sim) {
    let work = Counts {
        runs: AtomicU64::new(0),
        due: AtomicU64::new(0),
        seen: AtomicU64::new(0),
        stay: pause(sim),
    };
    let activity = Activity::new(None, work).expect("no activity");
    fibre::scope(|scope| {
        for _ in 0..3 {
            let (stay, activity) = (pause(sim), activity.clone());
            scope.spawn(move || {
                for _ in 0..2 {
                    activity.due.fetch_add(1, SeqCst);
                    activity.schedule().expect("it has stopped");
                    fibre::sleep(stay);
                }
            });
        }
    });
    sim.advance(ms(20));
    assert_eq!(activity.seen.load(SeqCst), 6, "nobody saw the last one");
    assert!(
        activity.is_idle() && activity.runs.load(SeqCst) <= 6,
        "too many runs"
    );
}
