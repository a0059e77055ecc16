//! Which schedules find which faults.

use crate::failure;
use fibre::sync::Mutex;
use fibre_test::{Schedule, Sim};
use std::sync::Arc;

/// The schedules that depend on their seeds.
const SEEDED: [Schedule; 2] = [Schedule::random(), Schedule::pct(3)];

/// How many seeds are tried.
const SEEDS: u64 = 1000;

/// A counter that several fibres read under a lock, and write under it later.
pub fn loses_an_update(_: &Sim) {
    let count = Arc::new(Mutex::new(0));
    let adders = [(); 2].map(|()| {
        let count = Arc::clone(&count);
        fibre::spawn(move || {
            let before = *count.lock();
            *count.lock() = before + 1;
        })
    });
    adders.into_iter().for_each(|adder| adder.join().unwrap());
    assert_eq!(*count.lock(), 2);
}

#[test]
fn in_order_a_race_between_free_locks_is_not_seen() {
    assert_eq!(Sim::builder().seeds(50).run(loses_an_update).runs(), 50);
}

#[test]
fn a_race_is_found_by_random_and_by_pct() {
    for schedule in SEEDED {
        let builder = Sim::builder().seeds(SEEDS).schedule(schedule);
        let text = failure(builder, loses_an_update);
        assert!(text.contains("left == right"), "{text}");
    }
}

/// A fault that needs one fibre to stand still while another one takes many steps.
#[test]
fn pct_finds_that_one_stands_still_for_long() {
    let test = |_: &Sim| {
        let steps = Arc::new(Mutex::new(0));
        let other = Arc::clone(&steps);
        let late = fibre::spawn(move || {
            drop(other.lock());
            assert!(*other.lock() < 40, "stood still for 40 steps");
        });
        for _ in 0..40 {
            *steps.lock() += 1;
        }
        // Which of its panics is the test's does not matter.
        late.join().unwrap();
    };
    let builder = Sim::builder().seeds(200).schedule(Schedule::pct(2));
    failure(builder, test);
}

#[test]
fn all_orders_of_three_fibres_are_seen() {
    for schedule in SEEDED {
        let seen = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
        let notes = Arc::clone(&seen);
        let _ = Sim::builder().seeds(300).schedule(schedule).run(move |_| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let fibres = [1, 2, 3].map(|number| {
                let order = Arc::clone(&order);
                fibre::spawn(move || order.lock().push(number))
            });
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            notes.lock().unwrap().insert(order.lock().clone());
        });
        assert_eq!(seen.lock().unwrap().len(), 6, "{schedule:?}");
    }
}

/// `spawn_now` promises that the new fibre runs at once.
#[test]
fn a_promise_of_the_runtime_holds_in_all_schedules() {
    for schedule in SEEDED {
        let _ = Sim::builder().seeds(100).schedule(schedule).run(|_| {
            let other = fibre::spawn(fibre::yield_now);
            let (begun, has_begun) = (Arc::new(Mutex::new(false)), true);
            let sets = Arc::clone(&begun);
            let now = fibre::spawn_now(move || {
                // No switch point comes before.
                *sets.try_lock().unwrap() = has_begun;
            });
            assert!(*begun.lock());
            now.join().unwrap();
            other.join().unwrap();
        });
    }
}

#[test]
fn a_fibre_that_yields_until_another_has_run_ends_in_all_schedules() {
    for schedule in SEEDED {
        let _ = Sim::builder().seeds(200).schedule(schedule).run(|_| {
            let set = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let sets = Arc::clone(&set);
            let other = fibre::spawn(move || {
                fibre::yield_now();
                sets.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !set.load(std::sync::atomic::Ordering::Relaxed) {
                fibre::yield_now();
            }
            other.join().unwrap();
        });
    }
}
