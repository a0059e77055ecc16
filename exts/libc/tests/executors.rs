//! Executors of others inside fibres: a runtime of tokio's that waits in `epoll_wait` blocks its
//! processor, as before, and so runs serially there. Its state lies in thread-locals, which no
//! other fibre may find as it is meanwhile.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use support::asking::ask;
use support::{Rider, on};
use tokio::runtime::{Builder, Runtime};

/// Fibres, each with a runtime.
const FIBRES: usize = 6;

/// One test at a time: tokio keeps process-wide state behind locks. A fibre of another test may
/// have to wait for one of these, and leaves its stack.
static ALONE: Mutex<()> = Mutex::new(());

/// Takes it. A test that has failed leaves nothing.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A moment.
const SHORT: Duration = Duration::from_millis(5);

/// A runtime as clients have it inside.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Starts a server on plain threads, and returns where it is, and the most questions that were
/// there at a time.
fn serve() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (here, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, here, seen) = (stream.unwrap(), Arc::clone(&here), Arc::clone(&seen));
            thread::spawn(move || {
                let mut question = [0; 8];
                while stream.read_exact(&mut question).is_ok() {
                    seen.fetch_max(here.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    // Lets others come, if they do.
                    thread::sleep(SHORT);
                    here.fetch_sub(1, Ordering::SeqCst);
                    stream.write_all(&question).unwrap();
                }
            });
        }
    });
    (address, most)
}

#[test]
fn a_runtime_with_drivers_runs_serially() {
    let _alone = alone();
    for processors in [1, 2, 4] {
        let most = on(processors, || {
            let (address, most) = serve();
            let fibres: Vec<_> = (0..FIBRES as u64)
                .map(|number| fibre::spawn(move || runtime().block_on(ask(address, number))))
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            most.load(Ordering::SeqCst)
        });
        assert!((1..=processors).contains(&most), "{most} at a time");
    }
}

#[test]
fn a_runtime_with_drivers_leaves_no_stack() {
    let _alone = alone();
    on(1, || {
        let rider = Rider::begin();
        let (address, _) = serve();
        rider.stays(|| {
            let runtime = runtime();
            runtime.block_on(async {
                tokio::time::sleep(SHORT).await;
                ask(address, 7).await;
                // A task beside it.
                tokio::spawn(ask(address, 8)).await.unwrap();
            });
        });
    });
}

/// What waits by a condition variable that tokio keeps in a thread-local: the end of a runtime with
/// threads of its pool, a runtime without drivers, and calls of its channels that block.
fn wait_by_the_parker() {
    runtime().block_on(async {
        let elsewhere = tokio::task::spawn_blocking(|| thread::sleep(SHORT));
        elsewhere.await.unwrap();
    });
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sends = thread::spawn(move || {
        thread::sleep(SHORT);
        sender.send(7).unwrap();
    });
    let bare = Builder::new_current_thread().build().unwrap();
    assert_eq!(bare.block_on(receiver).unwrap(), 7);
    sends.join().unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let sends = thread::spawn(move || {
        thread::sleep(SHORT);
        sender.blocking_send(8).unwrap();
    });
    assert_eq!(receiver.blocking_recv().unwrap(), 8);
    sends.join().unwrap();
}

/// Such calls belong into `plainly`, or into `blocking`: another fibre of the processor may not
/// find the thread-local in use.
#[test]
fn what_waits_by_the_parker_of_tokio_is_right_in_plainly() {
    let _alone = alone();
    on(1, || {
        let rider = Rider::begin();
        rider.stays(|| fibre_libc::plainly(wait_by_the_parker));
    });
    for processors in [1, 2, 4] {
        on(processors, || {
            let fibres: Vec<_> = (0..FIBRES)
                .map(|number| {
                    fibre::spawn(move || {
                        if number % 2 == 0 {
                            fibre_libc::plainly(wait_by_the_parker);
                        } else {
                            fibre::blocking(wait_by_the_parker);
                        }
                    })
                })
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        });
    }
}

/// rayon keeps the latch of a caller that is not one of its threads in a thread-local. The wait for
/// it is the processor's; another fibre would use the same latch meanwhile. Before it waits, rayon
/// takes locks that other calls may hold, so calls at the same time belong into `plainly` or
/// `blocking`.
#[test]
fn rayon_keeps_the_processor_while_it_computes() {
    let _alone = alone();
    on(1, || {
        let rider = Rider::begin();
        rider.stays(|| assert_eq!(compute_by_rayon(1), 101));
    });
    for processors in [1, 2, 4] {
        on(processors, || {
            let compute = |number| {
                move || {
                    for _ in 0..10 {
                        let sum = match number % 2 {
                            0 => fibre_libc::plainly(|| compute_by_rayon(number)),
                            _ => fibre::blocking(move || compute_by_rayon(number)),
                        };
                        assert_eq!(sum, number + 100);
                    }
                }
            };
            let fibres: Vec<_> = (0..3 * FIBRES as u64)
                .map(|number| fibre::spawn(compute(number)))
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        });
    }
}

/// Has rayon's threads add two numbers, which takes them a moment.
fn compute_by_rayon(number: u64) -> u64 {
    let moment = Duration::from_micros(300);
    let later = |number: u64| {
        thread::sleep(moment);
        number
    };
    let (one, other) = rayon::join(|| later(number), || later(100));
    one + other
}
