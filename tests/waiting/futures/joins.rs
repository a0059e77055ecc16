//! Fibres whose ends are awaited.

use super::Polled;
use crate::support::{Drops, Latch, for_each_cluster, text_of};
use fibre::block_on;
use std::future::IntoFuture;
use std::task::Poll;
use std::thread;

/// Results and panics come to the task, whichever executor polls it.
#[test]
fn a_fibre_can_be_awaited() {
    for_each_cluster(|cluster| {
        assert_eq!(block_on(cluster.spawn(|| 6 * 7)).unwrap(), 42);
        let latch = Latch::new();
        let waits = std::sync::Arc::clone(&latch);
        let slow = cluster.spawn(move || {
            waits.wait();
            "slow"
        });
        let opens = fibre::spawn(move || latch.open());
        let both = block_on(async { (slow.await.unwrap(), opens.await.unwrap()) });
        assert_eq!(both, ("slow", ()));
        let panics = cluster.spawn(|| -> () { std::panic::resume_unwind(Box::new("words")) });
        let payload = block_on(async { panics.await.unwrap_err() });
        assert_eq!(text_of(&*payload), "words");
        let fibre = cluster.spawn(|| 7);
        let other = thread::spawn(move || block_on(async { fibre.await.unwrap() }));
        assert_eq!(other.join().unwrap(), 7);
    });
}

/// A future that is dropped detaches the fibre, before and after it was polled; its result is
/// dropped once.
#[test]
fn a_dropped_future_detaches() {
    for_each_cluster(|cluster| {
        let (drops, latch) = (Drops::new(), Latch::new());
        for polls in 0..3 {
            for opens_first in [true, false] {
                let waits = std::sync::Arc::clone(&latch);
                let value = drops.value();
                let fibre = cluster.spawn(move || {
                    if !opens_first {
                        waits.wait();
                    }
                    value
                });
                let mut future = Polled::new(fibre.into_future());
                let pending = (0..polls).all(|_| future.poll().is_pending());
                assert!(pending || opens_first);
                drop(future);
            }
        }
        latch.open();
        crate::support::eventually(|| drops.count() == 6);
    });
}

/// The waker is called once, and the handle comes back from a future that has waited.
#[test]
fn the_end_wakes_the_task() {
    for_each_cluster(|cluster| {
        let latch = Latch::new();
        let waits = std::sync::Arc::clone(&latch);
        let fibre = cluster.spawn(move || waits.wait());
        let mut future = Polled::new(fibre.into_future());
        assert!(future.poll().is_pending() && future.poll().is_pending());
        let calls = std::sync::Arc::clone(&future.1);
        let handle = std::pin::Pin::into_inner(future.0).into_handle();
        let mut future = Polled::new(handle.into_future());
        assert!(future.poll().is_pending());
        assert_eq!(calls.count(), 0);
        latch.open();
        crate::support::eventually(|| future.1.count() == 1);
        assert!(matches!(future.poll(), Poll::Ready(Ok(()))));
        assert_eq!((calls.count(), future.1.count()), (0, 1));
    });
}

/// A fibre that awaited itself would wait for ever.
#[test]
fn a_fibre_does_not_await_itself() {
    for_each_cluster(|cluster| {
        let (sender, receiver) = fibre::channel::oneshot::<fibre::JoinHandle<bool>>();
        let fibre = cluster.spawn(move || {
            let own = receiver.recv().unwrap();
            let awaits = std::panic::AssertUnwindSafe(|| {
                let _ = block_on(own);
            });
            std::panic::catch_unwind(awaits).is_err()
        });
        sender.send(fibre).unwrap();
    });
}
