//! Which processor runs a fibre.

use crate::support::{Latch, any_cluster, kernel_thread, processor_counts, run_in, watched};
use fibre::{Cluster, Placement, StealOrder};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Fibres that have not started are taken from a processor that is busy with something long.
#[test]
fn stuck_processors_are_helped() {
    let body = Arc::new(|cluster: &Cluster| {
        let ran = Arc::new(AtomicUsize::new(0));
        let count = 50 * cluster.processors();
        for _ in 0..count {
            let ran = Arc::clone(&ran);
            fibre::spawn(move || ran.fetch_add(1, Ordering::SeqCst));
        }
        // This fibre computes and never yields; its processor's share has to go elsewhere.
        let deadline = Instant::now() + Duration::from_secs(30);
        while ran.load(Ordering::SeqCst) < count {
            assert!(Instant::now() < deadline, "nobody took the work");
            std::hint::spin_loop();
        }
    });
    for processors in [2, 4] {
        let builder = any_cluster().steal_order(StealOrder::LongestBusy);
        let cluster = builder.processors(processors).build().unwrap();
        run_in(cluster, Arc::clone(&body));
    }
}

/// The same for work that a foreign thread brings while all but one processor are stuck.
#[test]
fn the_last_free_processor_does_it_all() {
    watched(|| {
        let builder = any_cluster().steal_order(StealOrder::LongestBusy);
        let cluster = builder.processors(3).build().unwrap();
        let free = Arc::new(AtomicBool::new(false));
        let stuck = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (free, stuck) = (Arc::clone(&free), Arc::clone(&stuck));
            cluster.spawn(move || {
                stuck.fetch_add(1, Ordering::SeqCst);
                while !free.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            });
        }
        while stuck.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
        for i in 0..300 {
            assert_eq!(cluster.spawn(move || i).join().unwrap(), i);
        }
        free.store(true, Ordering::SeqCst);
        cluster.stop();
    });
}

/// A fibre that has started stays on its kernel thread, however it blocks.
#[test]
fn started_fibres_stay() {
    let body = Arc::new(|_: &Cluster| {
        let handles: Vec<_> = (0..50)
            .map(|_| {
                fibre::spawn(|| {
                    let home = kernel_thread();
                    for _ in 0..20 {
                        fibre::yield_now();
                        assert_eq!(kernel_thread(), home);
                        fibre::spawn(fibre::yield_now).join().unwrap();
                        assert_eq!(kernel_thread(), home);
                        fibre::sleep(Duration::from_micros(100));
                        assert_eq!(kernel_thread(), home);
                        fibre::blocking(|| ());
                        assert_eq!(kernel_thread(), home);
                    }
                })
            })
            .collect();
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
    });
    for processors in processor_counts() {
        // Without the opt-in, whatever else is chosen.
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        run_in(cluster, Arc::clone(&body));
    }
}

/// Fibres that are born one at a time, while all processors are idle, do not all meet on one,
/// wherever they wait until they begin.
#[test]
fn idle_processors_share_the_newborn() {
    let places = Placement::ALL.map(|placement| (placement, false));
    for (placement, sharing) in places.into_iter().chain([(Placement::Push, true)]) {
        watched(|| {
            let builder = Cluster::builder().placement(placement).sharing(sharing);
            let builder = builder.steal_order(StealOrder::LongestBusy);
            let cluster = builder.processors(4).build().unwrap();
            let latch = Latch::new();
            let fibres: Vec<_> = (0..60)
                .map(|_| {
                    thread::sleep(Duration::from_millis(2));
                    let latch = Arc::clone(&latch);
                    cluster.spawn(move || {
                        latch.wait();
                        kernel_thread()
                    })
                })
                .collect();
            latch.open();
            let homes = fibres.into_iter().map(|fibre| fibre.join().unwrap());
            let homes: HashSet<_> = homes.collect();
            let placed = if sharing { "shared" } else { "placed" };
            assert!(homes.len() >= 3, "{placed} by {placement}: {homes:?}");
            cluster.stop();
        });
    }
}
