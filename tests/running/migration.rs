//! Clusters in which every wake-up of a started fibre lands on another processor: the worst
//! case for whatever belongs to a kernel thread.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::Cluster;
use fibre::net::{Shutdown, TcpStream};
use fibre::sync::{Condvar, Mutex, Semaphore};
use std::io::{ErrorKind, Read, Write};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, panicking};
use std::time::{Duration, Instant};
use support::drops::OnDrop;
use support::sockets::{dead_end, listener, pair, read_noise, shrink_buffers, write_noise};
use support::{Random, kernel_thread, let_others_block, run_in};

/// Runs `body` as a fibre of such clusters with two and four processors.
fn for_each_migrating(body: impl Fn(&Cluster) + Send + Sync + 'static) {
    let body = Arc::new(body);
    for processors in [2, 4] {
        let builder = Cluster::builder().processors(processors);
        // SAFETY: the fibres of this file keep nothing across a wait that belongs to a
        // kernel thread.
        let cluster = unsafe { builder.force_migration() }.build().unwrap();
        run_in(cluster, Arc::clone(&body));
    }
}

/// Spawns `count` fibres and joins them.
fn crowd(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let fibres: Vec<_> = (0..count)
        .map(|me| {
            let body = Arc::clone(&body);
            fibre::spawn(move || body(me))
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// Each sleep ends on another kernel thread, and everything that is asked for per thread in one
/// function is asked for anew.
#[test]
fn fibres_really_move() {
    for_each_migrating(|cluster| {
        let cluster = cluster.clone();
        crowd(20, move |_| {
            let number = fibre::id();
            for _ in 0..30 {
                let before = (kernel_thread(), fibre::id(), fibre::in_fibre());
                fibre::sleep(Duration::from_micros(50));
                let after = (kernel_thread(), fibre::id(), fibre::in_fibre());
                assert_ne!(before.0, after.0);
                assert_eq!((after.1, after.2), (number, true));
                assert_eq!((before.1, before.2), (number, true));
                let inner = cluster.spawn(fibre::id).join().unwrap();
                assert_ne!(inner, number);
                assert_eq!(fibre::id(), number);
                fibre::yield_now();
                assert_eq!(fibre::id(), number);
            }
        });
    });
}

/// Yields move, too, and every processor gets its share.
#[test]
fn yields_move() {
    for_each_migrating(|cluster| {
        let seen = Arc::new(Mutex::new(std::collections::HashSet::new()));
        let crowd_sees_all = || {
            let threads = Arc::clone(&seen);
            crowd(4 * cluster.processors(), move |_| {
                for _ in 0..300 {
                    let here = kernel_thread();
                    threads.lock().insert(here);
                    fibre::yield_now();
                }
            });
            seen.lock().len() >= cluster.processors()
        };
        // While a processor's thread has no CPU, the others take what it should run.
        assert!((0..100).any(|_| crowd_sees_all()));
        assert_eq!(seen.lock().len(), cluster.processors());
    });
}

/// Calls to C that leave their error in a thread-local are read on the thread that made them.
#[test]
fn errors_are_ones_own() {
    for_each_migrating(|_| {
        crowd(10, |me| {
            for _ in 0..30 {
                let refused = {
                    let (_nobody, address) = dead_end();
                    TcpStream::connect(address).unwrap_err().kind()
                };
                assert_eq!(refused, ErrorKind::ConnectionRefused);
                let missing = std::fs::File::open(format!("/nowhere/{me}")).unwrap_err();
                assert_eq!(missing.kind(), ErrorKind::NotFound);
                fibre::yield_now();
            }
        });
    });
}

/// Mutex, condition variable and semaphore keep their promises, with threads among the users.
#[test]
fn synchronisation() {
    for_each_migrating(|_| {
        let shared = Arc::new((Mutex::new(0_usize), Condvar::new(), Semaphore::new(2)));
        let users = Arc::clone(&shared);
        let work = move |_| {
            for round in 0..200 {
                users.2.acquire();
                let mut value = users.0.lock();
                *value += 1;
                if round % 8 == 0 {
                    fibre::yield_now();
                }
                drop(value);
                users.2.release();
                users.1.notify_all();
            }
        };
        let on_thread = work.clone();
        let thread = thread::spawn(move || on_thread(0));
        crowd(8, work);
        let mut value = shared.0.lock();
        shared.1.wait_while(&mut value, |value| *value < 9 * 200);
        drop(value);
        fibre::blocking(|| thread.join()).unwrap();
        assert_eq!(shared.2.available(), 2);
    });
}

/// Deadlines lose no permit and never end too early.
#[test]
fn deadlines() {
    let seed = Random::seed();
    for_each_migrating(move |_| {
        let shared = Arc::new((Semaphore::new(0), AtomicUsize::new(0)));
        let takers = Arc::clone(&shared);
        let taker = fibre::spawn(move || {
            crowd(10, move |me| {
                let mut random = Random::new(seed + me as u64);
                for _ in 0..100 {
                    let time = Duration::from_micros(random.below(200) as u64);
                    let deadline = Instant::now() + time;
                    if takers.0.acquire_within(deadline).is_ok() {
                        takers.1.fetch_add(1, Ordering::SeqCst);
                    } else {
                        assert!(Instant::now() >= deadline);
                    }
                }
            });
        });
        for _ in 0..500 {
            shared.0.release();
            fibre::sleep(Duration::from_micros(5));
        }
        taker.join().unwrap();
        let taken = shared.1.load(Ordering::SeqCst);
        assert_eq!(taken + shared.0.available(), 500);
    });
}

/// Connections carry all bytes in order, with small buffers and with large ones.
#[test]
fn bytes_arrive() {
    let seed = Random::seed();
    for_each_migrating(move |_| {
        for small in [false, true] {
            let length = if small { 200_000 } else { 1 << 20 };
            let mut random = Random::new(seed);
            let (left, right) = pair();
            if small {
                shrink_buffers(&left);
                shrink_buffers(&right);
            }
            let sizes = random.split();
            let writer = fibre::spawn(move || {
                write_noise(&left, seed, length, sizes);
                left.shutdown(Shutdown::Write).unwrap();
                assert_eq!((&left).read(&mut [0]).unwrap(), 0);
            });
            read_noise(&right, seed, length, random.split());
            drop(right);
            writer.join().unwrap();
        }
    });
}

/// Many connections at once; time-outs, closing and resets among them.
#[test]
fn connections_come_and_go() {
    for_each_migrating(|_| {
        let listener = Arc::new(listener());
        let address = listener.local_addr().unwrap();
        let accepting = Arc::clone(&listener);
        let server = fibre::spawn(move || {
            while let Ok((mut stream, _)) = accepting.accept() {
                fibre::spawn(move || {
                    let mut buffer = [0; 8];
                    while stream.read_exact(&mut buffer).is_ok() {
                        let _ = stream.write_all(&buffer);
                    }
                });
            }
        });
        crowd(20, move |me| {
            for round in 0..10_usize {
                let mut stream = TcpStream::connect(address).unwrap();
                let message = (me * 100 + round).to_be_bytes();
                stream.write_all(&message).unwrap();
                let mut answer = [0; 8];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(answer, message);
                if (me + round) % 4 == 0 {
                    let short = Some(Duration::from_micros(100));
                    stream.set_read_timeout(short).unwrap();
                    let idle = stream.read(&mut answer).unwrap_err();
                    assert_eq!(idle.kind(), ErrorKind::TimedOut);
                }
            }
        });
        listener.close();
        server.join().unwrap();
    });
}

/// A fibre that waits while it unwinds stays on its thread, where std has counted its panic;
/// afterwards nobody seems to panic anywhere.
#[test]
fn unwinding_fibres_stay() {
    for_each_migrating(|_| {
        let mutex = Arc::new(Mutex::new(0));
        let shared = Arc::clone(&mutex);
        crowd(60, move |me| {
            let shared = Arc::clone(&shared);
            let fibre = fibre::spawn(move || {
                fibre::sleep(Duration::from_micros(me as u64 * 10));
                let _waits = OnDrop(move || {
                    let here = kernel_thread();
                    for _ in 0..10 {
                        fibre::sleep(Duration::from_micros(20));
                        assert_eq!(kernel_thread(), here);
                        fibre::yield_now();
                        assert_eq!(kernel_thread(), here);
                        *shared.lock() += 1;
                        fibre::spawn(fibre::yield_now).join().unwrap();
                        assert!(panicking() && kernel_thread() == here);
                    }
                });
                resume_unwind(Box::new(me));
            });
            let payload = fibre.join().unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&me));
        });
        assert_eq!(*mutex.lock(), 600);
        let_others_block();
        crowd(64, |_| {
            assert!(!panicking(), "a panic was counted on another thread")
        });
    });
}
