//! Faults that other tools are shown by, each found by all schedules; and one that does not occur.

#[path = "../../examples/classics/faults.rs"]
mod faults;

use crate::assert_says;
use faults::{FAULTS, Fault};
use fibre::sync::{Event, Mutex, Semaphore};
use fibre_test::{Schedule, Sim};
use std::sync::Arc;
use std::time::Duration;

const SEEDS: u64 = 1000;

/// Asserts that a schedule finds the faults, that the words of each say so, and that few switches
/// are left of it.
fn finds_all(schedule: Schedule) {
    for Fault {
        name, says, test, ..
    } in FAULTS
    {
        let runs = Sim::builder().seeds(SEEDS).schedule(schedule);
        // A busy machine must not matter.
        let runs = runs.shorten_for(Duration::from_secs(3600));
        let failed = runs.try_run(test).expect_err(name);
        let text = failed.to_string();
        let switches = failed.switches();
        assert!(
            switches.is_some_and(|count| count <= 3),
            "{name}: {switches:?} switches of {schedule:?}: {text}"
        );
        assert_says(&text, &[says]);
    }
}

#[test]
fn a_random_walk_finds_them() {
    finds_all(Schedule::random());
}

#[test]
fn pct_finds_them() {
    finds_all(Schedule::pct(3));
}

#[test]
fn pos_finds_them() {
    finds_all(Schedule::pos());
}

#[test]
fn two_preemptions_are_enough_for_them() {
    finds_all(Schedule::exhaustive(2));
}

#[test]
fn in_order_they_are_not_seen() {
    for fault in FAULTS.iter().filter(|fault| !fault.in_order) {
        let _ = Sim::builder().run(fault.test);
    }
}

/// Oxide's RFD 609, *futurelock*: a task keeps a future that is next for a lock, does something
/// else that wants the lock, and does not poll the future meanwhile. An arm of a selection that was
/// not chosen keeps no place.
#[test]
fn no_arm_that_is_not_chosen_keeps_a_lock_from_others() {
    let test = |sim: &Sim| {
        let lock = Arc::new(Semaphore::new(1));
        let (held, ticks) = (lock.clone(), Arc::new(Event::new()));
        let holder = fibre::spawn(move || {
            held.acquire();
            fibre::sleep(Duration::from_secs(5));
            held.release();
        });
        let other = Arc::clone(&ticks);
        let timer = fibre::spawn(move || {
            fibre::sleep(Duration::from_millis(500));
            other.set();
        });
        sim.settle();
        let got_it = fibre::select! {
            permit = lock.permit_arm() => { drop(permit); true },
            () = ticks.wait_arm() => false,
        };
        assert!(!got_it);
        // The lock again, in the branch of the other arm.
        lock.acquire();
        lock.release();
        assert_eq!(sim.now(), Duration::from_secs(5));
        holder.join().unwrap();
        timer.join().unwrap();
    };
    for schedule in [Schedule::random(), Schedule::pct(3), Schedule::pos()] {
        let _ = Sim::builder().seeds(200).schedule(schedule).run(test);
    }
    let all = Sim::builder().schedule(Schedule::exhaustive(2)).run(test);
    assert!(all.is_complete());
}

/// The same with fibres in place of futures: one that asks for the lock goes on by itself.
#[test]
fn a_fibre_that_nobody_waits_for_takes_its_lock_and_lets_it_go() {
    let report = Sim::builder().schedule(Schedule::exhaustive(2)).run(|_| {
        let lock = Arc::new(Mutex::new(0));
        let asks = Arc::clone(&lock);
        let mut asks = fibre::spawn(move || *asks.lock() += 1);
        fibre::select! {
            _ = asks.finished_arm() => {},
            default => {},
        }
        *lock.lock() += 1;
        asks.join().unwrap();
        assert_eq!(*lock.lock(), 2);
    });
    assert!(report.is_complete() && report.runs() > 2);
}
