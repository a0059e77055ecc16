//! Fibres that borrow.

use crate::support::{Drops, eventually, for_each_cluster, text_of, watched};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Scoped fibres read and write what belongs to the spawner.
#[test]
fn scoped_fibres_borrow() {
    for_each_cluster(|_| {
        let words = ["a", "bc", "def"];
        let mut lengths = [0; 3];
        fibre::scope(|scope| {
            for (word, length) in words.iter().zip(&mut lengths) {
                scope.spawn(move || {
                    fibre::yield_now();
                    *length = word.len();
                });
            }
        });
        assert_eq!(lengths, [1, 2, 3]);
        assert_eq!(words.len(), 3);
    });
}

/// The scope waits for fibres whose handles are dropped, and for those that they spawn.
#[test]
fn scopes_wait_for_all() {
    for_each_cluster(|_| {
        for _ in 0..50 {
            let ended = AtomicUsize::new(0);
            let ended = &ended;
            fibre::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(move || {
                        fibre::sleep(Duration::from_micros(200));
                        scope.spawn(move || {
                            fibre::yield_now();
                            ended.fetch_add(1, Ordering::SeqCst);
                        });
                        ended.fetch_add(1, Ordering::SeqCst);
                    });
                }
            });
            assert_eq!(ended.load(Ordering::SeqCst), 6);
        }
    });
}

/// Scopes nest, and return the value of their body.
#[test]
fn scopes_nest() {
    fn sum(numbers: &[u64]) -> u64 {
        if let [number] = numbers {
            return *number;
        }
        let (left, right) = numbers.split_at(numbers.len() / 2);
        fibre::scope(|scope| {
            let left = scope.spawn(|| sum(left));
            sum(right) + left.join().unwrap()
        })
    }
    for_each_cluster(|_| {
        let numbers: Vec<u64> = (1..=1000).collect();
        assert_eq!(sum(&numbers), 500_500);
    });
}

/// A panic of the body goes on only after the children have ended.
#[test]
fn a_panicking_body_waits_for_its_fibres() {
    for_each_cluster(|_| {
        let ended = AtomicUsize::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            fibre::scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|| {
                        fibre::sleep(Duration::from_millis(2));
                        ended.fetch_add(1, Ordering::SeqCst);
                    });
                }
                panic!("from the body");
            });
        }));
        assert_eq!(text_of(&*outcome.unwrap_err()), "from the body");
        assert_eq!(ended.load(Ordering::SeqCst), 10);
    });
}

/// A panic of a fibre that is joined is the joiner's; the scope is content.
#[test]
fn joined_panics_are_the_joiners() {
    for_each_cluster(|_| {
        let text = fibre::scope(|scope| {
            let child = scope.spawn(|| panic!("from a child"));
            text_of(&*child.join().unwrap_err()).to_owned()
        });
        assert_eq!(text, "from a child");
    });
}

/// A panic of a fibre that nobody joins makes the scope panic, whether the handle is dropped
/// before or after the fibre's end.
#[test]
fn panics_that_nobody_asks_for_are_the_scopes() {
    for_each_cluster(|_| {
        for after_the_end in [false, true] {
            let outcome = catch_unwind(|| {
                fibre::scope(|scope| {
                    let child = scope.spawn(|| panic!("from a child"));
                    if after_the_end {
                        eventually(|| child.is_finished());
                    }
                    drop(child);
                });
            });
            let payload = outcome.expect_err("the scope has to panic");
            assert_eq!(text_of(&*payload), "a fibre of this scope has panicked");
        }
    });
}

/// Results of scoped fibres are dropped before the scope ends, because they may borrow.
#[test]
fn unwanted_results_go_before_the_scope() {
    for_each_cluster(|_| {
        for _ in 0..200 {
            let drops = Drops::new();
            fibre::scope(|scope| {
                scope.spawn(|| drops.value());
                let kept = scope.spawn(|| drops.value());
                fibre::yield_now();
                drop(kept);
            });
            assert_eq!(drops.count(), 2);
        }
    });
}

/// A plain thread opens a scope, too; its fibres run in the default cluster.
#[test]
fn threads_open_scopes() {
    watched(|| {
        let counter = AtomicUsize::new(0);
        let inside = fibre::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| counter.fetch_add(1, Ordering::SeqCst));
            }
            scope.spawn(fibre::in_fibre).join().unwrap()
        });
        assert!(inside);
        assert_eq!(counter.load(Ordering::SeqCst), 100);
    });
}
