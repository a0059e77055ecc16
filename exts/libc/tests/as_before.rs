//! What blocks the processor as it does without this crate: each row of LIBC.md's table that says
//! so. On one processor a fibre that is always ready shows that such a call does not leave its
//! stack; on one, two and four all of them end that plain threads let end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::cell::UnsafeCell;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use support::{Rider, on};

/// A moment, for waits that end by time or by a plain thread.
const SHORT: Duration = Duration::from_millis(5);

/// How many fibres, and how many rounds of each.
const FIBRES: usize = 8;
const ROUNDS: usize = 50;

/// Lets a plain thread do something while the caller waits.
fn beside(something: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        thread::sleep(SHORT);
        something();
    })
}

/// A lock of `pthread`, as a C library has it.
struct PthreadLock(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: the calls on it may come from all threads.
unsafe impl Sync for PthreadLock {}
// SAFETY: it stays where it is, in an `Arc`.
unsafe impl Send for PthreadLock {}

impl PthreadLock {
    /// A lock that nobody has.
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    /// Calls `f` with the lock.
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: a lock that has been initialised; the same thread unlocks it, as `f` does not
        // leave the stack.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.0.get()) }, 0);
        let result = f();
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
        result
    }
}

/// Waits for a word, which processes may share, to be another.
fn wait_for_shared(word: &AtomicU32, old: u32) {
    let (forever, nothing, any) = (std::ptr::null::<libc::timespec>(), 0, u32::MAX);
    while word.load(Ordering::Acquire) == old {
        // SAFETY: a word, no time, and all bits.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT_BITSET,
                old,
                forever,
                nothing,
                any,
            );
        }
    }
}

/// Stores another value, and wakes all.
fn store_shared(word: &AtomicU32, new: u32) {
    word.store(new, Ordering::Release);
    // SAFETY: a word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// A plain thread has the lock for a moment.
#[test]
fn locks_of_others_are_the_threads() {
    on(1, || {
        let rider = Rider::begin();
        let lock = Arc::new(parking_lot::Mutex::new(0));
        let (theirs, taken) = (Arc::clone(&lock), Arc::new(AtomicU32::new(0)));
        let is_taken = Arc::clone(&taken);
        let owner = thread::spawn(move || {
            let mut value = theirs.lock();
            is_taken.store(1, Ordering::Relaxed);
            thread::sleep(SHORT);
            *value = 7;
        });
        while taken.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        assert_eq!(rider.stays(|| *lock.lock()), 7);
        owner.join().unwrap();

        let (lock, taken) = (PthreadLock::new(), Arc::new(AtomicU32::new(0)));
        let (theirs, is_taken) = (Arc::clone(&lock), Arc::clone(&taken));
        let owner = thread::spawn(move || {
            theirs.with(|| {
                is_taken.store(1, Ordering::Relaxed);
                thread::sleep(SHORT);
                is_taken.store(2, Ordering::Relaxed);
            });
        });
        while taken.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let seen = rider.stays(|| lock.with(|| taken.load(Ordering::Relaxed)));
        assert_eq!(seen, 2);
        owner.join().unwrap();
    });
}

#[test]
fn channels_of_others_are_the_threads() {
    on(1, || {
        let rider = Rider::begin();
        let (sender, receiver) = crossbeam_channel::unbounded();
        let sends = beside(move || sender.send(7).unwrap());
        assert_eq!(rider.stays(|| receiver.recv().unwrap()), 7);
        sends.join().unwrap();
        let (sender, receiver) = flume::unbounded();
        let sends = beside(move || sender.send(8).unwrap());
        assert_eq!(rider.stays(|| receiver.recv().unwrap()), 8);
        sends.join().unwrap();
        let (sender, receiver) = mpsc::sync_channel(0);
        let receives = beside(move || assert_eq!(receiver.recv().unwrap(), 9));
        rider.stays(|| sender.send(9).unwrap());
        receives.join().unwrap();
    });
}

#[test]
fn the_end_of_a_scope_is_the_threads() {
    on(1, || {
        let rider = Rider::begin();
        let mut value = 0;
        rider.stays(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(SHORT);
                    value = 7;
                });
            });
        });
        assert_eq!(value, 7);
    });
}

#[test]
fn words_that_processes_share_are_the_kernels() {
    on(1, || {
        let rider = Rider::begin();
        let word = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&word);
        let stores = beside(move || store_shared(&theirs, 1));
        rider.stays(|| wait_for_shared(&word, 0));
        stores.join().unwrap();
    });
}

/// The lock of the standard output knows its thread. A call in between would let in another fibre
/// of it; so there is none.
#[test]
fn the_standard_output_is_the_threads() {
    on(1, || {
        let rider = Rider::begin();
        let writes = || {
            let mut output = std::io::stdout().lock();
            writeln!(output, "a line").unwrap();
            output.flush().unwrap();
        };
        // The thread that prints the tests' results may have the lock at one moment, not at all.
        assert!(
            (0..10).any(|_| !rider.watch(writes).1),
            "it leaves its stack"
        );
        rider.stays(|| eprintln!("another"));
    });
}

/// Fibres and plain threads use all of these at once, and none loses anything.
#[test]
fn all_of_them_go_on_beside_plain_threads() {
    for processors in [1, 2, 4] {
        on(processors, move || {
            let sum = Arc::new(parking_lot::Mutex::new(0));
            let lock = PthreadLock::new();
            let locked = Arc::new(AtomicUsize::new(0));
            let work = move |sum: &parking_lot::Mutex<usize>, count: &AtomicUsize| {
                for _ in 0..ROUNDS {
                    *sum.lock() += 1;
                    lock.with(|| {
                        let seen = count.load(Ordering::Relaxed);
                        count.store(seen + 1, Ordering::Relaxed);
                    });
                }
            };
            let work = Arc::new(work);
            let (sender, receiver) = crossbeam_channel::unbounded();
            let (other, inbox) = mpsc::channel();
            let threads: Vec<_> = (0..FIBRES)
                .map(|_| {
                    let (sum, locked, work) =
                        (Arc::clone(&sum), Arc::clone(&locked), Arc::clone(&work));
                    let (sender, other) = (sender.clone(), other.clone());
                    thread::spawn(move || {
                        work(&sum, &locked);
                        sender.send(1).unwrap();
                        other.send(1).unwrap();
                    })
                })
                .collect();
            let fibres: Vec<_> = (0..FIBRES)
                .map(|_| {
                    let (sum, locked, work) =
                        (Arc::clone(&sum), Arc::clone(&locked), Arc::clone(&work));
                    let receiver = receiver.clone();
                    fibre::spawn(move || {
                        work(&sum, &locked);
                        receiver.recv().unwrap()
                    })
                })
                .collect();
            let received = fibres.into_iter().map(|fibre| fibre.join().unwrap());
            assert_eq!(received.sum::<usize>(), FIBRES);
            assert_eq!(
                (0..FIBRES).map(|_| inbox.recv().unwrap()).sum::<usize>(),
                FIBRES
            );
            threads.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(*sum.lock(), 2 * FIBRES * ROUNDS);
            assert_eq!(locked.load(Ordering::Relaxed), 2 * FIBRES * ROUNDS);
        });
    }
}

/// The price: a lock of others that is held over a call which waits keeps its processor from the
/// one who has it, as another fibre may ask for it meanwhile. LIBC.md says so.
#[test]
fn a_lock_of_others_over_a_call_that_waits_keeps_the_processor() {
    on(1, || {
        let lock = Arc::new(parking_lot::Mutex::new(()));
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let theirs = Arc::clone(&lock);
        let owner = fibre::spawn(move || {
            let _guard = theirs.lock();
            near.read_exact(&mut [0]).unwrap();
        });
        fibre::yield_now();
        let rider = Rider::begin();
        // The answer is there; but its reader does not run while this waits.
        far.write_all(b"x").unwrap();
        assert!(rider.stays(|| lock.try_lock_for(SHORT)).is_none());
        owner.join().unwrap();
        assert!(lock.try_lock().is_some());
    });
}
