//! Objects that exclude others: locks, conditions under a lock, values that are made once.

use super::crowd::{Inside, Patience, ms, pause, start, sum};
use fibre::sync::lock::{Exchange, RawLock};
use fibre::sync::{Condvar, Mutex, OnceLock, RwLock, RwLockWriteGuard};
use fibre::{CancelToken, Limit};
use fibre_test::Sim;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Asserts that all that got the lock were alone, and that it is free in the end.
fn exclusion<L: RawLock + 'static>(sim: &Sim, lock: &Mutex<u64, L>) {
    let (token, alone) = (&CancelToken::new(), &Inside::default());
    let turns = fibre::scope(|scope| {
        let fibres: Vec<_> = (0..4)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, token, move || {
                    let turn = |_| {
                        let Ok(mut guard) = lock.lock_within(patience.limit()) else {
                            return 0;
                        };
                        *guard += 1;
                        alone.stay(1, stay);
                        1
                    };
                    (0..2).map(turn).sum()
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(1..6)));
        token.cancel();
        sum(fibres)
    });
    let count = lock.try_lock().map(|count| *count);
    assert_eq!(count, Some(turns), "a turn is lost, or the lock is");
}

pub fn mutex(sim: &Sim) {
    exclusion(sim, &Mutex::new(0));
}

pub fn exchange_mutex(sim: &Sim) {
    exclusion(sim, &Mutex::<_, Exchange>::with_lock(0));
}

/// Nobody is beside a writer.
pub fn rw_lock(sim: &Sim) {
    let (lock, token) = (&RwLock::new(0), &CancelToken::new());
    let (all, writers) = (&Inside::default(), &Inside::default());
    let writes = fibre::scope(|scope| {
        let fibres: Vec<_> = (0..6)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                let (writes, downgrades) = (sim.draw(0..6) < 2, sim.draw(0..2) == 0);
                let (begins, again) = (ms(sim.draw(0..4)), sim.draw(0..3) == 0);
                let turn = move || match writes {
                    true => {
                        let Ok(mut guard) = lock.write_within(patience.limit()) else {
                            return 0;
                        };
                        *guard += 1;
                        all.stay(1, stay);
                        if downgrades {
                            let _reads = RwLockWriteGuard::downgrade(guard);
                            all.stay(6, stay);
                        }
                        1
                    }
                    false => {
                        let Ok(_guard) = lock.read_within(patience.limit()) else {
                            return 0;
                        };
                        writers.assert_none();
                        all.stay(6, stay);
                        0
                    }
                };
                start(scope, token, move || {
                    fibre::sleep(begins);
                    turn() + if again { turn() } else { 0 }
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(1..6)));
        token.cancel();
        sum(fibres)
    });
    let count = lock.try_write().map(|count| *count);
    assert_eq!(count, Some(writes), "a write is lost, or the lock is");
}

/// A writer that gives up lets the readers behind it join those before it.
pub fn giving_up(sim: &Sim) {
    let (lock, token) = (&RwLock::new(()), &CancelToken::new());
    fibre::scope(|scope| {
        let guard = lock.read();
        let by_time = sim.draw(0..2) == 0;
        let writes = start(scope, token, move || match by_time {
            true => lock.write_timeout(ms(2)).is_none(),
            false => lock.write_within(Limit::Cancellation).is_err(),
        });
        fibre::sleep(ms(1));
        let reads = [
            scope.spawn(|| drop(lock.read())),
            scope.spawn(|| drop(lock.read())),
        ];
        fibre::sleep(pause(sim));
        token.cancel();
        sim.advance(ms(3));
        assert!(
            writes.join().expect("it panicked"),
            "it writes beside a reader"
        );
        let all = reads.iter().all(|reads| reads.is_finished());
        assert!(all, "a reader waits behind nobody");
        drop(guard);
    });
}

pub fn condvar(sim: &Sim) {
    queue(sim, &Mutex::new((None, false)));
}

pub fn exchange_condvar(sim: &Sim) {
    queue(sim, &Mutex::<_, Exchange>::with_lock((None, false)));
}

/// Takes a value of a queue with room for one, unless the limit comes first; and whether the queue
/// has ended.
fn take<L: RawLock>(
    queue: &Mutex<(Option<u64>, bool), L>,
    [room, values]: [&Condvar; 2],
    patience: Patience,
) -> (Option<u64>, bool) {
    let mut queue = queue.lock();
    let vain = |queue: &mut (Option<u64>, bool)| queue.0.is_none() && !queue.1;
    let came = values.wait_while_within(&mut queue, patience.limit(), vain);
    let value = queue.0.take();
    let ends = value.is_none() && queue.1;
    assert!(
        value.is_some() || ends || came.is_err(),
        "woken for nothing"
    );
    drop(queue);
    if value.is_some() {
        room.notify_one();
    }
    (value, ends)
}

/// A queue with room for one, with a condition for each side: all that was put in is taken out.
fn queue<L: RawLock + 'static>(sim: &Sim, queue: &Mutex<(Option<u64>, bool), L>) {
    let (room, values, token) = (&Condvar::new(), &Condvar::new(), &CancelToken::new());
    let give = |value| {
        let mut queue = queue.lock();
        room.wait_while(&mut queue, |queue| queue.0.is_some());
        queue.0 = Some(value);
        drop(queue);
        values.notify_one();
    };
    fibre::scope(|scope| {
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let mut patience = Patience::draw(sim);
                start(scope, token, move || {
                    let mut sum = 0;
                    loop {
                        let (value, ends) = take(queue, [room, values], patience);
                        sum += value.unwrap_or(0);
                        if ends {
                            break sum;
                        }
                        if value.is_none() {
                            patience = patience.after_failure();
                            fibre::sleep(ms(1));
                        }
                    }
                })
            })
            .collect();
        let givers: Vec<_> = [pause(sim), pause(sim)]
            .into_iter()
            .map(|stay| {
                scope.spawn(move || {
                    for value in 1..3 {
                        give(value);
                        fibre::sleep(stay);
                    }
                    0
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(0..4)));
        token.cancel();
        sum(givers);
        queue.lock().1 = true;
        values.notify_all();
        assert_eq!(sum(takers), 6, "a value is lost");
    });
}

/// The first initialiser may fail or panic; then the next caller makes the value.
pub fn once(sim: &Sim) {
    let (cell, token, alone) = (&OnceLock::new(), &CancelToken::new(), &Inside::default());
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..4)
            .map(|number| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                let (waits, fails) = (sim.draw(0..3) == 0, sim.draw(0..3));
                start(scope, token, move || {
                    if waits {
                        let seen = cell.wait_within(patience.limit());
                        return seen.map_or(0, |&value| value);
                    }
                    let make = || {
                        alone.stay(1, stay);
                        match fails {
                            0 => Err(()),
                            1 => resume_unwind(Box::new(())),
                            _ => Ok(number + 1),
                        }
                    };
                    let made = catch_unwind(AssertUnwindSafe(|| cell.get_or_try_init(make)));
                    made.map_or(0, |made| made.map_or(0, |&value| value))
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(0..4)));
        token.cancel();
        let value = *cell.get_or_init(|| 9);
        for fibre in fibres {
            let seen = fibre.join().expect("it panicked");
            assert!(seen == 0 || seen == value, "{seen} and {value}");
        }
        assert_eq!(cell.get(), Some(&value));
    });
}
