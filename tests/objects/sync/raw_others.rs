//! The raw semaphore, barrier and once, beside those of the C library.

use super::{caught, crowd, freed_by_who_waits};
use crate::support::{Random, for_each_cluster, let_others_block, until_waiting};
use fibre::WaitKind;
use fibre::sync::raw::{Barrier, Clock, Error, Once, OnceEntry, Semaphore, Wait};
use std::mem::{MaybeUninit, zeroed};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a call of ours returned, as a number.
fn number<T>(result: Result<T, Error>) -> i32 {
    result.map_or_else(Error::number, |_| 0)
}

/// What a call of the C library returned that says why by errno.
fn reason(returned: i32) -> i32 {
    match returned {
        0 => 0,
        _ => std::io::Error::last_os_error().raw_os_error().unwrap(),
    }
}

/// Calls of one thread to a semaphore, at either end of its range, return what the C library's do.
#[test]
fn semaphores_are_those_of_the_c_library() {
    let mut random = Random::new(Random::seed());
    for first in [
        0,
        1,
        Semaphore::MAX - 1,
        Semaphore::MAX,
        Semaphore::MAX + 1,
        u32::MAX,
    ] {
        let mut theirs = MaybeUninit::<libc::sem_t>::uninit();
        // SAFETY: uninitialised memory is what this is for.
        let made = reason(unsafe { libc::sem_init(theirs.as_mut_ptr(), 0, first) });
        let ours = Semaphore::new(first);
        assert_eq!(
            number(ours.as_ref().map_err(|error| *error)),
            made,
            "with {first}"
        );
        let (Ok(ours), theirs) = (ours, theirs.as_mut_ptr()) else {
            continue;
        };
        let past = Wait::at(Clock::Realtime, 1, 0).unwrap();
        for _ in 0..200 {
            // SAFETY: initialised, since ours is.
            let (ours, theirs) = unsafe {
                let mut deadline: libc::timespec = zeroed();
                deadline.tv_sec = 1;
                match random.below(4) {
                    0 => (number(ours.post()), reason(libc::sem_post(theirs))),
                    1 => (number(ours.try_wait()), reason(libc::sem_trywait(theirs))),
                    2 => (
                        number(ours.wait(past)),
                        reason(libc::sem_timedwait(theirs, &raw const deadline)),
                    ),
                    _ => {
                        let mut value = 0;
                        libc::sem_getvalue(theirs, &raw mut value);
                        (i32::try_from(ours.value().unwrap()).unwrap(), value)
                    }
                }
            };
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours.destroy(), Ok(()));
        let calls = [
            ours.post(),
            ours.try_wait(),
            ours.wait(past),
            ours.destroy(),
        ];
        assert_eq!(calls, [Err(Error::Invalid); 4]);
    }
}

/// Fibres and threads hand permits to each other; a semaphore that somebody waits for is busy.
#[test]
fn raw_semaphores_pass_permits_on() {
    for_each_cluster(|_| {
        // SAFETY: all zeros is one without a permit.
        let permits = Arc::new(unsafe { zeroed::<Semaphore>() });
        let inside = Arc::clone(&permits);
        let waits = fibre::spawn(move || inside.wait(Wait::FOREVER));
        until_waiting(WaitKind::Semaphore, &[waits.id()]);
        assert_eq!(permits.destroy(), Err(Error::Busy));
        permits.post().unwrap();
        assert_eq!(waits.join().unwrap(), Ok(()));
        let inside = Arc::clone(&permits);
        crowd(6, 2, move |me| {
            for _ in 0..200 {
                if me % 2 == 0 {
                    inside.post().unwrap();
                } else {
                    inside.wait(Wait::FOREVER).unwrap();
                }
            }
        });
        assert_eq!(permits.value(), Ok(0));
        freed_by_who_waits(
            Semaphore::default,
            |permits| permits.wait(Wait::FOREVER).unwrap(),
            |permits| permits.post().unwrap(),
        );
    });
}

/// One of each round is the one; a barrier for nobody is invalid, as with the C library.
#[test]
fn raw_barriers_have_one_serial_thread() {
    let mut theirs = MaybeUninit::uninit();
    // SAFETY: uninitialised memory is what this is for.
    let made = unsafe { libc::pthread_barrier_init(theirs.as_mut_ptr(), std::ptr::null(), 0) };
    assert_eq!(number(Barrier::new(0).wait(Wait::FOREVER)), made);
    // SAFETY: all zeros is one that has not been initialised.
    let zeros = unsafe { zeroed::<Barrier>() };
    assert_eq!(zeros.wait(Wait::FOREVER), Err(Error::Invalid));
    for_each_cluster(|_| {
        let shared = Arc::new((Barrier::new(6), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(4, 2, move |_| {
            for _ in 0..100 {
                if inside.0.wait(Wait::FOREVER).unwrap() {
                    inside.1.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        assert_eq!(shared.1.load(Ordering::SeqCst), 100);
        let inside = Arc::clone(&shared);
        let early = fibre::spawn(move || inside.0.wait(Wait::FOREVER.cancellable()));
        until_waiting(WaitKind::Barrier, &[early.id()]);
        assert_eq!(shared.0.destroy(), Err(Error::Busy));
        early.cancel();
        assert_eq!(early.join().unwrap(), Err(Error::Cancelled));
        assert_eq!(shared.0.destroy(), Ok(()));
        assert_eq!(shared.0.wait(Wait::FOREVER), Err(Error::Invalid));
    });
}

/// Whoever returns from a barrier may free it.
#[test]
fn raw_barriers_are_freed_by_any_party() {
    for_each_cluster(|_| {
        let come = |barrier: &Barrier| assert!(barrier.wait(Wait::FOREVER).is_ok());
        freed_by_who_waits(|| Barrier::new(2), come, come);
    });
}

/// Once: by one of many; again after an unwinding; not within itself.
#[test]
fn raw_once_happens_once() {
    for_each_cluster(|_| {
        // SAFETY: all zeros is one that has not happened.
        let shared = Arc::new((unsafe { zeroed::<Once>() }, AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(6, 2, move |me| {
            let called = caught(|| {
                inside.0.call(|| {
                    fibre::yield_now();
                    let calls = inside.1.fetch_add(1, Ordering::SeqCst);
                    assert!(calls > 0, "the first one fails");
                    assert_eq!(inside.0.call(|| unreachable!()), Err(Error::Deadlock));
                })
            });
            assert!(called.is_ok_and(|called| called.is_ok()) || me < 8);
        });
        assert_eq!(shared.1.load(Ordering::SeqCst), 2);
        assert_eq!(shared.0.call(|| unreachable!("it has happened")), Ok(()));
    });
}

/// An initialiser that fails gives the turn to one of those who wait.
#[test]
fn a_once_that_fails_begins_anew() {
    for_each_cluster(|_| {
        let once = Arc::new(Once::new());
        let mut entry = OnceEntry::new();
        // SAFETY: the entry stays until the end of the initialisation.
        assert_eq!(unsafe { once.begin(&raw mut entry) }, Ok(true));
        assert_eq!(once.call(|| unreachable!()), Err(Error::Deadlock));
        let waits = [(); 2].map(|()| {
            let inside = Arc::clone(&once);
            fibre::spawn(move || {
                let mut called = false;
                inside.call(|| called = true).unwrap();
                called
            })
        });
        let_others_block();
        // SAFETY: begun above.
        unsafe { once.finish(false) };
        let called = waits.map(|one| one.join().unwrap());
        assert!(called[0] != called[1], "one of them initialises");
        // SAFETY: it has happened, so the entry is not used.
        assert_eq!(unsafe { once.begin(&raw mut entry) }, Ok(false));
    });
}

/// Many objects are initialised at once, also some whose entries are in one chain.
#[test]
fn raw_onces_do_not_mix() {
    for_each_cluster(|_| {
        let shared: Arc<Vec<_>> = Arc::new(
            (0..200)
                .map(|_| (Once::new(), AtomicUsize::new(0)))
                .collect(),
        );
        let inside = Arc::clone(&shared);
        crowd(6, 2, move |me| {
            for index in 0..inside.len() {
                let (once, calls) = &inside[(index + me % 2) % inside.len()];
                let init = || {
                    fibre::yield_now();
                    calls.fetch_add(1, Ordering::SeqCst);
                };
                once.call(init).unwrap();
                assert_eq!(calls.load(Ordering::SeqCst), 1);
            }
        });
    });
}
