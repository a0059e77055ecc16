//! What a call returns, where it runs, and what goes on meanwhile.

use crate::support::{Drops, Random, for_each_cluster, kernel_thread, text_of, watched};
use fibre::{Cluster, compute};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

/// The name of the kernel thread.
fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// The call runs on a thread that is there for it, may borrow, also what it changes, and its value
/// comes back.
#[test]
fn a_call_runs_elsewhere_and_borrows() {
    for_each_cluster(|_| {
        let (text, mut seen) = ("borrowed".to_owned(), Vec::new());
        let there = compute(|| {
            seen.push(text.len());
            thread_name()
        });
        assert_eq!(seen, [text.len()]);
        assert!(there.starts_with("fibre-compute/"), "{there}");
        assert!(!thread_name().starts_with("fibre-compute/"));
    });
}

/// While a call keeps its processor, the other fibres of the caller's go on: one of them lets the
/// call end.
#[test]
fn others_run_meanwhile() {
    for_each_cluster(|_| {
        let (tell, told) = channel();
        let computing = fibre::spawn(move || compute(move || told.recv().unwrap()));
        for _ in 0..100 {
            fibre::spawn(fibre::yield_now).join().unwrap();
        }
        tell.send("released by a fibre").unwrap();
        assert_eq!(computing.join().unwrap(), "released by a fibre");
    });
}

/// A panic of the call is the caller's, whatever its payload, and what it captured is dropped once.
#[test]
fn panics_come_back() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let captured = drops.value();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            compute(move || {
                let _captured = captured;
                panic!("from the work");
            })
        }));
        assert_eq!(
            text_of(&*outcome.expect_err("it panicked")),
            "from the work"
        );
        assert_eq!(drops.count(), 1);
        let odd = catch_unwind(|| compute(|| panic_any(7_u8))).unwrap_err();
        assert_eq!(odd.downcast_ref(), Some(&7_u8));
        assert_eq!(compute(|| 3), 3);
    });
}

/// A result that is dropped by a panic of its destructor's does no harm to what follows.
#[test]
fn results_are_dropped_by_the_caller() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        for _ in 0..20 {
            let result = compute(|| drops.value());
            drop(result);
        }
        assert_eq!(drops.count(), 20);
    });
}

/// On a plain thread the work is done there and then; within other work, too.
#[test]
fn plain_threads_and_nesting() {
    watched(|| {
        let here = kernel_thread();
        assert_eq!(compute(kernel_thread), here);
        let nested = fibre::spawn(|| compute(|| (kernel_thread(), compute(kernel_thread))));
        let (outer, inner) = nested.join().unwrap();
        assert_eq!(outer, inner);
        assert_ne!(outer, here);
        let mixed = fibre::spawn(|| compute(|| fibre::blocking(|| compute(|| 11))));
        assert_eq!(mixed.join().unwrap(), 11);
    });
}

/// Work may block its fibre, and other work goes on: one piece waits for another that comes later,
/// on as many processors as there are.
#[test]
fn work_may_wait() {
    for_each_cluster(|_| {
        let pieces = 2 * Cluster::compute_cluster().unwrap().processors() + 1;
        let (sender, receiver) = fibre::channel::bounded(0);
        let waiting: Vec<_> = (0..pieces)
            .map(|_| {
                let receiver = receiver.clone();
                fibre::spawn(move || compute(|| receiver.recv().unwrap()))
            })
            .collect();
        compute(|| (0..pieces).for_each(|piece| sender.send(piece).unwrap()));
        let mut all: Vec<_> = waiting.into_iter().map(|it| it.join().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..pieces).collect::<Vec<_>>());
    });
}

/// No more pieces of work run at once than there are processors for them, and each gives its own
/// caller its result.
#[test]
fn as_many_run_as_there_are_processors() {
    for_each_cluster(|_| {
        let most = Cluster::compute_cluster().unwrap().processors();
        let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let random = Arc::new(Mutex::new(Random::new(Random::seed())));
        let callers: Vec<_> = (0..60_usize)
            .map(|number| {
                let (counts, random) = (Arc::clone(&counts), Arc::clone(&random));
                fibre::spawn(move || {
                    let work = || {
                        let now = counts.0.fetch_add(1, Ordering::Relaxed) + 1;
                        counts.1.fetch_max(now, Ordering::Relaxed);
                        let units = random.lock().unwrap().below(20_000) + 1;
                        let sum = (0..units).fold(0, |sum, it| std::hint::black_box(sum + it));
                        counts.0.fetch_sub(1, Ordering::Relaxed);
                        (number, sum == units * (units - 1) / 2)
                    };
                    compute(work)
                })
            })
            .collect();
        for (number, caller) in callers.into_iter().enumerate() {
            assert_eq!(caller.join().unwrap(), (number, true));
        }
        let highest = counts.1.load(Ordering::Relaxed);
        assert!((1..=most).contains(&highest), "{highest} of {most}");
    });
}

/// Work has the stack of a thread: it recurses deeper than a fibre's stack allows.
#[test]
fn work_recurses() {
    #[inline(never)]
    fn deep(levels: usize) -> usize {
        let frame = [levels; 64];
        if levels == 0 {
            return std::hint::black_box(frame)[0];
        }
        deep(levels - 1) + std::hint::black_box(frame)[7] / levels
    }
    for_each_cluster(|_| assert_eq!(compute(|| deep(500)), 500));
}

/// Fibre-local values are those of the work, and gone with it.
#[test]
fn fibre_locals_are_the_works_own() {
    fibre::fibre_local! {
        static NUMBER: Cell<u32> = Cell::new(1);
    }
    for_each_cluster(|_| {
        NUMBER.with(|number| number.set(5));
        let there = compute(|| {
            let before = NUMBER.with(Cell::get);
            NUMBER.with(|number| number.set(9));
            before
        });
        assert_eq!((there, NUMBER.with(Cell::get)), (1, 5));
    });
}
