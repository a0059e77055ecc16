//! The read-write lock.

use super::{ends_by_cancellation, freed_by_who_waits, mixed_crowd};
use crate::support::{
    Random, eventually, for_clusters, for_each_cluster, let_others_block, until_waiting,
};
use fibre::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use fibre::{JoinHandle, Limit, WaitKind};
use fibre_sync::RawRwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Readers are among themselves, and a writer is alone; nothing that was written is lost.
#[test]
fn readers_share_and_writers_exclude() {
    for_each_cluster(|_| {
        let shared = Arc::new((RwLock::new(0_usize), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        mixed_crowd(move |me| {
            let (lock, within) = &*inside;
            for round in 0..200 {
                if (me + round) % 3 == 0 {
                    let mut value = lock.write();
                    assert_eq!(within.fetch_add(1000, Ordering::SeqCst), 0, "not alone");
                    if round % 7 == 0 {
                        fibre::yield_now();
                    }
                    *value += 1;
                    within.fetch_sub(1000, Ordering::SeqCst);
                } else {
                    let value = lock.read();
                    let before = *value;
                    assert!(
                        within.fetch_add(1, Ordering::SeqCst) < 1000,
                        "with a writer"
                    );
                    if round % 5 == 0 {
                        fibre::yield_now();
                    }
                    within.fetch_sub(1, Ordering::SeqCst);
                    assert_eq!(*value, before);
                }
            }
        });
        assert_eq!(*shared.0.read(), 9 * 200 / 3);
    });
}

/// Readers really are inside together, on one processor as on many, fibres as threads.
#[test]
fn readers_meet() {
    for_each_cluster(|_| {
        let shared = Arc::new((RwLock::new(()), fibre::sync::Barrier::new(9)));
        mixed_crowd(move |_| {
            let _reading = shared.0.read();
            shared.1.wait();
        });
    });
}

/// Takes the lock in a fibre, writes its name down, and holds on for a moment.
fn enter(
    shared: &Arc<(RwLock<()>, Mutex<Vec<&'static str>>)>,
    name: &'static str,
) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    let fibre = fibre::spawn(move || {
        let stay = |name| {
            shared.1.lock().push(name);
            fibre::yield_now();
        };
        if name.starts_with('w') {
            let _writing = shared.0.write();
            stay(name);
        } else {
            let _reading = shared.0.read();
            stay(name);
        }
    });
    let_others_block();
    fibre
}

/// Readers and writers take turns: after a writer all readers that wait, after readers one writer.
#[test]
fn phases_alternate() {
    for_clusters(&[1], |_| {
        let shared = Arc::new((RwLock::new(()), Mutex::new(Vec::new())));
        let writing = shared.0.write();
        let fibres = ["w1", "r1", "w2", "r2", "r3"].map(|name| enter(&shared, name));
        drop(writing);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(*shared.1.lock(), ["r1", "r2", "r3", "w1", "w2"]);

        shared.1.lock().clear();
        let reading = shared.0.read();
        assert!(shared.0.try_read().is_some());
        let fibres = ["w1", "r1", "w2", "r2"].map(|name| enter(&shared, name));
        assert!(shared.0.try_read().is_none(), "a writer waits");
        assert!(
            shared.0.read_within(Instant::now()).is_err(),
            "a writer waits"
        );
        drop(reading);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(*shared.1.lock(), ["w1", "r1", "r2", "w2"]);
    });
}

/// A lock is not kept for those that have been woken and do not run yet: whoever runs may have it
/// first, a batch of readers or a writer having waited.
#[test]
fn nobody_keeps_it_who_does_not_run() {
    for_clusters(&[1], |_| {
        for (written, writes) in [(true, false), (true, true), (false, true)] {
            let lock = Arc::new(RwLock::new(0));
            let (writing, reading) = match written {
                true => (Some(lock.write()), None),
                false => (None, Some(lock.read())),
            };
            let waiters = [(); 3].map(|()| {
                let lock = Arc::clone(&lock);
                fibre::spawn(move || match writes {
                    true => *lock.write() += 1,
                    false => _ = *lock.read(),
                })
            });
            until_waiting(WaitKind::RwLock, &waiters.each_ref().map(JoinHandle::id));
            drop((writing, reading));
            let again = lock.try_write();
            *again.expect("it is kept for a fibre that does not run") += 1;
            waiters.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(*lock.read(), if writes { 4 } else { 1 });
        }
    });
}

/// A fibre that goes on and on, with pauses in which it has the lock, wakes others in vain only
/// once: then the lock is handed over.
#[test]
fn who_was_woken_in_vain_is_next() {
    for_clusters(&[1], |_| {
        for writes in [false, true] {
            let shared = Arc::new((RwLock::new(()), AtomicUsize::new(0)));
            let writing = shared.0.write();
            let waiters = [(); 3].map(|()| {
                let shared = Arc::clone(&shared);
                fibre::spawn(move || {
                    match writes {
                        true => drop(shared.0.write()),
                        false => drop(shared.0.read()),
                    }
                    shared.1.fetch_add(1, Ordering::SeqCst);
                })
            });
            let ids = waiters.each_ref().map(JoinHandle::id);
            until_waiting(WaitKind::RwLock, &ids);
            drop(writing);
            // Those that were woken find it taken again, and wait again.
            let writing = shared.0.try_write().unwrap();
            let_others_block();
            until_waiting(WaitKind::RwLock, &ids);
            drop(writing);
            assert!(
                shared.0.try_write().is_none(),
                "it has not been handed over"
            );
            assert_eq!(shared.1.load(Ordering::SeqCst), 0);
            waiters.into_iter().for_each(|one| one.join().unwrap());
            assert!(shared.0.try_write().is_some());
        }
    });
}

/// How often one side got the lock between a call of the other side and its success, at most, if
/// four fibres of the one side are always there and one of the other calls a hundred times.
fn most_overtakings(flood: fn(&RwLock<()>, &AtomicUsize), call: fn(&RwLock<()>)) -> usize {
    let shared = Arc::new((RwLock::new(()), AtomicUsize::new(0), AtomicBool::new(false)));
    let crowd: Vec<_> = (0..4)
        .map(|_| {
            let shared = Arc::clone(&shared);
            fibre::spawn(move || {
                while !shared.2.load(Ordering::SeqCst) {
                    flood(&shared.0, &shared.1);
                }
            })
        })
        .collect();
    let mut most = 0;
    for _ in 0..100 {
        fibre::yield_now();
        let before = shared.1.load(Ordering::SeqCst);
        call(&shared.0);
        most = most.max(shared.1.load(Ordering::SeqCst) - before);
    }
    shared.2.store(true, Ordering::SeqCst);
    crowd.into_iter().for_each(|fibre| fibre.join().unwrap());
    most
}

/// A flood of readers, of whom one at least is always inside, keeps no writer out: once it waits,
/// it is the next.
#[test]
fn readers_starve_no_writer() {
    for_clusters(&[1], |_| {
        let most = most_overtakings(
            |lock, count| {
                let reading = lock.read();
                count.fetch_add(1, Ordering::SeqCst);
                fibre::yield_now();
                // The next one comes before this one goes.
                fibre::yield_now();
                drop(reading);
            },
            |lock| drop(lock.write()),
        );
        // It may have let the others run once before it began to wait.
        assert!(most <= 8, "{most} readers overtook a writer");
    });
}

/// A flood of writers, of whom one always waits, keeps no reader out: after one of them it is its
/// turn.
#[test]
fn writers_starve_no_reader() {
    for_clusters(&[1], |_| {
        let most = most_overtakings(
            |lock, count| {
                let writing = lock.write();
                count.fetch_add(1, Ordering::SeqCst);
                fibre::yield_now();
                drop(writing);
            },
            |lock| drop(lock.read()),
        );
        assert!(most <= 8, "{most} writers overtook a reader");
    });
}

/// The same floods on many processors: everybody comes to an end.
#[test]
fn floods_end() {
    for_clusters(&[2, 4], |_| {
        most_overtakings(
            |lock, _| {
                let reading = lock.read();
                fibre::yield_now();
                drop(reading);
            },
            |lock| drop(lock.write()),
        );
        most_overtakings(|lock, _| drop(lock.write()), |lock| drop(lock.read()));
    });
}

/// Attempts fail when they would wait; deadlines and cancellation end a wait without a trace.
#[test]
fn waits_give_up() {
    for_each_cluster(|_| {
        let lock = Arc::new(RwLock::new(1));
        let (before, time) = (Instant::now(), Duration::from_millis(2));
        let writing = lock.write();
        assert_eq!(format!("{lock:?}"), "RwLock(<locked>)");
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        assert!(lock.read_timeout(time).is_none() && lock.write_timeout(time).is_none());
        assert!(before.elapsed() >= 2 * time);
        assert!(lock.read_within(before).is_err() && lock.write_within(before).is_err());
        let inside = Arc::clone(&lock);
        ends_by_cancellation(move || inside.read_within(Limit::Cancellation).is_err());
        let inside = Arc::clone(&lock);
        ends_by_cancellation(move || inside.write_within(Limit::Cancellation).is_err());
        let inside = Arc::clone(&lock);
        ends_by_cancellation(move || inside.read_timeout(Duration::MAX).is_none());
        let inside = Arc::clone(&lock);
        ends_by_cancellation(move || inside.write_timeout(Duration::MAX).is_none());
        drop(writing);
        assert!(lock.read_within(before).is_ok() && lock.write_within(before).is_ok());
        assert!(lock.read_within(Limit::Cancellation).is_ok());
        assert!(lock.write_within(Limit::Cancellation).is_ok());
        assert_eq!(format!("{lock:?}"), "RwLock(1)");
        *lock.try_write().unwrap() = 2;
        assert_eq!(Arc::try_unwrap(lock).unwrap().into_inner(), 2);
    });
}

/// A writer that gives up takes along what it held back: the readers behind it come in while
/// others still read.
#[test]
fn who_gives_up_holds_back_nobody() {
    for_each_cluster(|_| {
        let lock = Arc::new(RwLock::new(()));
        for cancels in [true, false] {
            let reading = lock.read();
            let writer = Arc::clone(&lock);
            let writer = fibre::spawn(move || match cancels {
                true => writer.write_within(Limit::Cancellation).is_err(),
                false => writer.write_timeout(Duration::from_millis(5)).is_none(),
            });
            let_others_block();
            let readers = [(); 3].map(|()| {
                let lock = Arc::clone(&lock);
                fibre::spawn(move || drop(lock.read()))
            });
            let_others_block();
            writer.cancel();
            assert!(writer.join().unwrap());
            readers
                .into_iter()
                .for_each(|reader| reader.join().unwrap());
            assert!(lock.try_write().is_none());
            drop(reading);
            assert!(lock.try_write().is_some());
        }
    });
}

/// A writer that goes on as a reader lets the readers in, and no writer, who would change what it
/// reads.
#[test]
fn a_writer_becomes_a_reader() {
    for_each_cluster(|_| {
        let lock = Arc::new(RwLock::new(0));
        let mut writing = lock.write();
        let writer = Arc::clone(&lock);
        let writer = fibre::spawn(move || *writer.write() = 2);
        let reader = Arc::clone(&lock);
        let reader = fibre::spawn(move || *reader.read());
        // A reader that comes later waits behind the writer.
        until_waiting(WaitKind::RwLock, &[writer.id(), reader.id()]);
        *writing = 1;
        let reading = RwLockWriteGuard::downgrade(writing);
        assert_eq!(reader.join().unwrap(), 1);
        let_others_block();
        assert!(*reading == 1 && !writer.is_finished());
        drop(reading);
        writer.join().unwrap();
        assert_eq!(*lock.read(), 2);
        let reading = RwLockWriteGuard::downgrade(lock.write());
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
        drop(reading);
        assert!(lock.try_write().is_some());
    });
}

/// All ways in and out at random, with and without limits: nobody is forgotten, nothing is lost.
#[test]
fn mixed_limits_lose_nobody() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let shared = Arc::new((RwLock::new(0_usize), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        mixed_crowd(move |me| {
            let (lock, writes) = &*inside;
            let mut random = Random::new(seed.wrapping_add(me as u64));
            for _ in 0..200 {
                let time = Duration::from_micros(random.below(50) as u64);
                let written = match random.below(6) {
                    0 => Some(lock.write()),
                    1 | 2 => lock.write_timeout(time),
                    3 => {
                        drop(lock.read());
                        None
                    }
                    _ => {
                        drop(lock.read_timeout(time));
                        None
                    }
                };
                let Some(mut value) = written else { continue };
                *value += 1;
                writes.fetch_add(1, Ordering::SeqCst);
                if random.one_in(3) {
                    fibre::yield_now();
                }
                if random.one_in(2) {
                    drop(RwLockWriteGuard::downgrade(value));
                }
            }
        });
        eventually(|| shared.0.try_write().is_some());
        assert_eq!(
            *shared.0.read(),
            shared.1.load(Ordering::SeqCst),
            "seed {seed}"
        );
    });
}

/// A lock that the other side will give back.
fn taken(write: bool) -> RawRwLock {
    let lock = RawRwLock::new();
    assert!(if write {
        lock.try_write()
    } else {
        lock.try_read()
    });
    lock
}

/// The next owner of the lock may free it, whichever way it was had before.
#[test]
fn who_gets_it_may_free_it() {
    let write = |lock: &RawRwLock| assert!(lock.write(Limit::None));
    let read = |lock: &RawRwLock| assert!(lock.read(Limit::None));
    // SAFETY: what has been taken before.
    let unlock = |lock: &RawRwLock| unsafe { lock.unlock() };
    for_each_cluster(move |_| {
        freed_by_who_waits(|| taken(true), write, unlock);
        freed_by_who_waits(|| taken(true), read, unlock);
        freed_by_who_waits(|| taken(false), write, unlock);
    });
}

/// Two definitions for what is `Send`, and so none.
trait NotSend<A> {
    fn is_not_send() {}
}
impl<T: ?Sized> NotSend<()> for T {}
impl<T: ?Sized + Send> NotSend<u8> for T {}

/// Guards stay with their fibre; the compiler says so, or this would not build.
#[test]
fn guards_stay() {
    <RwLockReadGuard<'_, u8> as NotSend<_>>::is_not_send();
    <RwLockWriteGuard<'_, u8> as NotSend<_>>::is_not_send();
}
