//! The wait group.

use super::{ends_by_cancellation, freed_by_who_waits, mixed_crowd};
use crate::support::{eventually, for_each_cluster, let_others_block, text_of};
use fibre::Limit;
use fibre::sync::WaitGroup;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Everybody who waits goes on when all is done, and not before; the group can be used again.
#[test]
fn waits_for_all_jobs() {
    for_each_cluster(|_| {
        let shared = Arc::new((WaitGroup::new(), WaitGroup::new(), AtomicUsize::new(0)));
        for _ in 0..20 {
            shared.0.add(4);
            shared.1.add(9);
            shared.2.store(0, Ordering::SeqCst);
            let inside = Arc::clone(&shared);
            mixed_crowd(move |me| {
                let (jobs, everybody, finished) = &*inside;
                if me % 2 == 1 {
                    finished.fetch_add(1, Ordering::SeqCst);
                    jobs.done();
                }
                jobs.wait();
                assert_eq!(finished.load(Ordering::SeqCst), 4, "a job is not done");
                everybody.done();
                everybody.wait();
            });
            assert_eq!(shared.0.count() + shared.1.count(), 0);
        }
    });
}

/// A guard is a job that ends with it, be it by a panic.
#[test]
fn guards_are_jobs() {
    for_each_cluster(|_| {
        let group = WaitGroup::new();
        fibre::scope(|scope| {
            for i in 0..10 {
                let job = group.guard();
                let fibre = scope.spawn(move || {
                    let _job = job;
                    fibre::yield_now();
                    if i % 2 == 0 {
                        std::panic::resume_unwind(Box::new(()));
                    }
                });
                drop(fibre.join());
            }
            group.wait();
        });
        assert_eq!(group.count(), 0);
    });
}

/// Misuse that the count shows panics with a clear word, and spoils nothing.
#[test]
fn misuse_panics() {
    let group = WaitGroup::new();
    let failure = catch_unwind(AssertUnwindSafe(|| group.done())).unwrap_err();
    assert!(text_of(&*failure).contains("more was done"), "{failure:?}");
    group.add(usize::MAX);
    let failure = catch_unwind(AssertUnwindSafe(|| group.add(1))).unwrap_err();
    assert!(text_of(&*failure).contains("more jobs"), "{failure:?}");
    assert_eq!(group.count(), usize::MAX);
}

/// Waits give up at their deadlines and by cancellation; with nothing to wait for they never do.
#[test]
fn waits_give_up() {
    for_each_cluster(|_| {
        let group = Arc::new(WaitGroup::new());
        let before = Instant::now();
        assert!(group.try_wait() && group.wait_within(before).is_ok());
        group.add(1);
        let time = Duration::from_millis(2);
        assert!(!group.wait_timeout(time));
        assert!(before.elapsed() >= time);
        assert!(!group.try_wait() && group.wait_within(before).is_err());
        let inside = Arc::clone(&group);
        ends_by_cancellation(move || inside.wait_within(Limit::Cancellation).is_err());
        let inside = Arc::clone(&group);
        ends_by_cancellation(move || !inside.wait_timeout(Duration::MAX));
        let inside = Arc::clone(&group);
        let waiting = fibre::spawn(move || inside.wait_timeout(Duration::MAX));
        let_others_block();
        group.done();
        assert!(waiting.join().unwrap());
    });
}

/// Deadlines that pass while the last job ends: each wait says what it saw, and none is left.
#[test]
fn deadlines_meet_the_last_job() {
    for_each_cluster(|_| {
        let group = Arc::new(WaitGroup::new());
        for round in 0..20 {
            group.add(1);
            let inside = Arc::clone(&group);
            mixed_crowd(move |me| {
                if me == 0 {
                    fibre::sleep(Duration::from_micros(20 * round));
                    inside.done();
                } else if !inside.wait_timeout(Duration::from_micros(10 * round)) {
                    eventually(|| inside.wait_within(Instant::now()).is_ok());
                }
            });
        }
    });
}

/// A fibre that has waited may free the group at once.
#[test]
fn who_waits_may_free_it() {
    let one_job = || {
        let group = WaitGroup::new();
        group.add(1);
        group
    };
    for_each_cluster(move |_| freed_by_who_waits(one_job, WaitGroup::wait, WaitGroup::done));
}
