//! The semaphore.

use crate::crowd;
use crate::support::{for_clusters, for_each_cluster, let_others_block};
use fibre::sync::{Mutex, Semaphore};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Permits are handed out in the order of asking; nobody overtakes.
#[test]
fn semaphore_is_first_come_first_served() {
    for_clusters(&[1], |_| {
        let (semaphore, order) = (
            Arc::new(Semaphore::new(0)),
            Arc::new(Mutex::new(Vec::new())),
        );
        let handles: Vec<_> = (0..20)
            .map(|i| {
                let (semaphore, order) = (Arc::clone(&semaphore), Arc::clone(&order));
                fibre::spawn(move || {
                    semaphore.acquire();
                    order.lock().push(i);
                })
            })
            .collect();
        let_others_block();
        for _ in 0..20 {
            semaphore.release();
            assert!(!semaphore.try_acquire(), "the permit was another's");
        }
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
    });
}

/// Never are more permits out than there are, and in the end all are back.
#[test]
fn semaphore_conserves_permits() {
    for_each_cluster(|_| {
        let shared = Arc::new((Semaphore::new(3), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(10, 3, move |me| {
            let (semaphore, holders) = &*inside;
            for round in 0..300 {
                match (me + round) % 3 {
                    0 => semaphore.acquire(),
                    1 if semaphore.try_acquire() => {}
                    2 if semaphore.acquire_until(Instant::now() + Duration::from_micros(30)) => {}
                    _ => continue,
                }
                assert!(holders.fetch_add(1, Ordering::SeqCst) < 3);
                fibre::yield_now();
                holders.fetch_sub(1, Ordering::SeqCst);
                semaphore.release();
            }
        });
        assert_eq!(shared.0.available(), 3);
    });
}
