//! The raw condition variable.

use super::{crowd, freed_by_who_waits};
use crate::support::{eventually, for_each_cluster, until_waiting};
use fibre::WaitKind;
use fibre::sync::raw::{Clock, Condvar, Error, Kind, Mutex, Wait};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, zeroed};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// So long from now.
fn soon(duration: Duration) -> Wait {
    Wait::until(Instant::now() + duration)
}

/// Locks, runs `f`, unlocks.
fn locked<R>(mutex: &Mutex, f: impl FnOnce() -> R) -> R {
    mutex.lock(Wait::FOREVER).unwrap();
    let result = f();
    // SAFETY: locked above.
    unsafe { mutex.unlock() }.unwrap();
    result
}

/// What the C library says to a wait with a mutex of another thread, and to one whose deadline
/// has passed; with one that checks its owner.
fn numbers_of_the_c_library() -> [i32; 2] {
    // SAFETY: initialised before use, in places that do not move, and used by one thread.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ERRORCHECK);
        let (mut mutex, mut condvar) = (MaybeUninit::uninit(), libc::PTHREAD_COND_INITIALIZER);
        libc::pthread_mutex_init(mutex.as_mut_ptr(), attributes.as_ptr());
        let (mutex, condvar) = (mutex.as_mut_ptr(), &raw mut condvar);
        let mut past: libc::timespec = zeroed();
        past.tv_sec = 1;
        let foreign = libc::pthread_cond_wait(condvar, mutex);
        assert_eq!(libc::pthread_mutex_lock(mutex), 0);
        let late = libc::pthread_cond_timedwait(condvar, mutex, &raw const past);
        assert_eq!(libc::pthread_mutex_unlock(mutex), 0);
        [foreign, late]
    }
}

/// Errors are those of the C library, and a wait in vain has the mutex again.
#[test]
fn waits_fail_as_those_of_the_c_library() {
    let (mutex, condvar) = (Mutex::new(Kind::ErrorCheck), Condvar::new());
    let past = Wait::at(Clock::Realtime, 1, 0).unwrap();
    // SAFETY: the mutex checks its owner.
    let wait = |wait| match unsafe { condvar.wait(&mutex, wait) } {
        Ok(()) => 0,
        Err(error) => error.number(),
    };
    let ours = [wait(Wait::FOREVER), locked(&mutex, || wait(past))];
    assert_eq!(ours, numbers_of_the_c_library());
    assert_eq!(ours, [libc::EPERM, libc::ETIMEDOUT]);
    assert_eq!(condvar.destroy(), Ok(()));
    assert_eq!(locked(&mutex, || wait(Wait::FOREVER)), libc::EINVAL);
    let later = [condvar.signal(), condvar.broadcast(), condvar.destroy()];
    assert_eq!(later, [Err(Error::Invalid); 3]);
}

/// Tokens come by signals to waiters with and without deadlines, with a mutex of each kind; none is
/// lost.
#[test]
fn signals_are_not_lost() {
    for_each_cluster(|_| {
        for kind in [Kind::Normal, Kind::ErrorCheck, Kind::Recursive] {
            // SAFETY: all zeros is one that nobody waits on.
            let condvar = unsafe { zeroed::<Condvar>() };
            let shared = Arc::new((Mutex::new(kind), condvar, AtomicUsize::new(0)));
            crowd(6, 2, move |me| {
                let (mutex, condvar, tokens) = &*shared;
                for round in 0..100_u64 {
                    if me % 2 == 0 {
                        locked(mutex, || tokens.fetch_add(1, Ordering::Relaxed));
                        condvar.signal().unwrap();
                        fibre::yield_now();
                        continue;
                    }
                    locked(mutex, || {
                        while tokens.load(Ordering::Relaxed) == 0 {
                            let wait = match (me + round as usize) % 4 {
                                1 => soon(Duration::from_micros(round % 20)),
                                _ => Wait::FOREVER,
                            };
                            // SAFETY: locked.
                            let waited = unsafe { condvar.wait(mutex, wait) };
                            assert!(matches!(waited, Ok(()) | Err(Error::TimedOut)));
                        }
                        tokens.fetch_sub(1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
}

/// A recursive mutex is unlocked by one level during the wait.
#[test]
fn recursive_mutexes_give_up_one_level() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(Kind::Recursive), Condvar::new()));
        for depth in [1, 2] {
            let (mutex, condvar) = &*shared;
            (0..depth).for_each(|_| mutex.lock(Wait::FOREVER).unwrap());
            let other = Arc::clone(&shared);
            let waits = fibre::id().unwrap();
            let tries = fibre::spawn(move || {
                until_waiting(WaitKind::Condvar, &[waits]);
                let tried = other.0.try_lock();
                if tried.is_ok() {
                    // SAFETY: locked above.
                    unsafe { other.0.unlock() }.unwrap();
                }
                other.1.signal().unwrap();
                tried
            });
            // SAFETY: locked above.
            unsafe { condvar.wait(mutex, Wait::FOREVER) }.unwrap();
            let expected = if depth == 1 { Ok(()) } else { Err(Error::Busy) };
            assert_eq!(tries.join().unwrap(), expected);
            // SAFETY: locked so often.
            (0..depth).for_each(|_| unsafe { mutex.unlock() }.unwrap());
            // SAFETY: it checks its owner.
            assert_eq!(unsafe { mutex.unlock() }, Err(Error::NotOwner));
        }
    });
}

/// A wait notices cancellation if that is asked for, and only then.
#[test]
fn cancellation_is_noticed_if_asked_for() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::default(), Condvar::new(), AtomicBool::new(false)));
        let wait_as = |wait: Wait| {
            let shared = Arc::clone(&shared);
            fibre::spawn(move || {
                locked(&shared.0, || {
                    loop {
                        // SAFETY: locked.
                        let waited = unsafe { shared.1.wait(&shared.0, wait) };
                        if waited.is_err() || shared.2.load(Ordering::SeqCst) {
                            return waited;
                        }
                    }
                })
            })
        };
        let long = soon(Duration::from_secs(60));
        let deaf = [wait_as(Wait::FOREVER), wait_as(long)];
        let noticing = [
            wait_as(Wait::FOREVER.cancellable()),
            wait_as(long.cancellable()),
        ];
        let all = [&deaf[0], &deaf[1], &noticing[0], &noticing[1]];
        until_waiting(WaitKind::Condvar, &all.map(fibre::JoinHandle::id));
        deaf.iter()
            .chain(&noticing)
            .for_each(|fibre| fibre.cancel());
        for fibre in noticing {
            assert_eq!(fibre.join().unwrap(), Err(Error::Cancelled));
        }
        assert_eq!(shared.1.destroy(), Err(Error::Busy));
        locked(&shared.0, || shared.2.store(true, Ordering::SeqCst));
        shared.1.broadcast().unwrap();
        for fibre in deaf {
            assert_eq!(fibre.join().unwrap(), Ok(()));
        }
        assert_eq!(shared.1.destroy(), Ok(()));
    });
}

/// What the C library says to a mutex that is destroyed while somebody waits for a condition with
/// it, and once that one is done.
fn destructions_by_the_c_library() -> [i32; 2] {
    struct Pair(
        UnsafeCell<libc::pthread_mutex_t>,
        UnsafeCell<libc::pthread_cond_t>,
    );
    // SAFETY: made for sharing.
    unsafe impl Sync for Pair {}
    let pair = Pair(
        UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
        UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
    );
    let woken = AtomicBool::new(false);
    let waits = AtomicBool::new(false);
    let of = |pair: &Pair| (pair.0.get(), pair.1.get());
    // SAFETY: they do not move; locked and unlocked in turn.
    thread::scope(|scope| unsafe {
        scope.spawn(|| {
            let (mutex, condvar) = of(&pair);
            libc::pthread_mutex_lock(mutex);
            waits.store(true, Ordering::SeqCst);
            while !woken.load(Ordering::SeqCst) {
                libc::pthread_cond_wait(condvar, mutex);
            }
            libc::pthread_mutex_unlock(mutex);
            waits.store(false, Ordering::SeqCst);
        });
        let (mutex, condvar) = of(&pair);
        eventually(|| waits.load(Ordering::SeqCst));
        // It is ours only when the other one waits.
        libc::pthread_mutex_lock(mutex);
        libc::pthread_mutex_unlock(mutex);
        let early = libc::pthread_mutex_destroy(mutex);
        libc::pthread_mutex_lock(mutex);
        woken.store(true, Ordering::SeqCst);
        libc::pthread_cond_signal(condvar);
        libc::pthread_mutex_unlock(mutex);
        eventually(|| !waits.load(Ordering::SeqCst));
        [early, libc::pthread_mutex_destroy(mutex)]
    })
}

/// A mutex is in use while somebody waits for a condition with it, as with the C library.
#[test]
fn a_mutex_that_is_waited_with_is_busy() {
    let number = |result| match result {
        Ok(()) => 0,
        Err(error) => Error::number(error),
    };
    let expected = destructions_by_the_c_library();
    for_each_cluster(move |_| {
        for kind in [Kind::Normal, Kind::ErrorCheck, Kind::Recursive] {
            let shared = Arc::new((Mutex::new(kind), Condvar::new(), AtomicBool::new(false)));
            let inside = Arc::clone(&shared);
            let waiting = fibre::spawn(move || {
                let (mutex, condvar, has_it) = &*inside;
                locked(mutex, || {
                    has_it.store(true, Ordering::SeqCst);
                    // SAFETY: locked.
                    unsafe { condvar.wait(mutex, Wait::FOREVER) }
                })
            });
            let (mutex, condvar, has_it) = &*shared;
            eventually(|| has_it.load(Ordering::SeqCst));
            // It is ours only when the other one waits.
            locked(mutex, || ());
            let early = number(mutex.destroy());
            condvar.signal().unwrap();
            waiting.join().unwrap().unwrap();
            assert_eq!([early, number(mutex.destroy())], expected);
        }
    });
    assert_eq!(expected, [libc::EBUSY, 0]);
}

/// A condition variable may be destroyed and freed right after a broadcast, while those that waited
/// on it, some of whose deadlines come just then, go on.
#[test]
fn destroyed_right_after_a_broadcast() {
    for_each_cluster(|_| {
        for round in 0..300_u64 {
            let shared = Arc::new((
                Mutex::default(),
                AtomicBool::new(false),
                AtomicUsize::new(0),
            ));
            let condvar = Box::into_raw(Box::new(Condvar::new())) as usize;
            let waiting: Vec<_> = (0..4_u64)
                .map(|me| {
                    let shared = Arc::clone(&shared);
                    fibre::spawn(move || {
                        let (mutex, done, inside) = &*shared;
                        // SAFETY: freed by one that has the mutex after it has set `done`.
                        let condvar = unsafe { &*(condvar as *const Condvar) };
                        locked(mutex, || {
                            inside.fetch_add(1, Ordering::SeqCst);
                            while !done.load(Ordering::SeqCst) {
                                let wait = match me {
                                    0 => Wait::FOREVER,
                                    _ => soon(Duration::from_micros(me * round % 150)),
                                };
                                // SAFETY: locked.
                                let _ = unsafe { condvar.wait(mutex, wait) };
                            }
                        });
                    })
                })
                .collect();
            eventually(|| shared.2.load(Ordering::SeqCst) == 4);
            if round % 3 == 0 {
                fibre::sleep(Duration::from_micros(round % 100));
            }
            locked(&shared.0, || {
                shared.1.store(true, Ordering::SeqCst);
                // SAFETY: who waits next sees that it is done.
                let condvar = unsafe { Box::from_raw(condvar as *mut Condvar) };
                condvar.broadcast().unwrap();
                assert_eq!(condvar.destroy(), Ok(()));
            });
            waiting.into_iter().for_each(|fibre| fibre.join().unwrap());
        }
    });
}

/// The woken waiter may free mutex and condition variable, once the other side has unlocked.
#[test]
fn raw_condvars_are_freed_by_who_waits() {
    /// What they agree on, and with what.
    type Shared = (Mutex, Condvar, AtomicBool);
    for_each_cluster(|_| {
        freed_by_who_waits::<Shared>(
            Shared::default,
            |(mutex, condvar, done)| {
                locked(mutex, || {
                    while !done.load(Ordering::SeqCst) {
                        // SAFETY: locked.
                        unsafe { condvar.wait(mutex, Wait::FOREVER) }.unwrap();
                    }
                });
            },
            |(mutex, condvar, done)| {
                locked(mutex, || {
                    done.store(true, Ordering::SeqCst);
                    condvar.broadcast().unwrap();
                });
            },
        );
    });
}
