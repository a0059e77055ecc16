//! The mutex.

use super::crowd;
use crate::support::{for_clusters, for_each_cluster, let_others_block};
use fibre::sync::Mutex;
use fibre::sync::lock::{Hybrid, RawLock, Settled};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One at a time has the mutex, whoever they are and however they leave their processor.
#[test]
fn mutex_excludes() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(0_usize), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(8, 3, move |me| {
            for round in 0..500 {
                let mut value = inside.0.lock();
                assert_eq!(inside.1.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                if (round + me) % 7 == 0 {
                    fibre::yield_now();
                }
                *value += 1;
                inside.1.fetch_sub(1, Ordering::SeqCst);
            }
        });
        assert_eq!(*shared.0.lock(), 11 * 500);
    });
}

/// Trying to lock never waits, and succeeds exactly when nobody has the mutex.
#[test]
fn try_lock_does_not_wait() {
    for_each_cluster(|_| {
        let mutex = Arc::new(Mutex::new(1));
        let guard = mutex.lock();
        let other = Arc::clone(&mutex);
        let refused = fibre::spawn(move || other.try_lock().is_none());
        assert!(refused.join().unwrap());
        assert_eq!(format!("{mutex:?}"), "Mutex(<locked>)");
        drop(guard);
        *mutex.try_lock().unwrap() += 1;
        assert_eq!(Arc::try_unwrap(mutex).unwrap().into_inner(), 2);
    });
}

/// A lock with a deadline gives up after it, not before, and then leaves no trace.
#[test]
fn lock_until_gives_up() {
    for_each_cluster(|_| {
        let mutex = Arc::new(Mutex::new(()));
        let guard = mutex.lock();
        let inside = Arc::clone(&mutex);
        crowd(4, 2, move |me| {
            let deadline = Instant::now() + Duration::from_millis(1 + me as u64);
            assert!(inside.lock_within(deadline).is_err());
            assert!(Instant::now() >= deadline);
        });
        drop(guard);
        drop(mutex.try_lock().expect("nobody has it"));
    });
}

/// Waiters with deadlines and without, against holders that come and go: each wake-up goes to
/// somebody who uses it.
#[test]
fn mixed_deadlines_lose_no_wake_up() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(0_usize), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(12, 2, move |me| {
            for round in 0..200_u64 {
                if me % 2 == 0 {
                    *inside.0.lock() += 1;
                } else {
                    let time = Duration::from_micros(round % 50);
                    match inside.0.lock_within(Instant::now() + time) {
                        Ok(mut value) => {
                            *value += 1;
                            fibre::yield_now();
                        }
                        Err(_) => drop(inside.1.fetch_add(1, Ordering::SeqCst)),
                    }
                }
            }
        });
        let given_up = shared.1.load(Ordering::SeqCst);
        assert_eq!(*shared.0.lock() + given_up, 14 * 200);
    });
}

/// A fibre that locks in a loop without blocking does not keep the others out for good.
#[test]
fn barging_ends() {
    for_clusters(&[2, 4], |_| {
        let mutex = Arc::new(Mutex::new(false));
        let other = Arc::clone(&mutex);
        let barger = fibre::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(30);
            while !*other.lock() {
                assert!(Instant::now() < deadline, "the other one starves");
                fibre::yield_now();
            }
        });
        fibre::yield_now();
        *mutex.lock() = true;
        barger.join().unwrap();
    });
}

/// A waiter gets the mutex in the end, though whoever wakes it has locked again before it runs.
#[test]
fn holders_that_yield_starve_nobody() {
    for_clusters(&[1], |_| {
        let mutex = Arc::new(Mutex::new(()));
        let arrived = Arc::new(AtomicBool::new(false));
        let (inside, seen) = (Arc::clone(&mutex), Arc::clone(&arrived));
        let holder = fibre::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !seen.load(Ordering::SeqCst) && Instant::now() < deadline {
                let guard = inside.lock();
                fibre::yield_now();
                drop(guard);
            }
            seen.load(Ordering::SeqCst)
        });
        let_others_block();
        drop(mutex.lock());
        arrived.store(true, Ordering::SeqCst);
        assert!(holder.join().unwrap(), "the other one starves");
    });
}

/// Once one of many waiters has waited too long, all who waited behind it have their turn as well,
/// and need not wait too long one after the other.
#[test]
fn patience_is_lost_together() {
    const WAITERS: usize = 10;
    for_clusters(&[1], |_| {
        let mutex = Arc::new(Mutex::new(()));
        let guard = mutex.lock();
        let barged = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..WAITERS)
            .map(|_| {
                let (mutex, barged) = (Arc::clone(&mutex), Arc::clone(&barged));
                fibre::spawn(move || {
                    drop(mutex.lock());
                    barged.load(Ordering::SeqCst)
                })
            })
            .collect();
        let_others_block();
        drop(guard);
        // Whoever has been woken finds it taken again.
        while !waiters.iter().all(fibre::JoinHandle::is_finished) {
            if let Some(_guard) = mutex.try_lock() {
                barged.fetch_add(1, Ordering::SeqCst);
                fibre::yield_now();
            }
            if mutex.is_locked() {
                fibre::yield_now();
            }
        }
        let seen: Vec<_> = waiters.into_iter().map(|one| one.join().unwrap()).collect();
        let first = seen.iter().filter(|&&barged| barged == seen[0]).count();
        assert!(first > WAITERS / 2, "{seen:?}");
    });
}

/// What a fibre notes of its turn with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// It has the lock.
    Has(usize),
    /// It goes on after its turn.
    GoesOn(usize),
}

/// What fibres of one processor note that wait for a lock, each of which has it for so long.
fn turns_of<L: RawLock + 'static>(
    fibres: usize,
    length: Duration,
    notes: Mutex<Vec<Note>, L>,
) -> Vec<Note> {
    let notes = Arc::new(notes);
    let guard = notes.lock();
    let waiter = |number| {
        let notes = Arc::clone(&notes);
        fibre::spawn(move || {
            let mut guard = notes.lock();
            guard.push(Note::Has(number));
            let since = Instant::now();
            while since.elapsed() < length {
                std::hint::spin_loop();
            }
            drop(guard);
            notes.lock().push(Note::GoesOn(number));
        })
    };
    let waiters: Vec<_> = (0..fibres).map(waiter).collect();
    let_others_block();
    drop(guard);
    waiters
        .into_iter()
        .for_each(|waiter| waiter.join().unwrap());
    notes.lock().clone()
}

/// Whether a fibre had the lock before the one went on that had it before.
fn are_handed_on(noted: &[Note]) -> bool {
    noted
        .windows(2)
        .any(|pair| matches!(pair, [Note::Has(_), Note::Has(_)]))
}

/// Where turns are long, the next fibre of the processor has the lock at once; the unlocker of a
/// settled lock goes on first. There are enough fibres for some turns to be measured.
#[test]
fn long_turns_are_handed_on_in_place() {
    const LENGTH: Duration = Duration::from_micros(20);
    for_clusters(&[1], |_| {
        let noted = turns_of::<Hybrid>(20, LENGTH, Mutex::with_lock(Vec::new()));
        assert!(are_handed_on(&noted), "{noted:?}");
        let noted = turns_of::<Settled>(20, LENGTH, Mutex::with_lock(Vec::new()));
        assert!(!are_handed_on(&noted), "{noted:?}");
    });
}
