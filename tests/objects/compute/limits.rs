//! Cancellation and time-outs around a call.

use crate::support::process::{errors, plays, spawn_child};
use crate::support::{eventually, for_each_cluster, until_waiting, watched};
use fibre::{Limit, TimedOut, WaitKind, cancellable, compute, compute_within, timeout};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A time that passes at once.
const SHORT: Duration = Duration::from_millis(2);

/// A time that does not pass.
const LONG: Duration = Duration::from_secs(3600);

/// A call that borrows is not ended by time: it ends when the work does, with its value.
#[test]
fn a_time_out_does_not_end_a_call_that_borrows() {
    for_each_cluster(|_| {
        let (tell, told) = channel();
        let (began, begins) = channel();
        let helper = std::thread::spawn(move || {
            begins.recv().unwrap();
            std::thread::sleep(5 * SHORT);
            tell.send(7).unwrap();
        });
        let result = timeout(SHORT, || {
            compute(move || {
                began.send(()).unwrap();
                told.recv().unwrap()
            })
        });
        assert_eq!(result.ok(), Some(7));
        helper.join().unwrap();
    });
}

/// Cancellation does not end it either, also where it unwinds; the fibre notices afterwards.
#[test]
fn cancellation_does_not_end_a_call_that_borrows() {
    for_each_cluster(|_| {
        let (tell, told) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let caller = fibre::spawn(move || {
            cancellable(|| {
                let value = compute(move || told.recv().unwrap());
                flag.store(true, Ordering::Release);
                fibre::sleep(LONG);
                value
            })
        });
        until_waiting(WaitKind::Join, &[caller.id()]);
        caller.cancel();
        (0..100).for_each(|_| fibre::yield_now());
        assert!(!caller.is_finished() && !ended.load(Ordering::Acquire));
        tell.send(1).unwrap();
        assert!(caller.join().unwrap().is_err(), "the sleep is ended");
        assert!(ended.load(Ordering::Acquire));
    });
}

/// A call that may be left is, and its work learns of it.
#[test]
fn work_that_is_left_is_cancelled() {
    for_each_cluster(|_| {
        let (tell, told) = channel();
        let endless = move || {
            tell.send("begun").unwrap();
            while fibre::cancellation_point().is_ok() {
                std::hint::spin_loop();
            }
            tell.send("cancelled").unwrap();
        };
        let caller = fibre::spawn(move || compute_within(LONG, endless));
        let (told, word) = fibre::blocking(move || {
            let word = told.recv().unwrap();
            (told, word)
        });
        assert_eq!(word, "begun");
        caller.cancel();
        let error = caller.join().unwrap().unwrap_err();
        assert!(fibre::is_cancelled_error(&error), "{error}");
        let word = fibre::blocking(move || told.recv().unwrap());
        assert_eq!(word, "cancelled");
    });
}

/// All limits end it: its own, one around it, and cancellation; and none if the work is quick.
#[test]
fn every_limit_ends_a_call_that_may_be_left() {
    let endless = || {
        while fibre::cancellation_point().is_ok() {
            std::hint::spin_loop();
        }
    };
    for_each_cluster(move |_| {
        assert_eq!(compute_within(LONG, || 6 * 7).unwrap(), 42);
        assert_eq!(compute_within(Limit::None, || 6 * 7).unwrap(), 42);
        let around: Result<_, TimedOut<_>> = timeout(SHORT, || compute_within(LONG, endless));
        assert!(around.is_err_and(|over| over.into_value().is_some_and(|it| it.is_err())));
        let cancelled = fibre::spawn(move || compute_within(Limit::Cancellation, endless));
        until_waiting(WaitKind::Join, &[cancelled.id()]);
        cancelled.cancel();
        let error = cancelled.join().unwrap().unwrap_err();
        assert!(fibre::is_cancelled_error(&error), "{error}");
        let late = fibre::spawn(move || {
            while !fibre::is_cancelled() {
                fibre::yield_now();
            }
            compute_within(LONG, || unreachable!("a cancelled fibre begins nothing"))
        });
        late.cancel();
        assert!(
            late.join()
                .unwrap()
                .is_err_and(|it| fibre::is_cancelled_error(&it))
        );
    });
}

/// A panic comes back from a call with a limit, and plain threads may make one.
#[test]
fn plain_threads_and_panics() {
    watched(|| {
        assert_eq!(compute_within(LONG, || 11).unwrap(), 11);
        let error = compute_within(Duration::ZERO, || std::thread::sleep(5 * SHORT));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::TimedOut);
        let outcome = std::panic::catch_unwind(|| compute_within(LONG, || panic!("late")));
        assert_eq!(crate::support::text_of(&*outcome.unwrap_err()), "late");
    });
}

/// Work that has not begun when its caller leaves it never begins; what comes later does, in the
/// order of the calls.
#[test]
fn work_that_waits_for_its_turn_is_taken_back() {
    if plays("one processor") {
        watched(|| {
            static RUN: AtomicUsize = AtomicUsize::new(0);
            let (tell, told) = channel::<()>();
            let (began, begins) = channel();
            let first = fibre::spawn(move || {
                compute(move || {
                    began.send(()).unwrap();
                    told.recv().unwrap();
                });
            });
            begins.recv().unwrap();
            let count = || RUN.fetch_add(1, Ordering::Relaxed);
            assert!(compute_within(SHORT, count).is_err());
            let order = Arc::new(std::sync::Mutex::new(Vec::new()));
            let cluster = fibre::Cluster::compute_cluster().unwrap();
            let later: Vec<_> = (0..5)
                .map(|number| {
                    let order = Arc::clone(&order);
                    cluster.spawn(move || order.lock().unwrap().push(number))
                })
                .collect();
            tell.send(()).unwrap();
            first.join().unwrap();
            later.into_iter().for_each(|it| it.join().unwrap());
            assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
            assert_eq!(RUN.load(Ordering::Relaxed), 0, "it was taken back");
            eventually(|| cluster.live() == 0);
        });
        return;
    }
    let output = spawn_child("one processor", &[("FIBRE_COMPUTE_PROCESSORS", "1")]);
    assert!(output.status.success(), "{}", errors(&output));
}
