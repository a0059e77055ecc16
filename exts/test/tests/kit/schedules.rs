//! Which schedules find which faults.

use crate::failure;
use fibre::sync::Mutex;
use fibre_test::{Schedule, Sim};
use std::sync::Arc;

/// The schedules that depend on their seeds.
const SEEDED: [Schedule; 3] = [Schedule::random(), Schedule::pct(3), Schedule::pos()];

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
fn a_race_is_found_by_all_random_ones() {
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

/// How many orders of so many fibres with a lock each there are by a schedule.
fn orders(schedule: Schedule, fibres: usize) -> (usize, fibre_test::Report) {
    let seen = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let notes = Arc::clone(&seen);
    let report = Sim::builder().schedule(schedule).run(move |_| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let fibres: Vec<_> = (0..fibres)
            .map(|number| {
                let order = Arc::clone(&order);
                fibre::spawn(move || order.lock().push(number))
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        notes.lock().unwrap().insert(order.lock().clone());
    });
    let orders = seen.lock().unwrap().len();
    (orders, report)
}

#[test]
fn exhaustive_schedules_see_all_orders_and_say_so() {
    // Without a preemption each fibre that waits or ends lets any of the others go on.
    for (fibres, all) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        let (seen, report) = orders(Schedule::exhaustive(0), fibres);
        assert_eq!((seen, report.is_complete()), (all, true));
    }
    let (seen, report) = orders(Schedule::exhaustive(2), 3);
    assert_eq!((seen, report.is_complete()), (6, true));
    assert!(report.runs() > 100, "{report:?}");
    // The same runs each time.
    assert_eq!(orders(Schedule::exhaustive(2), 3).1, report);
    assert!(!orders(Schedule::random(), 3).1.is_complete());
}

#[test]
fn an_exhaustive_schedule_stops_after_as_many_runs_as_one_says() {
    let builder = Sim::builder().schedule(Schedule::exhaustive(2)).seeds(7);
    let report = builder.run(|_| {
        fibre::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(fibre::yield_now);
            }
        });
    });
    assert_eq!((report.runs(), report.is_complete()), (7, false));
}

/// Without a preemption this is not seen, by any order of what waits and ends.
#[test]
fn a_bound_of_preemptions_is_one() {
    let runs = |bound| Sim::builder().schedule(Schedule::exhaustive(bound));
    let none = runs(0).run(loses_an_update);
    assert!(none.is_complete());
    let failed = runs(1).try_run(loses_an_update).unwrap_err();
    assert_eq!(failed.switches(), Some(1));
    assert!(failed.runs() > none.runs());
}

/// Two that wait for each other by yielding have an end, and so has the number of orders.
#[test]
fn an_exhaustive_schedule_ends_although_fibres_yield_until_others_have_run() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let report = Sim::builder().schedule(Schedule::exhaustive(2)).run(|_| {
        let turn = Arc::new(AtomicU32::new(0));
        let fibres = [0, 1, 2].map(|number| {
            let turn = Arc::clone(&turn);
            fibre::spawn(move || {
                while turn.load(Ordering::Relaxed) != number {
                    fibre::yield_now();
                }
                turn.fetch_add(1, Ordering::Relaxed);
            })
        });
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
    assert!(report.is_complete() && report.runs() > 10, "{report:?}");
}

#[test]
fn an_exhaustive_schedule_notices_what_is_not_under_control() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let builder = Sim::builder().schedule(Schedule::exhaustive(2));
    let text = failure(builder, |_| {
        let more = RUNS.fetch_add(1, Ordering::Relaxed) % 3;
        fibre::scope(|scope| {
            for _ in 0..2 + more {
                scope.spawn(fibre::yield_now);
            }
        });
    });
    crate::assert_says(&text, &["something is not under the kit's control"]);
}
