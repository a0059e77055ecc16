//! Fibres and threads that run futures.

use super::{Switch, yields};
use crate::support::drops::OnDrop;
use crate::support::{Drops, Random, for_each_cluster, watched};
use fibre::{Cluster, block_on};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Wakers are called by other fibres, by plain threads, by fibres of another cluster, and by the
/// future itself; the caller is a fibre or a thread.
#[test]
fn any_waker_wakes() {
    fn wakes(from: usize, other: &Cluster) {
        let switch = Arc::new(Switch::default());
        let set = Arc::clone(&switch);
        let sets = move || {
            while set.waker().is_none() {
                thread::yield_now();
                fibre::yield_now();
            }
            set.set();
        };
        match from {
            0 => drop(fibre::spawn(sets)),
            1 => drop(thread::spawn(sets)),
            _ => drop(other.spawn(sets)),
        }
        block_on(switch.wait());
    }

    for_each_cluster(|_| {
        let other = Cluster::builder().processors(2).build().unwrap();
        for from in 0..3 {
            (0..20).for_each(|_| wakes(from, &other));
            let inside = other.clone();
            thread::spawn(move || wakes(from, &inside)).join().unwrap();
            assert_eq!(block_on(async { 6 * 7 }), 42);
        }
        other.stop();
    });
}

/// A future that wakes itself lets others of its processor run.
#[test]
fn a_busy_future_lets_others_run() {
    let cluster = Cluster::builder().processors(1).max_spare_processors(0);
    let cluster = cluster.build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let busy = cluster.spawn(move || {
        block_on(async {
            while !stopped.load(Ordering::Relaxed) {
                yields().await;
            }
        });
    });
    cluster.spawn(move || stop.store(true, Ordering::Relaxed));
    watched(|| busy.join().unwrap());
    cluster.stop();
}

/// The waker is called before the future has returned `Pending`, and long after the end.
#[test]
fn early_and_late_wakers_do_no_harm() {
    for_each_cluster(|_| {
        let mut late = Vec::new();
        for _ in 0..50 {
            let switch = Arc::new(Switch::default());
            block_on(async {
                let mut first = Some(());
                std::future::poll_fn(|context| match first.take() {
                    Some(()) => {
                        late.push(context.waker().clone());
                        context.waker().wake_by_ref();
                        context.waker().wake_by_ref();
                        std::task::Poll::Pending
                    }
                    None => std::task::Poll::Ready(()),
                })
                .await;
            });
            switch.set();
        }
        let threads = thread::spawn(move || late.into_iter().for_each(std::task::Waker::wake));
        threads.join().unwrap();
        fibre::yield_now();
    });
}

/// A panic in the future is the caller's, and its values are dropped.
#[test]
fn a_panic_goes_to_the_caller() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let value = drops.value();
        let panics = AssertUnwindSafe(|| {
            block_on(async move {
                let _value = value;
                yields().await;
                std::panic::resume_unwind(Box::new("the future's own words"));
            })
        });
        let payload = catch_unwind(panics).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"the future's own words"));
        assert_eq!(drops.count(), 1);
    });
}

/// A future that is never ready is dropped when a time-out around it ends, or its fibre is
/// cancelled; destructors in it may wait.
#[test]
fn limits_end_what_never_ends() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let value = drops.value();
        let ended = fibre::timeout(Duration::from_millis(2), || {
            block_on(async move {
                let _waits = OnDrop(|| fibre::sleep(Duration::from_millis(1)));
                let _value = value;
                pending::<()>().await;
            });
        });
        assert!(ended.is_err());
        assert_eq!(drops.count(), 1);
        let cancelled = fibre::spawn(|| fibre::cancellable(|| block_on(pending::<()>())).is_err());
        fibre::sleep(Duration::from_millis(1));
        cancelled.cancel();
        assert!(cancelled.join().unwrap());
    });
    // On a plain thread, too.
    let begun = Instant::now();
    let ended = fibre::timeout(Duration::from_millis(5), || block_on(pending::<()>()));
    assert!(ended.is_err() && begun.elapsed() >= Duration::from_millis(5));
}

/// Futures that call what blocks the fibre, and run others within themselves.
#[test]
fn futures_may_block_their_fibre() {
    for_each_cluster(|_| {
        let sum = block_on(async {
            let first = fibre::spawn(|| 1).join().unwrap();
            fibre::sleep(Duration::from_micros(100));
            let second = block_on(async { fibre::spawn(|| 2).await.unwrap() });
            yields().await;
            first + second
        });
        assert_eq!(sum, 3);
    });
}

/// Many fibres, each with a chain of futures that others complete at random.
#[test]
fn a_crowd_of_futures() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        let done = Arc::new(AtomicUsize::new(0));
        let switches: Vec<_> = (0..500).map(|_| Arc::new(Switch::default())).collect();
        let mut order: Vec<usize> = (0..switches.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        let waiting: Vec<_> = switches
            .chunks(5)
            .map(|chunk| {
                let (chunk, done) = (chunk.to_vec(), Arc::clone(&done));
                fibre::spawn(move || {
                    block_on(async {
                        for switch in chunk {
                            switch.wait().await;
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                })
            })
            .collect();
        let from_thread = order.split_off(250);
        let of_thread: Vec<_> = from_thread
            .iter()
            .map(|at| Arc::clone(&switches[*at]))
            .collect();
        let setting = thread::spawn(move || of_thread.iter().for_each(|switch| switch.set()));
        for at in order {
            switches[at].set();
            if random.one_in(10) {
                fibre::yield_now();
            }
        }
        setting.join().unwrap();
        waiting.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(done.load(Ordering::Relaxed), 500);
    });
}
