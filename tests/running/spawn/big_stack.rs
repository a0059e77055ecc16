//! Calls on a larger stack.

use crate::support::drops::OnDrop;
use crate::support::{eventually, for_each_cluster, watched};
use fibre::{Builder, on_big_stack, sleep, spawn, yield_now};
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Recurses so deep, with a kilobyte at least for each step; yields at the deepest point.
fn recurse(depth: usize) -> usize {
    let frame = black_box([1_u8; 1024]);
    if depth == 0 {
        yield_now();
        return 0;
    }
    recurse(depth - 1) + usize::from(black_box(&frame)[17])
}

/// More than any of the other stacks holds.
const DEEP: usize = 10 * 1024;

/// Enough for it, without optimisation too.
const LARGE: usize = 64 << 20;

/// Deep recursion fits, from small fibres and from threads, and things that are tied to a thread
/// go along.
#[test]
fn deep_recursion_fits() {
    for_each_cluster(|_| {
        let small = Builder::new().stack_size(64 * 1024);
        let deep = small.spawn(|| on_big_stack(LARGE, || recurse(DEEP)).unwrap());
        assert_eq!(deep.unwrap().join().unwrap(), DEEP);
    });
    let here = Rc::new(Cell::new(0));
    let result = on_big_stack(LARGE, || {
        here.set(recurse(DEEP));
        Rc::clone(&here)
    });
    assert_eq!(result.unwrap().get(), DEEP);
}

/// What is on the big stack blocks like any fibre, and is the same fibre.
#[test]
fn blocking_on_it_blocks_the_fibre() {
    for_each_cluster(|_| {
        let ended = Arc::new(AtomicUsize::new(0));
        let fibres: Vec<_> = (0..100)
            .map(|i| {
                let ended = Arc::clone(&ended);
                spawn(move || {
                    let id = fibre::id();
                    let name = on_big_stack(LARGE, || {
                        assert_eq!(fibre::id(), id);
                        sleep(Duration::from_millis(i % 7));
                        let inner = spawn(yield_now);
                        yield_now();
                        inner.join().unwrap();
                        ended.fetch_add(1, Ordering::SeqCst);
                        i
                    });
                    assert_eq!(name.unwrap(), i);
                    yield_now();
                })
            })
            .collect();
        eventually(|| ended.load(Ordering::SeqCst) == 100);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// Calls may be nested, and come one after another.
#[test]
fn calls_may_be_nested() {
    for_each_cluster(|_| {
        let nested = spawn(|| {
            (0..100).try_fold(0, |sum, _| {
                on_big_stack(LARGE, || {
                    on_big_stack(LARGE, || recurse(10)).map(|n| n + recurse(5))
                })?
                .map(|n| n + sum)
            })
        });
        assert_eq!(nested.join().unwrap().unwrap(), 1500);
    });
}

/// A panic passes through, after the destructors on the big stack, which may block.
#[test]
fn panics_pass_through() {
    for_each_cluster(|_| {
        let order = spawn(|| {
            let dropped = Cell::new(false);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                on_big_stack(LARGE, || {
                    let _witness = OnDrop(|| {
                        sleep(Duration::from_millis(1));
                        dropped.set(true);
                    });
                    std::panic::panic_any("deep trouble");
                })
            }));
            let payload = caught.expect_err("it panicked");
            (dropped.get(), *payload.downcast_ref::<&str>().unwrap())
        });
        assert_eq!(order.join().unwrap(), (true, "deep trouble"));
        assert_eq!(
            spawn(|| on_big_stack(LARGE, || 3).unwrap()).join().unwrap(),
            3
        );
    });
}

/// A size that cannot be had is an error, and nothing is called.
#[test]
fn absurd_sizes_are_an_error() {
    watched(|| {
        let absurd = || on_big_stack(1 << 50, || unreachable!("there is no such stack")).is_err();
        assert!(absurd());
        assert!(spawn(absurd).join().unwrap());
    });
}
