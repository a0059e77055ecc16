//! Scoped values: who sees them, for how long, and when they are dropped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod drops;
mod inherited;
mod random;

use crate::support;

use fibre::{Cluster, ScopedBindings, scoped_local};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use support::{for_each_cluster, run_in, watched};

scoped_local! {
    /// Two in one call, with a key of its own and without.
    static REQUEST: u64 = shown("request");
    static USER: String;
}
scoped_local!(static OTHER: u64);

/// The numbers that are bound for the caller.
fn numbers() -> (Option<u64>, Option<u64>) {
    (REQUEST.get(), OTHER.get())
}

/// Runs `body` as a fibre of clusters with 1, 2 and 4 processors, where fibres stay; move at each
/// turn; and have thread-locals of their own.
fn for_all_clusters(body: impl Fn(&Cluster) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let (stay, forced) = (Arc::clone(&body), Arc::clone(&body));
    for_each_cluster(move |cluster| stay(cluster));
    for processors in support::processor_counts() {
        // SAFETY: these fibres keep nothing that belongs to a kernel thread.
        let builder = unsafe { Cluster::builder().processors(processors).force_migration() };
        run_in(builder.build().unwrap(), Arc::clone(&forced));
        #[cfg(not(feature = "sanitizer"))]
        {
            let builder = Cluster::builder().processors(processors);
            // SAFETY: these fibres tie no memory to a kernel thread by a system call.
            let builder = unsafe { builder.own_thread_locals() };
            run_in(builder.build().unwrap(), Arc::clone(&body));
        }
    }
}

/// A value is there within the call, hidden by one further in, and each key has its own.
#[test]
fn the_innermost_value_counts() {
    let body = || {
        assert_eq!(numbers(), (None, None));
        let result = REQUEST.with(1, || {
            assert_eq!(numbers(), (Some(1), None));
            let inner = OTHER.with(2, || REQUEST.with(3, numbers));
            fibre::yield_now();
            assert_eq!((inner, numbers()), ((Some(3), Some(2)), (Some(1), None)));
            USER.with("Ada".to_owned(), || {
                assert_eq!(numbers(), (Some(1), None));
                USER.read(|user| {
                    // The reference is good for as long as one likes, whatever is bound meanwhile.
                    USER.with("Eve".to_owned(), fibre::yield_now);
                    ScopedBindings::none().with(|| {
                        assert!(!USER.is_bound());
                        fibre::yield_now();
                    });
                    user.cloned()
                })
            })
        });
        assert_eq!(result.as_deref(), Some("Ada"));
        assert_eq!((numbers(), USER.is_bound()), ((None, None), false));
    };
    for_all_clusters(move |_| body());
    // And on a plain thread.
    std::thread::spawn(body).join().unwrap();
}

/// What unwinds puts back what was bound before.
#[test]
fn unwinding_restores() {
    let body = || {
        REQUEST.with(1, || {
            let panics = || REQUEST.with(2, || panic_any(numbers()));
            let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&(Some(2_u64), None::<u64>)));
            assert_eq!(numbers(), (Some(1), None));
            let panics = || ScopedBindings::none().with(|| panic_any(numbers()));
            let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&(None::<u64>, None::<u64>)));
            assert_eq!(numbers(), (Some(1), None));
        });
    };
    for_all_clusters(move |_| body());
    std::thread::spawn(body).join().unwrap();
}

/// A value is dropped, and not bound, if its `Display` panics.
#[test]
fn a_value_that_cannot_be_shown_is_not_bound() {
    struct Absurd(#[allow(dead_code, reason = "its drop is counted")] support::drops::Counted);
    impl std::fmt::Display for Absurd {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic_any("absurd")
        }
    }
    scoped_local!(static ABSURD: Absurd = shown("absurd"));
    watched(|| {
        let drops = support::Drops::new();
        let with = || ABSURD.with(Absurd(drops.value()), || unreachable!());
        let payload = catch_unwind(AssertUnwindSafe(with)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"absurd"));
        assert_eq!((drops.count(), ABSURD.is_bound()), (1, false));
    });
}

/// Declarations of the same type and content do not find each other's values.
#[test]
fn declarations_are_told_apart() {
    mod numbers {
        fibre::scoped_local!(pub(super) static VALUE: u64);
    }
    mod others {
        fibre::scoped_local! { pub(super) static VALUE: u64; }
    }
    mod texts {
        fibre::scoped_local! { pub(super) static VALUE: &'static str; }
    }
    fibre::scoped_local! {}
    numbers::VALUE.with(1, || {
        assert_eq!((others::VALUE.get(), texts::VALUE.get()), (None, None));
        texts::VALUE.with("one", || {
            others::VALUE.with(2, || {
                let found = (
                    numbers::VALUE.get(),
                    others::VALUE.get(),
                    texts::VALUE.get(),
                );
                assert_eq!(found, (Some(1), Some(2), Some("one")));
            });
        });
    });
    let debug = format!("{:?} {:?}", &numbers::VALUE, &REQUEST);
    assert_eq!(
        debug,
        "ScopedLocal { shown: None, .. } ScopedLocal { shown: Some(\"request\"), .. }"
    );
}

/// What is shown stands behind the labels, the innermost value of each key, and is inherited.
#[test]
fn labels_show_what_is_declared_to_be_shown() {
    scoped_local!(static SECOND: &'static str = shown("second"));
    for_all_clusters(|_| {
        REQUEST.with(7, || {
            let child = fibre::spawn(|| {
                let inherited = fibre::labels();
                fibre::label("conn", 42);
                let both = fibre::labels();
                let inner = REQUEST.with(8, || {
                    OTHER.with(9, || SECOND.with("two\nlines", fibre::labels))
                });
                fibre::label("request", "mine");
                let hidden = fibre::labels();
                fibre::label("request", "");
                let none = ScopedBindings::none().with(fibre::labels);
                [inherited, both, inner, hidden, none, fibre::labels()]
            });
            let shown = child.join().unwrap();
            let expected = [
                "request=7",
                "conn=42 request=7",
                "conn=42 second=two lines request=8",
                "conn=42 request=mine",
                "conn=42",
                "conn=42 request=7",
            ];
            assert_eq!(shown, expected);
        });
        assert_eq!(fibre::labels(), "");
    });
}
