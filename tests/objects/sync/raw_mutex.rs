//! The raw mutex and spin lock, beside those of the C library.

use super::freed_by_who_waits;
use crate::support::{Random, for_each_cluster};
use fibre::sync::Semaphore;
use fibre::sync::raw::{Clock, Error, Kind, Mutex, Spin, Variant, Wait};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, zeroed};
use std::sync::Arc;
use std::sync::Mutex as Std;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A mutex by the numbers that its calls return.
trait Subject: Send + Sync {
    fn lock(&self) -> i32;
    fn try_lock(&self) -> i32;
    /// Locks with a deadline in the past.
    fn timed_lock(&self) -> i32;
    fn unlock(&self) -> i32;
    fn destroy(&self) -> i32;
}

/// What a call of ours returned, as a number.
fn number(result: Result<(), Error>) -> i32 {
    result.map_or_else(Error::number, |()| 0)
}

/// A deadline that has passed.
fn past() -> Wait {
    Wait::at(Clock::Realtime, 1, 0).unwrap()
}

impl Subject for Mutex {
    fn lock(&self) -> i32 {
        number(Self::lock(self, Wait::FOREVER))
    }

    fn try_lock(&self) -> i32 {
        number(Self::try_lock(self))
    }

    fn timed_lock(&self) -> i32 {
        number(Self::lock(self, past()))
    }

    fn unlock(&self) -> i32 {
        // SAFETY: the script does so only if that is defined.
        number(unsafe { Self::unlock(self) })
    }

    fn destroy(&self) -> i32 {
        number(Self::destroy(self))
    }
}

/// The C library's.
struct Theirs(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: made for threads.
unsafe impl Sync for Theirs {}
// SAFETY: it stays in its box.
unsafe impl Send for Theirs {}

impl Theirs {
    fn new(kind: Kind) -> Box<Self> {
        let mutex = Box::new(Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        let kind = match kind {
            Kind::Normal => libc::PTHREAD_MUTEX_NORMAL,
            Kind::ErrorCheck => libc::PTHREAD_MUTEX_ERRORCHECK,
            Kind::Recursive => libc::PTHREAD_MUTEX_RECURSIVE,
            Kind::Adaptive => libc::PTHREAD_MUTEX_ADAPTIVE_NP,
        };
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialised before use, and the mutex is nobody else's yet.
        unsafe {
            assert_eq!(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
            assert_eq!(
                libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), kind),
                0
            );
            assert_eq!(
                libc::pthread_mutex_init(mutex.0.get(), attributes.as_ptr()),
                0
            );
        }
        mutex
    }
}

// The mutex has been initialised, and the script keeps to what is defined.
impl Subject for Theirs {
    fn lock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_lock(self.0.get()) }
    }

    fn try_lock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_trylock(self.0.get()) }
    }

    fn timed_lock(&self) -> i32 {
        // SAFETY: as above.
        unsafe {
            let mut past: libc::timespec = zeroed();
            past.tv_sec = 1;
            libc::pthread_mutex_timedlock(self.0.get(), &raw const past)
        }
    }

    fn unlock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) }
    }

    fn destroy(&self) -> i32 {
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) }
    }
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Lock,
    TryLock,
    TimedLock,
    Unlock,
    /// Of a locked one only: it is not to succeed.
    Destroy,
}

/// Calls of two callers, one after the other, of which none waits and each is defined.
fn script(kind: Kind, random: &mut Random, length: usize) -> Vec<(usize, Call)> {
    let (mut owner, mut depth) = (0, 0);
    let mut script = Vec::new();
    while script.len() < length {
        let caller = random.below(2);
        let (mine, free) = (depth > 0 && owner == caller, depth == 0);
        let call = match random.below(5) {
            0 => Call::Lock,
            1 => Call::TryLock,
            2 => Call::TimedLock,
            3 => Call::Unlock,
            _ => Call::Destroy,
        };
        let defined = match call {
            Call::Lock => free || mine && kind != Kind::Normal,
            Call::TryLock | Call::TimedLock => true,
            Call::Unlock => mine || kind != Kind::Normal,
            Call::Destroy => !free,
        };
        if !defined {
            continue;
        }
        match call {
            Call::Unlock => depth -= usize::from(mine),
            Call::Destroy => {}
            _ if free => (owner, depth) = (caller, 1),
            _ => depth += usize::from(mine && kind == Kind::Recursive),
        }
        script.push((caller, call));
    }
    script
}

/// What the calls of a script return, made by two fibres or by two threads.
fn play(subject: Arc<dyn Subject>, script: Arc<Vec<(usize, Call)>>, fibres: bool) -> Vec<i32> {
    let turns: Arc<Vec<_>> = Arc::new((0..=script.len()).map(|_| Semaphore::new(0)).collect());
    let returned = Arc::new(Std::new(Vec::new()));
    turns[0].release();
    let callers = [0, 1].map(|me| {
        let (subject, script) = (Arc::clone(&subject), Arc::clone(&script));
        let (turns, returned) = (Arc::clone(&turns), Arc::clone(&returned));
        move || {
            for (step, &(_, call)) in script.iter().enumerate().filter(|(_, step)| step.0 == me) {
                turns[step].acquire();
                let number = match call {
                    Call::Lock => subject.lock(),
                    Call::TryLock => subject.try_lock(),
                    Call::TimedLock => subject.timed_lock(),
                    Call::Unlock => subject.unlock(),
                    Call::Destroy => subject.destroy(),
                };
                returned.lock().unwrap().push(number);
                turns[step + 1].release();
            }
        }
    });
    if fibres {
        let fibres = callers.map(fibre::spawn);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    } else {
        let threads = callers.map(thread::spawn);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    }
    Arc::into_inner(returned).unwrap().into_inner().unwrap()
}

/// Every call returns what the C library's returns, to fibres and to threads, for each kind.
#[test]
fn mutexes_are_those_of_the_c_library() {
    let mut random = Random::new(Random::seed());
    for round in 0..20 {
        for kind in [Kind::Normal, Kind::ErrorCheck, Kind::Recursive] {
            let script = Arc::new(script(kind, &mut random, 100));
            let theirs = play(
                Arc::from(Theirs::new(kind) as Box<dyn Subject>),
                Arc::clone(&script),
                false,
            );
            let ours = play(
                Arc::new(Mutex::new(kind)),
                Arc::clone(&script),
                round % 2 == 0,
            );
            for (step, call) in script.iter().enumerate() {
                let (ours, theirs) = (ours[step], theirs[step]);
                assert_eq!(
                    ours,
                    theirs,
                    "{kind:?}, {call:?} after {:?}",
                    &script[..step]
                );
            }
        }
    }
}

/// A destroyed mutex is of no use, as with the C library, until it is made anew.
#[test]
fn destroyed_mutexes_are_invalid() {
    for kind in [Kind::Normal, Kind::ErrorCheck, Kind::Recursive] {
        let subjects: [Box<dyn Subject>; 2] = [Box::new(Mutex::new(kind)), Theirs::new(kind)];
        for subject in subjects {
            assert_eq!(subject.destroy(), 0);
            let calls = [
                subject.lock(),
                subject.try_lock(),
                subject.timed_lock(),
                subject.unlock(),
            ];
            assert_eq!(calls, [libc::EINVAL; 4], "{kind:?}");
        }
        let mutex = Mutex::new(kind);
        assert_eq!(mutex.destroy(), Ok(()));
        assert_eq!(mutex.destroy(), Err(Error::Invalid));
    }
}

/// Zeroed memory is a normal mutex and a spin lock, and all kinds exclude fibres and threads.
#[test]
fn raw_mutexes_exclude() {
    for_each_cluster(|_| {
        for number in 0..6 {
            let variant = Variant::from_number(number).unwrap();
            let kind = Kind::from_number(number % 4).unwrap();
            let mutex = match number {
                // SAFETY: all zeros is one.
                0 => unsafe { zeroed() },
                _ => Mutex::with_variant(kind, variant),
            };
            // SAFETY: all zeros is one.
            let shared = Arc::new((mutex, unsafe { zeroed::<Spin>() }, AtomicBool::new(false)));
            super::crowd(6, 2, move |me| {
                let (mutex, spin, inside) = &*shared;
                for round in 0..200 {
                    let waited = match (me + round) % 3 {
                        0 => mutex.try_lock().is_ok(),
                        1 => mutex.lock(past()).is_ok(),
                        _ => mutex.lock(Wait::FOREVER).is_ok(),
                    };
                    if !waited {
                        continue;
                    }
                    spin.lock(Wait::FOREVER).unwrap();
                    assert!(!inside.swap(true, Ordering::SeqCst), "two are inside");
                    if round % 8 == 0 {
                        fibre::yield_now();
                    }
                    inside.store(false, Ordering::SeqCst);
                    // SAFETY: both are locked above.
                    unsafe {
                        spin.unlock().unwrap();
                        mutex.unlock().unwrap();
                    }
                }
            });
        }
    });
}

/// The next owner of a mutex may unlock and free it, while the last one returns from its unlock.
#[test]
fn raw_mutexes_are_freed_by_who_gets_them() {
    /// A mutex, and whether the other side has it.
    type Shared = (Mutex, AtomicBool);
    fn wait((mutex, taken): &Shared) {
        while !taken.load(Ordering::SeqCst) {
            fibre::yield_now();
        }
        mutex.lock(Wait::FOREVER).unwrap();
        // SAFETY: locked above.
        unsafe { mutex.unlock() }.unwrap();
    }
    fn let_go((mutex, taken): &Shared) {
        mutex.lock(Wait::FOREVER).unwrap();
        taken.store(true, Ordering::SeqCst);
        fibre::yield_now();
        // SAFETY: locked above.
        unsafe { mutex.unlock() }.unwrap();
    }
    for_each_cluster(|_| {
        freed_by_who_waits(Shared::default, wait, let_go);
        let checking = || (Mutex::new(Kind::ErrorCheck), AtomicBool::new(false));
        freed_by_who_waits(checking, wait, let_go);
        let recursive = || (Mutex::new(Kind::Recursive), AtomicBool::new(false));
        freed_by_who_waits(recursive, wait, let_go);
    });
}

/// A spin lock: busy, timed out, destroyed.
#[test]
fn raw_spin_locks() {
    static SPIN: Spin = Spin::new();
    assert_eq!(SPIN.try_lock(), Ok(()));
    assert_eq!(SPIN.try_lock(), Err(Error::Busy));
    assert_eq!(SPIN.lock(past()), Err(Error::TimedOut));
    assert_eq!(SPIN.destroy(), Err(Error::Busy));
    // SAFETY: locked above.
    assert_eq!(unsafe { SPIN.unlock() }, Ok(()));
    assert_eq!(SPIN.destroy(), Ok(()));
    assert_eq!(SPIN.lock(Wait::FOREVER), Err(Error::Invalid));
}

/// glibc's initialisers make ours, of the same kind.
#[test]
fn initialisers_of_the_c_library_are_valid() {
    /// Ours, made of the bytes of theirs.
    fn made_of(theirs: &libc::pthread_mutex_t) -> Mutex {
        // SAFETY: ours is no larger, and these bytes are one; that is what is tested.
        unsafe { std::ptr::from_ref(theirs).cast::<Mutex>().read() }
    }
    let lock_twice = |mutex: &Mutex| [mutex.lock(past()), mutex.lock(past())];
    let normal = made_of(&libc::PTHREAD_MUTEX_INITIALIZER);
    assert_eq!(lock_twice(&normal), [Ok(()), Err(Error::TimedOut)]);
    let adaptive = made_of(&libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP);
    assert_eq!(lock_twice(&adaptive), [Ok(()), Err(Error::TimedOut)]);
    let recursive = made_of(&libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP);
    assert_eq!(lock_twice(&recursive), [Ok(()); 2]);
    let checking = made_of(&libc::PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP);
    assert_eq!(lock_twice(&checking), [Ok(()), Err(Error::Deadlock)]);
}
