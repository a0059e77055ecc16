//! std's own locks, unmodified, on fibres of one, two and four processors, mixed with plain
//! threads. On one processor a lock that blocked its thread would hang here, since its owner waits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/support/random.rs"]
#[allow(dead_code, reason = "others use more of it")]
mod random;
mod support;

use random::Random;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};
use support::{Locals, Rider, on, on_kinds};

/// A moment, for waits that end by time.
const SHORT: Duration = Duration::from_millis(5);

/// How many fibres, and how many threads.
const FIBRES: usize = 20;
const THREADS: usize = 3;

/// Runs a body on as many processors, and in as many kinds of clusters, as there are tests for.
fn on_each(body: impl FnOnce() + Copy + Send + 'static) {
    on_kinds(&[Locals::Shared, Locals::Own, Locals::Moving], body);
}

/// Runs a body in fibres and threads at the same time.
fn in_both(body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let threads: Vec<_> = (0..THREADS)
        .map(|one| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(one))
        })
        .collect();
    let fibres: Vec<_> = (0..FIBRES)
        .map(|one| {
            let body = Arc::clone(&body);
            fibre::spawn(move || body(THREADS + one))
        })
        .collect();
    fibres.into_iter().for_each(|one| one.join().unwrap());
    threads.into_iter().for_each(|one| one.join().unwrap());
}

/// A fibre waits for a lock, and another one of its processor keeps the processor while it waits
/// for the same lock. An unlock wakes one: if that is the first fibre, the processor has to go on,
/// too.
#[test]
fn a_processor_goes_on_that_waits_beside_its_fibre() {
    on(1, || {
        for _ in 0..10 {
            let lock = Arc::new(Mutex::new(0));
            let (taken, waits) = (
                Arc::new(AtomicBool::new(false)),
                Arc::new(AtomicBool::new(false)),
            );
            let holder = {
                let (lock, taken, waits) =
                    (Arc::clone(&lock), Arc::clone(&taken), Arc::clone(&waits));
                thread::spawn(move || {
                    let _held = lock.lock().unwrap();
                    taken.store(true, Ordering::SeqCst);
                    while !waits.load(Ordering::SeqCst) {
                        thread::yield_now();
                    }
                    thread::sleep(SHORT);
                })
            };
            while !taken.load(Ordering::SeqCst) {
                fibre::yield_now();
            }
            let other = Arc::clone(&lock);
            let fibre = fibre::spawn(move || *other.lock().unwrap() += 1);
            fibre::yield_now();
            waits.store(true, Ordering::SeqCst);
            fibre_libc::plainly(|| *lock.lock().unwrap() += 1);
            fibre.join().unwrap();
            holder.join().unwrap();
            assert_eq!(*lock.lock().unwrap(), 2);
        }
    });
}

/// A guard poisons its mutex if its fibre panics, and only then, also while another fibre of the
/// processor waits in a destructor.
#[test]
fn a_panic_beside_a_destructor_poisons_its_own_mutex() {
    /// Waits for its turn when it is dropped.
    struct Waits(Arc<(Mutex<bool>, Condvar)>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let (lock, turned) = &*self.0;
            let mut turn = turned.wait_while(lock.lock().unwrap(), |turn| !*turn);
            assert!(thread::panicking() && **turn.as_mut().unwrap());
        }
    }
    on_each(|| {
        for _ in 0..20 {
            let turn = Arc::new((Mutex::new(false), Condvar::new()));
            let waits = Waits(Arc::clone(&turn));
            let unwound = fibre::spawn(move || {
                let _waits = waits;
                std::panic::resume_unwind(Box::new(()));
            });
            thread::sleep(Duration::from_millis(1));
            let [calm, panics] = [(); 2].map(|()| Arc::new(Mutex::new(())));
            let locks = [&calm, &panics].map(Arc::clone);
            let beside = fibre::spawn(move || {
                assert!(!thread::panicking());
                drop(locks[0].lock());
                let _guard = locks[1].lock();
                std::panic::resume_unwind(Box::new(()));
            });
            assert!(beside.join().is_err());
            assert!(!calm.is_poisoned() && panics.is_poisoned());
            assert!(!turn.0.is_poisoned());
            *turn.0.lock().unwrap() = true;
            turn.1.notify_all();
            assert!(unwound.join().is_err());
        }
    });
}

/// One connection that all share, as clients of servers have it: each holds the lock while it waits
/// for its answer.
#[test]
fn a_mutex_is_held_over_a_call_that_waits() {
    on_each(|| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = fibre::spawn(move || {
            let mut bytes = [0; 8];
            let mut served = 0;
            while theirs.read_exact(&mut bytes).is_ok() {
                fibre::yield_now();
                theirs.write_all(&bytes).unwrap();
                served += 1;
            }
            served
        });
        let connection = Mutex::new(ours);
        in_both(move |one| {
            for round in 0..20 {
                let question = (one * 1000 + round).to_le_bytes();
                let mut answer = [0; 8];
                let mut connection = connection.lock().unwrap();
                connection.write_all(&question).unwrap();
                connection.read_exact(&mut answer).unwrap();
                assert_eq!(question, answer);
            }
        });
        assert_eq!(server.join().unwrap(), 20 * (FIBRES + THREADS));
    });
}

#[test]
fn read_write_locks() {
    on_each(|| {
        let shared = Arc::new(RwLock::new((0_usize, 0_usize)));
        let own = Arc::clone(&shared);
        in_both(move |one| {
            for round in 0..50 {
                if (one + round) % 3 == 0 {
                    let mut both = own.write().unwrap();
                    both.0 += 1;
                    thread::sleep(Duration::from_micros(10));
                    both.1 += 1;
                } else {
                    let both = own.read().unwrap();
                    assert_eq!(both.0, both.1);
                    thread::sleep(Duration::from_micros(10));
                }
            }
        });
        let writes = (0..FIBRES + THREADS).flat_map(|one| (0..50).map(move |round| one + round));
        let writes = writes.filter(|sum| sum % 3 == 0).count();
        assert_eq!(*shared.read().unwrap(), (writes, writes));
    });
}

#[test]
fn condition_variables() {
    on_each(|| {
        let turn = (Mutex::new(0), Condvar::new());
        in_both(move |one| {
            let (turn, changed) = &turn;
            for round in 0..10 {
                let mine = round * (FIBRES + THREADS) + one;
                let mut now = changed
                    .wait_while(turn.lock().unwrap(), |now| *now != mine)
                    .unwrap();
                *now += 1;
                changed.notify_all();
            }
        });
        let (never, changed) = (Mutex::new(()), Condvar::new());
        let waited = changed.wait_timeout_while(never.lock().unwrap(), SHORT, |()| true);
        assert!(waited.unwrap().1.timed_out());
    });
}

/// A wait with a time-out lets others run until then.
#[test]
fn a_time_out_leaves_the_stack() {
    on(1, || {
        let rider = Rider::begin();
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let begun = Instant::now();
        let wait = || changed.wait_timeout_while(lock.lock().unwrap(), SHORT, |()| true);
        assert!(rider.leaves(wait).unwrap().1.timed_out());
        assert!(begun.elapsed() >= SHORT);
    });
}

#[test]
fn barriers_and_initialisers() {
    on_each(|| {
        static ONCE: Once = Once::new();
        let barrier = Barrier::new(FIBRES + THREADS);
        let (leaders, calls) = (AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
        let value: OnceLock<u32> = OnceLock::new();
        let lazy = LazyLock::new(|| {
            thread::sleep(SHORT);
            7
        });
        let count = Arc::clone(&calls);
        in_both(move |_| {
            let leads = barrier.wait().is_leader();
            leaders.fetch_add(leads.into(), Ordering::Relaxed);
            let initialise = || {
                thread::sleep(SHORT);
                count.fetch_add(1, Ordering::Relaxed)
            };
            assert_eq!(*value.get_or_init(initialise), 0);
            assert_eq!(*lazy, 7);
            ONCE.call_once(|| thread::sleep(SHORT));
            barrier.wait();
            assert_eq!(leaders.load(Ordering::Relaxed), 1);
        });
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    });
}

/// A lock that is free, and a wake without waiters, leave no stack.
#[test]
fn what_need_not_wait_stays() {
    on(1, || {
        let rider = Rider::begin();
        let (lock, changed) = (Mutex::new(0), Condvar::new());
        let shared = RwLock::new(0);
        for _ in 0..1000 {
            rider.stays(|| *lock.lock().unwrap() += 1);
            rider.stays(|| changed.notify_all());
            rider.stays(|| *shared.write().unwrap() += *shared.read().map_or(&0, |_| &1));
        }
    });
}

/// `park` and channels of std wait by the thread's own word: they block the processor as before,
/// and take no other fibre's token.
#[test]
fn parking_is_the_threads() {
    on(1, || {
        let rider = Rider::begin();
        rider.stays(|| thread::park_timeout(SHORT));
        let (sender, receiver) = std::sync::mpsc::channel();
        let received = rider.stays(|| receiver.recv_timeout(SHORT));
        assert!(received.is_err());
        let sends = thread::spawn(move || {
            thread::sleep(SHORT);
            sender.send(7).unwrap();
        });
        assert_eq!(rider.stays(|| receiver.recv().unwrap()), 7);
        sends.join().unwrap();
    });
}

/// Fibres and threads take two locks at random, wait with and without time-outs, and give up.
#[test]
fn stress() {
    let seed = Random::seed();
    for processors in [1, 2, 4] {
        on(processors, move || {
            let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
            let taken = Arc::new(AtomicU32::new(0));
            let over = Arc::new(AtomicBool::new(false));
            let (put, count, end) = (Arc::clone(&queue), Arc::clone(&taken), Arc::clone(&over));
            in_both(move |one| {
                let mut random = Random::new(seed ^ one as u64);
                let mut next = || random.next();
                let (values, changed) = &*put;
                if one % 2 == 0 {
                    for round in 0..200 {
                        values.lock().unwrap().push(round);
                        match next() % 3 {
                            0 => changed.notify_all(),
                            _ => changed.notify_one(),
                        }
                        if next() % 8 == 0 {
                            thread::sleep(Duration::from_micros(next() % 50));
                        }
                    }
                    return;
                }
                while !end.load(Ordering::Relaxed) {
                    let limit = Duration::from_micros(next() % 500);
                    let waited = changed
                        .wait_timeout_while(values.lock().unwrap(), limit, |all| all.is_empty());
                    if waited.unwrap().0.pop().is_some() {
                        let all = (THREADS + FIBRES).div_ceil(2) * 200;
                        if count.fetch_add(1, Ordering::Relaxed) + 1 == all as u32 {
                            end.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
            assert!(queue.0.lock().unwrap().is_empty());
            assert!(over.load(Ordering::Relaxed));
        });
    }
}

/// `FUTEX_WAKE_OP` changes one word and wakes those who wait for either: fibres too.
#[test]
fn a_wake_of_two_words_reaches_fibres_of_both() {
    on(1, || {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let waiters: Vec<_> = (0..2)
            .map(|which| {
                let words = Arc::clone(&words);
                fibre::spawn(move || {
                    // SAFETY: a wait for a word that stays, without an end.
                    unsafe {
                        libc::syscall(
                            libc::SYS_futex,
                            words[which].as_ptr(),
                            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
                            0,
                            std::ptr::null::<libc::timespec>(),
                            0,
                            libc::FUTEX_BITSET_MATCH_ANY,
                        )
                    }
                })
            })
            .collect();
        // They wait now, as they have the processor until they do.
        fibre::yield_now();
        // Sets the second word to one, and wakes for it if it was zero.
        let operation = (libc::FUTEX_OP_SET << 28) | (libc::FUTEX_OP_CMP_EQ << 24) | (1 << 12);
        // SAFETY: words that stay.
        let woken = unsafe {
            libc::syscall(
                libc::SYS_futex,
                words[0].as_ptr(),
                libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG,
                1,
                1_usize,
                words[1].as_ptr(),
                operation,
            )
        };
        assert_eq!(
            (woken, words[1].load(Ordering::Relaxed)),
            (0, 1),
            "no thread waits"
        );
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), 0);
        }
    });
}
