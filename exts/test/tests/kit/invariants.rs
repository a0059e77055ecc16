//! What holds always, and what happens sometimes.

use crate::{assert_says, failure};
use fibre::sync::Mutex;
use fibre_test::{Schedule, Sim, switch_point};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Money that is nowhere for a moment, between two switch points.
fn transfers(sim: &Sim) {
    let accounts = Arc::new([AtomicU32::new(100), AtomicU32::new(0)]);
    let seen = Arc::clone(&accounts);
    let sum = move || {
        seen.iter()
            .map(|it| it.load(Ordering::Relaxed))
            .sum::<u32>()
    };
    sim.always("the sum stays", move || sum() == 100);
    let moves = fibre::spawn(move || {
        accounts[0].fetch_sub(10, Ordering::Relaxed);
        switch_point();
        accounts[1].fetch_add(10, Ordering::Relaxed);
    });
    let other = fibre::spawn(fibre::yield_now);
    moves.join().unwrap();
    other.join().unwrap();
}

#[test]
fn a_broken_invariant_fails_the_run_and_is_named() {
    let _ = Sim::builder().run(transfers);
    let runs = Sim::builder().seeds(100).schedule(Schedule::random());
    let failed = runs.try_run(transfers).unwrap_err();
    let text = failed.to_string();
    let parts = [
        "an invariant is broken: the sum stays, at 0ns",
        "replay: FIBRE_TEST=",
    ];
    assert_says(&text, &parts);
    assert!(failed.switches().is_some_and(|count| count <= 1), "{text}");
}

#[test]
fn an_invariant_may_read_the_clock_and_one_that_panics_is_broken() {
    let test = |limit: u64| {
        move |sim: &Sim| {
            let now = sim.clone();
            sim.always("it is early", move || {
                assert!(now.now() <= Duration::from_secs(limit));
                true
            });
            (0..5).for_each(|_| fibre::sleep(Duration::from_secs(1)));
        }
    };
    let _ = Sim::builder().run(test(5));
    let text = failure(Sim::builder(), test(3));
    assert_says(&text, &["an invariant is broken: it is early, at 4s"]);
}

/// It is asked for no longer than the run goes on, and let go then.
#[test]
fn an_invariant_ends_with_its_run() {
    let kept = Arc::new(AtomicU32::new(0));
    let keeps = Arc::clone(&kept);
    let _ = Sim::builder().seeds(5).run(move |sim| {
        let kept = Arc::clone(&keeps);
        sim.always("something is kept", move || {
            kept.fetch_add(1, Ordering::Relaxed);
            true
        });
        fibre::yield_now();
    });
    assert!(kept.load(Ordering::Relaxed) >= 5);
    assert_eq!(Arc::strong_count(&kept), 1);
}

fn overtakes(sim: &Sim) {
    let lock = Arc::new(Mutex::new(0));
    let other = Arc::clone(&lock);
    let adds = fibre::spawn(move || *other.lock() += 1);
    sim.sometimes("the other one was first", *lock.lock() == 1);
    sim.sometimes("it was there", true);
    adds.join().unwrap();
}

#[test]
fn what_never_happens_fails_the_test() {
    // In order it does not happen.
    let text = failure(Sim::builder().seeds(3), overtakes);
    assert_says(&text, &["never in 3 runs: `the other one was first`"]);
    assert!(!text.contains("it was there"), "{text}");
    let runs = Sim::builder().seeds(100).schedule(Schedule::random());
    assert_eq!(runs.run(overtakes).runs(), 100);
    let all = Sim::builder().schedule(Schedule::exhaustive(1));
    assert!(all.run(overtakes).is_complete());
}
