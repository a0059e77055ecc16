//! Each value is dropped once, when its last holder ends.

use super::support::drops::{Counted, OnDrop};
use super::support::{Drops, Latch, as_cancelled, eventually, text_of, watched};
use super::{REQUEST, for_all_clusters};

use fibre::{Builder, Cluster, ScopedBindings, fibre_local, scoped_local};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

scoped_local!(static HELD: Counted);

/// The call drops its value if nobody has inherited it, and not before.
#[test]
fn the_call_is_a_holder() {
    for_all_clusters(|_| {
        let drops = Drops::new();
        HELD.with(drops.value(), || {
            HELD.with(drops.value(), fibre::yield_now);
            assert_eq!(drops.count(), 1);
            assert!(HELD.is_bound());
        });
        assert_eq!(drops.count(), 2);
        let panics = || HELD.with(drops.value(), || panic_any("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(drops.count(), 3);
    });
}

/// A fibre gives its values up before others see that it has ended, joined or not.
#[test]
fn a_join_comes_after_the_drop() {
    for_all_clusters(|_| {
        for round in 0..50 {
            let drops = Drops::new();
            let latch = Latch::new();
            let waits = Arc::clone(&latch);
            let body = move || {
                let child = fibre::spawn(|| HELD.is_bound());
                waits.wait();
                assert!(child.join().unwrap());
                assert!(round % 3 != 1, "on purpose");
            };
            let fibre = HELD.with(drops.value(), || fibre::spawn(body));
            assert_eq!(drops.count(), 0);
            latch.open();
            assert_eq!(fibre.join().is_err(), round % 3 == 1);
            assert_eq!(drops.count(), 1);
        }
    });
}

/// What is unwound by cancellation or by a stop gives its values up.
#[test]
fn cancelled_and_stopped_fibres_give_up() {
    for_all_clusters(|_| {
        let drops = Drops::new();
        let value = drops.value();
        as_cancelled(move || {
            HELD.with(value, || assert!(fibre::cancellation_point().is_err()));
        });
        assert_eq!(drops.count(), 1);
        let value = drops.value();
        let sleeps =
            move || HELD.with(value, || fibre::cancellable(|| fibre::sleep(Duration::MAX)));
        let fibre = fibre::spawn(sleeps);
        fibre.cancel();
        assert!(fibre.join().is_ok_and(|ended| ended.is_err()));
        assert_eq!(drops.count(), 2);
    });
    watched(|| {
        let (drops, cluster) = (
            Drops::new(),
            Cluster::builder().processors(2).build().unwrap(),
        );
        let ran = Arc::new(AtomicUsize::new(0));
        HELD.with(drops.value(), || {
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                cluster.spawn(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    HELD.read(|_| fibre::sleep_within(Duration::MAX))
                });
            }
        });
        eventually(|| ran.load(Ordering::Relaxed) == 10);
        assert_eq!(drops.count(), 0);
        let minute = Duration::from_secs(60);
        cluster.stop_within(Duration::ZERO, minute).unwrap();
        assert_eq!(drops.count(), 1);
    });
}

/// A spawn that is refused leaves nothing behind.
#[test]
fn a_refused_spawn_gives_up() {
    watched(|| {
        let drops = Drops::new();
        let stopped = Cluster::builder().processors(1).build().unwrap();
        stopped.clone().stop();
        let full = Cluster::builder()
            .processors(1)
            .max_fibres(1)
            .build()
            .unwrap();
        let latch = Latch::new();
        let waits = Arc::clone(&latch);
        let only = full.spawn(move || waits.wait());
        HELD.with(drops.value(), || {
            for cluster in [&stopped, &full] {
                let refused = Builder::new().spawn_in(cluster, || HELD.is_bound());
                assert!(refused.is_err());
                let absurd = Builder::new().stack_size(1 << 50).eager_stack();
                assert!(absurd.spawn_in(cluster, || HELD.is_bound()).is_err());
            }
            assert_eq!(drops.count(), 0);
        });
        assert_eq!(drops.count(), 1);
        latch.open();
        only.join().unwrap();
        full.stop();
    });
}

/// A fibre that gets no stack ends without having begun, and gives up what it has inherited.
#[test]
fn a_fibre_without_a_stack_gives_up() {
    watched(|| {
        let drops = Drops::new();
        let absurd = Cluster::builder().processors(1).stack_size(1 << 50);
        let absurd = absurd.build().unwrap();
        let fibre = HELD.with(drops.value(), || absurd.spawn(|| ()));
        assert!(fibre.join().unwrap_err().is::<fibre::StackError>());
        assert_eq!(drops.count(), 1);
        absurd.stop();
    });
}

/// Destructors of fibre-local values still see what is bound; those of scoped values may bind, make
/// fibre-local values, spawn and wait.
#[test]
fn destructors_may_do_anything() {
    scoped_local!(static ENDS: OnDrop<Box<dyn FnMut() + Send + Sync>>);
    type AtEnd = OnDrop<Box<dyn FnMut()>>;
    fibre_local!(static LAST: Cell<Option<AtEnd>> = Cell::new(None));
    for_all_clusters(|_| {
        let (drops, seen) = (Drops::new(), Arc::new(AtomicUsize::new(0)));
        let (in_drop, at_end) = (drops.clone(), Arc::clone(&seen));
        let value = OnDrop(Box::new(move || {
            assert!(!ENDS.is_bound() && REQUEST.get().is_none());
            let counted = in_drop.value();
            let mut counted = Some(counted);
            LAST.set(Some(OnDrop(Box::new(move || drop(counted.take())))));
            let child = REQUEST.with(5, || fibre::spawn(|| REQUEST.get()));
            assert_eq!(child.join().unwrap(), Some(5));
        }) as Box<dyn FnMut() + Send + Sync>);
        let fibre = ENDS.with(value, || {
            fibre::spawn(move || {
                LAST.set(Some(OnDrop(Box::new(move || {
                    fibre::yield_now();
                    at_end.fetch_add(ENDS.is_bound().into(), Ordering::Relaxed);
                }))));
            })
        });
        fibre.join().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        // The fibre or the caller was the last holder; its fibre-local value ends with it.
        LAST.set(None);
        assert_eq!(drops.count(), 1);
    });
}

/// A destructor that panics takes no other value along, also while a panic unwinds.
#[test]
fn a_panic_of_a_destructor_ends_with_it() {
    scoped_local!(static ABSURD: OnDrop<fn()>);
    fn absurd() {
        panic_any("a destructor")
    }
    for_all_clusters(|_| {
        let drops = Drops::new();
        let nested = || {
            HELD.with(drops.value(), || {
                ABSURD.with(OnDrop(absurd), || fibre::spawn(|| ()).join().unwrap());
            });
            HELD.with(drops.value(), || {
                ABSURD.with(OnDrop(absurd), || panic_any("the call"));
            });
        };
        let payload = catch_unwind(AssertUnwindSafe(nested)).unwrap_err();
        assert_eq!(text_of(&*payload), "the call");
        assert_eq!(drops.count(), 2);
    });
}

/// What a job in a channel takes along is held by it.
#[test]
fn bindings_are_holders() {
    let drops = Drops::new();
    let bindings = HELD.with(drops.value(), ScopedBindings::current);
    let copy = bindings.clone();
    assert!(bindings.with(|| HELD.is_bound()));
    assert_eq!(drops.count(), 0);
    drop(copy);
    assert_eq!(drops.count(), 1);
}

/// A cluster that abandons its fibres leaves their values where they are.
#[test]
fn abandoned_fibres_keep_their_values() {
    watched(|| {
        let drops = Drops::new();
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        HELD.with(drops.value(), || {
            cluster.spawn(move || {
                fibre::shield(|| {
                    tell.send(()).unwrap();
                    fibre::sleep(Duration::MAX);
                });
            });
        });
        told.recv().unwrap();
        let short = Duration::from_millis(10);
        assert!(cluster.stop_within(short, short).is_err());
        assert_eq!(drops.count(), 0);
    });
}
