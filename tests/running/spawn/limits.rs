//! How many fibres a cluster may have, and stacks that are taken at once.

use crate::support::drops::OnDrop;
use crate::support::{Latch, eventually, watched};
use fibre::{Builder, Cluster, SpawnError, StackError};
use std::io::{Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Why a spawn was refused.
fn reason(error: &Error) -> SpawnError {
    let inside = error.get_ref().and_then(|inside| inside.downcast_ref());
    *inside.expect("it says why")
}

/// As many fibres as the limit says, then an error, and again as many as have ended.
#[test]
fn the_limit_is_exact() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).max_fibres(10);
        let cluster = cluster.build().unwrap();
        for _ in 0..3 {
            let latch = Latch::new();
            let block = || {
                let latch = Arc::clone(&latch);
                Builder::new().spawn_in(&cluster, move || latch.wait())
            };
            let fibres: Vec<_> = (0..10).map(|_| block().unwrap()).collect();
            let error = block().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            assert_eq!(reason(&error), SpawnError::TooManyFibres(10));
            let panicked = catch_unwind(AssertUnwindSafe(|| cluster.spawn(|| ())));
            let payload = panicked.expect_err("it cannot say so otherwise");
            let words = payload.downcast_ref::<String>().unwrap();
            assert!(words.contains("more than 10 fibres"), "{words}");
            latch.open();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            eventually(|| cluster.live() == 0);
        }
        cluster.stop();
    });
}

/// The limit holds whoever spawns, and nothing of those that are refused is lost or left.
#[test]
fn the_limit_holds_under_contention() {
    const MOST: usize = 5;
    watched(|| {
        let cluster = Cluster::builder().processors(2).max_fibres(MOST);
        let cluster = cluster.build().unwrap();
        let (live, dropped, ran) = (
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        );
        let counts = Arc::new((live, dropped, ran));
        let spawners: Vec<_> = (0..4)
            .map(|_| {
                let (cluster, counts) = (cluster.clone(), Arc::clone(&counts));
                thread::spawn(move || {
                    let accepted = (0..5000).filter(|_| {
                        let counts = Arc::clone(&counts);
                        let witness = Arc::clone(&counts);
                        let witness = OnDrop(move || {
                            witness.1.fetch_add(1, Ordering::SeqCst);
                        });
                        let spawned = Builder::new().spawn_in(&cluster, move || {
                            assert!(counts.0.fetch_add(1, Ordering::SeqCst) < MOST);
                            fibre::yield_now();
                            counts.0.fetch_sub(1, Ordering::SeqCst);
                            counts.2.fetch_add(1, Ordering::SeqCst);
                            drop(witness);
                        });
                        spawned.is_ok()
                    });
                    accepted.count()
                })
            })
            .collect();
        let accepted: usize = spawners
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum();
        cluster.stop();
        assert_eq!(counts.2.load(Ordering::SeqCst), accepted);
        assert_eq!(counts.1.load(Ordering::SeqCst), 4 * 5000);
        assert!((MOST..4 * 5000).contains(&accepted), "{accepted}");
    });
}

/// Scopes and fibres that spawn are held to it, and end in order.
#[test]
fn scopes_are_held_to_it() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).max_fibres(3);
        let cluster = cluster.build().unwrap();
        let root = cluster.spawn(|| {
            let ended = AtomicUsize::new(0);
            let refused = catch_unwind(AssertUnwindSafe(|| {
                fibre::scope(|scope| {
                    for _ in 0..10 {
                        scope.spawn(|| {
                            fibre::yield_now();
                            ended.fetch_add(1, Ordering::SeqCst);
                        });
                    }
                });
            }));
            assert!(refused.is_err());
            ended.load(Ordering::SeqCst)
        });
        assert_eq!(root.join().unwrap(), 2);
        cluster.stop();
    });
}

/// Calls that block a thread are not held to it: they are one for each fibre at most.
#[test]
fn blocking_calls_are_not_held_to_it() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).max_fibres(1);
        let cluster = cluster.build().unwrap();
        let only = cluster.spawn(|| fibre::blocking(|| 4));
        assert_eq!(only.join().unwrap(), 4);
        cluster.stop();
    });
}

/// A stack that is wanted at once is refused at once, and the closure dropped by the caller.
#[test]
fn eager_stacks_are_refused_at_once() {
    fn refused() {
        let dropped = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&dropped);
        let owned = OnDrop(move || told.store(true, Ordering::SeqCst));
        let absurd = Builder::new().stack_size(1 << 49).eager_stack();
        let error = absurd.spawn(move || drop(owned)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let reason = reason(&error);
        assert!(
            matches!(reason, SpawnError::NoStack(StackError::NoMemory(_))),
            "{reason}"
        );
        assert!(dropped.load(Ordering::SeqCst));
    }
    watched(|| {
        refused();
        let cluster = Cluster::builder().processors(2).max_fibres(2);
        let cluster = cluster.build().unwrap();
        // The limit does not count them.
        cluster.spawn(refused).join().unwrap();
        eventually(|| cluster.live() == 0);
        cluster.spawn(|| ()).join().unwrap();
        cluster.stop();
    });
}

/// Fibres that got their stack when they were spawned run, block and end like others, wherever
/// they are spawned from.
#[test]
fn eager_stacks_serve() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let many = |cluster: &Cluster| {
            let fibres: Vec<_> = (0..300)
                .map(|i| {
                    let eager = Builder::new().eager_stack().stack_size(64 * 1024);
                    let body = move || {
                        fibre::yield_now();
                        i
                    };
                    eager.spawn_in(cluster, body).unwrap()
                })
                .collect();
            let results = fibres.into_iter().map(|fibre| fibre.join().unwrap());
            results.sum::<usize>()
        };
        assert_eq!(many(&cluster), 299 * 150);
        let inside = cluster.clone();
        assert_eq!(
            cluster.spawn(move || many(&inside)).join().unwrap(),
            299 * 150
        );
        cluster.stop();
    });
}
