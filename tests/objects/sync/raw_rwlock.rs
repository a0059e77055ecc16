//! The raw read-write lock, beside that of the C library.

use super::{crowd, freed_by_who_waits};
use crate::support::{for_clusters, for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use fibre::sync::raw::{Clock, Error, RwKind, RwLock, Wait};
use std::mem::zeroed;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

/// What a call of ours returned, as a number.
fn number(result: Result<(), Error>) -> i32 {
    result.map_or_else(Error::number, |()| 0)
}

/// A deadline that has passed.
fn past() -> Wait {
    Wait::at(Clock::Realtime, 1, 0).unwrap()
}

/// What calls of one thread return.
macro_rules! returned {
    ($call:ident) => {
        vec![
            ("read", $call!(read)),
            ("read again", $call!(try_read)),
            ("late write beside readers", $call!(late_write)),
            ("write beside readers", $call!(try_write)),
            ("unlock", $call!(unlock)),
            ("unlock again", $call!(unlock)),
            ("write", $call!(write)),
            ("write oneself", $call!(write)),
            ("read oneself", $call!(read)),
            ("try to read oneself", $call!(try_read)),
            ("try to write oneself", $call!(try_write)),
            ("late write oneself", $call!(late_write)),
            ("unlock the writer", $call!(unlock)),
            ("late write of a free one", $call!(late_write)),
            ("unlock the late one", $call!(unlock)),
            ("destroy", $call!(destroy)),
        ]
    };
}

/// What ours returns.
fn ours() -> Vec<(&'static str, i32)> {
    let lock = RwLock::new();
    macro_rules! call {
        (read) => {
            number(lock.read(Wait::FOREVER))
        };
        (try_read) => {
            number(lock.try_read())
        };
        (write) => {
            number(lock.write(Wait::FOREVER))
        };
        (late_write) => {
            number(lock.write(past()))
        };
        (try_write) => {
            number(lock.try_write())
        };
        (unlock) => {{
            // SAFETY: locked by this thread.
            number(unsafe { lock.unlock() })
        }};
        (destroy) => {
            number(lock.destroy())
        };
    }
    returned!(call)
}

/// What the C library's returns.
fn theirs() -> Vec<(&'static str, i32)> {
    let mut lock = libc::PTHREAD_RWLOCK_INITIALIZER;
    let lock = &raw mut lock;
    // SAFETY: of this thread alone, initialised, and used as is defined.
    unsafe {
        let mut past: libc::timespec = zeroed();
        past.tv_sec = 1;
        macro_rules! call {
            (read) => {
                libc::pthread_rwlock_rdlock(lock)
            };
            (try_read) => {
                libc::pthread_rwlock_tryrdlock(lock)
            };
            (write) => {
                libc::pthread_rwlock_wrlock(lock)
            };
            (late_write) => {
                pthread_rwlock_timedwrlock(lock, &raw const past)
            };
            (try_write) => {
                libc::pthread_rwlock_trywrlock(lock)
            };
            (unlock) => {
                libc::pthread_rwlock_unlock(lock)
            };
            (destroy) => {
                libc::pthread_rwlock_destroy(lock)
            };
        }
        returned!(call)
    }
}

/// Each call returns what the C library's returns.
#[test]
fn rwlocks_are_those_of_the_c_library() {
    let theirs = theirs();
    assert_eq!(ours(), theirs);
    for_each_cluster(move |_| assert_eq!(ours(), theirs));
}

unsafe extern "C" {
    /// The `libc` crate does not have it.
    fn pthread_rwlock_timedwrlock(
        lock: *mut libc::pthread_rwlock_t,
        deadline: *const libc::timespec,
    ) -> i32;
}

/// A caller that has nothing to give back is told so, as far as that can be known; a lock in use is
/// busy, and a destroyed one invalid.
#[test]
fn misuse_of_rwlocks() {
    let lock = Arc::new(RwLock::new());
    // SAFETY: nobody reads.
    let unlock = |lock: &RwLock| unsafe { lock.unlock() };
    assert_eq!(unlock(&lock), Err(Error::NotOwner));
    lock.write(Wait::FOREVER).unwrap();
    let other = Arc::clone(&lock);
    let elsewhere = fibre::spawn(move || {
        // SAFETY: nobody reads.
        let unlocked = unsafe { other.unlock() };
        [
            unlocked,
            other.destroy(),
            other.read(past()),
            other.try_write(),
        ]
    });
    let expected = [Error::NotOwner, Error::Busy, Error::TimedOut, Error::Busy];
    assert_eq!(elsewhere.join().unwrap(), expected.map(Err));
    assert_eq!(unlock(&lock), Ok(()));
    assert_eq!(lock.destroy(), Ok(()));
    let later = [
        lock.read(Wait::FOREVER),
        lock.try_write(),
        unlock(&lock),
        lock.destroy(),
    ];
    assert_eq!(later, [Err(Error::Invalid); 4]);
}

/// Many read or one writes, fibres and threads; all with the one call that gives back.
#[test]
fn raw_rwlocks_exclude() {
    for_each_cluster(|_| {
        // SAFETY: all zeros is a free one.
        let shared = Arc::new((unsafe { zeroed::<RwLock>() }, AtomicIsize::new(0)));
        crowd(8, 3, move |me| {
            let (lock, inside) = &*shared;
            for round in 0..200 {
                let write = (me + round) % 4 == 0;
                let taken = match (write, round % 3) {
                    (true, 0) => lock.try_write(),
                    (true, 1) => lock.write(past()),
                    (true, _) => lock.write(Wait::FOREVER),
                    (false, 0) => lock.try_read(),
                    (false, _) => lock.read(Wait::FOREVER),
                };
                if taken.is_err() {
                    continue;
                }
                let by = if write { -100 } else { 1 };
                let others = inside.fetch_add(by, Ordering::SeqCst);
                assert!(if write { others == 0 } else { others >= 0 });
                fibre::yield_now();
                inside.fetch_sub(by, Ordering::SeqCst);
                // SAFETY: taken above.
                unsafe { lock.unlock() }.unwrap();
            }
        });
    });
}

/// A lock of whatever kind is not kept for a fibre that has been woken and does not run yet.
#[test]
fn raw_rwlocks_are_kept_for_nobody() {
    for_clusters(&[1], |_| {
        for kind in [RwKind::PreferReader, RwKind::PreferWriterNonrecursive] {
            for writes in [false, true] {
                let lock = Arc::new(RwLock::with_kind(kind));
                lock.write(Wait::FOREVER).unwrap();
                let other = Arc::clone(&lock);
                let waits = fibre::spawn(move || {
                    match writes {
                        true => other.write(Wait::FOREVER).unwrap(),
                        false => other.read(Wait::FOREVER).unwrap(),
                    }
                    // SAFETY: taken above.
                    unsafe { other.unlock() }.unwrap();
                });
                until_waiting(WaitKind::RwLock, &[waits.id()]);
                // SAFETY: taken above.
                unsafe { lock.unlock() }.unwrap();
                assert_eq!(lock.try_write(), Ok(()));
                // SAFETY: taken above.
                unsafe { lock.unlock() }.unwrap();
                waits.join().unwrap();
            }
        }
    });
}

/// The next owner of the lock may free it, while the last one returns from its unlock.
#[test]
fn raw_rwlocks_are_freed_by_who_gets_them() {
    /// A lock that somebody has for reading, whom the lock does not know.
    fn read_by_somebody() -> RwLock {
        let lock = RwLock::new();
        lock.read(Wait::FOREVER).unwrap();
        lock
    }
    for_each_cluster(|_| {
        freed_by_who_waits(
            read_by_somebody,
            |lock| {
                lock.write(Wait::FOREVER).unwrap();
                // SAFETY: taken above.
                unsafe { lock.unlock() }.unwrap();
            },
            // SAFETY: taken when it was made.
            |lock| unsafe { lock.unlock() }.unwrap(),
        );
        let lock = Arc::new(RwLock::new());
        lock.write(Wait::FOREVER).unwrap();
        let other = Arc::clone(&lock);
        let reads = fibre::spawn(move || other.read(Wait::FOREVER.cancellable()));
        let_others_block();
        reads.cancel();
        assert_eq!(reads.join().unwrap(), Err(Error::Cancelled));
    });
}

/// A reader may read again while a writer waits, as with the C library, unless the kind is the one
/// for which readers wait then.
#[test]
fn readers_read_again_while_a_writer_waits() {
    for_each_cluster(|_| {
        for kind in [RwKind::PreferReader, RwKind::PreferWriterNonrecursive] {
            let lock = Arc::new(RwLock::with_kind(kind));
            lock.read(Wait::FOREVER).unwrap();
            let other = Arc::clone(&lock);
            let writes = fibre::spawn(move || {
                other.write(Wait::FOREVER).unwrap();
                // SAFETY: taken above.
                unsafe { other.unlock() }
            });
            until_waiting(WaitKind::RwLock, &[writes.id()]);
            let (again, late) = (lock.try_read(), lock.read(past()));
            if kind == RwKind::PreferReader {
                assert_eq!([again, late], [Ok(()); 2]);
                // SAFETY: read twice more.
                unsafe { lock.unlock().and_then(|()| lock.unlock()).unwrap() };
            } else {
                assert_eq!([again, late], [Err(Error::Busy), Err(Error::TimedOut)]);
            }
            // SAFETY: read above.
            unsafe { lock.unlock().unwrap() };
            assert_eq!(writes.join().unwrap(), Ok(()));
        }
    });
}
