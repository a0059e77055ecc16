//! Executors of others inside fibres: runtimes of tokio's in many fibres at once, and rayon.

use super::{SHORT, crowd};
use crate::support::asking::ask;
use crate::support::{Locals, Rider, on_kind, on_own};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Barrier};
use std::thread;
use tokio::runtime::{Builder, Runtime};

/// Fibres, each with a runtime.
const FIBRES: usize = 6;

/// A runtime as clients have it inside.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Starts a server on plain threads that answers once so many clients have asked.
fn serve(clients: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let all = Arc::new(Barrier::new(clients));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, all) = (stream.unwrap(), Arc::clone(&all));
            thread::spawn(move || {
                let mut question = [0; 8];
                while stream.read_exact(&mut question).is_ok() {
                    all.wait();
                    stream.write_all(&question).unwrap();
                }
            });
        }
    });
    address
}

/// The server answers none before all have asked: one runtime after the other would wait for ever.
#[test]
fn runtimes_of_tokio_overlap_on_one_processor() {
    on_own(|| {
        let address = serve(FIBRES);
        crowd(FIBRES, move |number| {
            runtime().block_on(async {
                tokio::time::sleep(SHORT).await;
                ask(address, number as u64).await;
            });
        });
    });
}

#[test]
fn a_runtime_with_drivers_leaves_its_stack() {
    on_kind(Locals::Own, 1, || {
        let rider = Rider::begin();
        let runtime = runtime();
        rider.leaves(|| runtime.block_on(async { tokio::time::sleep(SHORT).await }));
        rider.stays(|| runtime.block_on(async { 7 }));
    });
}

/// What waits by a condition variable that tokio keeps in a thread-local.
#[test]
fn what_waits_by_the_parker_of_tokio_is_the_fibres() {
    on_own(|| {
        crowd(FIBRES, |_| {
            runtime().block_on(async {
                let elsewhere = tokio::task::spawn_blocking(|| thread::sleep(SHORT));
                elsewhere.await.unwrap();
            });
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let sends = fibre::spawn(move || sender.send(7).unwrap());
            let bare = Builder::new_current_thread().build().unwrap();
            assert_eq!(bare.block_on(receiver).unwrap(), 7);
            sends.join().unwrap();
            let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
            let sends = fibre::spawn(move || {
                for number in 0..10 {
                    sender.blocking_send(number).unwrap();
                }
            });
            for number in 0..10 {
                assert_eq!(receiver.blocking_recv().unwrap(), number);
            }
            assert_eq!(receiver.blocking_recv(), None);
            sends.join().unwrap();
        });
    });
}

/// Each fibre has a latch of its own, so many may wait for rayon's threads at once.
#[test]
fn rayon_is_called_by_many_fibres_at_once() {
    use rayon::prelude::*;
    on_own(|| {
        crowd(2 * FIBRES, |number| {
            for _ in 0..5 {
                let (one, two) = rayon::join(|| number + 1, || number + 2);
                assert_eq!((one, two), (number + 1, number + 2));
                let sum: usize = (0..1000_usize)
                    .into_par_iter()
                    .map(|one| one * number)
                    .sum();
                assert_eq!(sum, 499_500 * number);
                let mut told = 0;
                rayon::scope(|scope| scope.spawn(|_| told = number));
                assert_eq!(told, number);
            }
        });
    });
}
