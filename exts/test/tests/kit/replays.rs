//! One seed, one run.

use crate::{assert_says, failure};
use fibre::channel;
use fibre::sync::{Condvar, Mutex};
use fibre_test::{Schedule, Sim};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A run with locks, channels, time-outs, groups of fibres and a selection.
fn works(sim: &Sim) {
    let (sender, receiver) = channel::bounded::<u64>(2);
    let total = Arc::new((Mutex::new(0), Condvar::new()));
    let producers: Vec<_> = (1..=3)
        .map(|number| {
            let sender = sender.clone();
            fibre::spawn(move || {
                for step in 0..5 {
                    fibre::sleep(Duration::from_millis(number * step));
                    sender.send(number).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let consumers = [(); 2].map(|()| {
        let (receiver, total) = (receiver.clone(), Arc::clone(&total));
        fibre::spawn(move || {
            while let Ok(number) = receiver.recv() {
                *total.0.lock() += number;
                total.1.notify_all();
            }
        })
    });
    let mut sum = total.0.lock();
    while *sum < 30 {
        total.1.wait_timeout(&mut sum, Duration::from_millis(3));
    }
    drop(sum);
    producers
        .into_iter()
        .for_each(|fibre| fibre.join().unwrap());
    consumers
        .into_iter()
        .for_each(|fibre| fibre.join().unwrap());
    assert!(sim.now() >= Duration::from_millis(30));
}

#[test]
fn a_thousand_runs_of_a_seed_are_one() {
    for schedule in [Schedule::in_order(), Schedule::random(), Schedule::pct(4)] {
        let run = |seed| Sim::builder().seed(seed).schedule(schedule).run(works);
        let first = run(7);
        for _ in 0..1000 {
            assert_eq!(run(7), first, "{schedule:?}");
        }
        let differs = (0..20).any(|seed| run(seed).hash() != first.hash());
        assert_eq!(differs, schedule != Schedule::in_order());
    }
}

/// The machine's load must not matter: runs beside each other are those of a quiet machine.
#[test]
fn runs_of_a_seed_beside_each_other_are_one() {
    let run = || {
        Sim::builder()
            .seed(3)
            .schedule(Schedule::random())
            .seeds(50)
            .run(works)
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(run)).collect();
    let expected = run();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), expected);
    }
}

#[test]
fn what_runs_leave_behind_is_found_out() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let text = failure(Sim::builder(), |_| {
        let yields = RUNS.fetch_add(1, Ordering::Relaxed);
        fibre::scope(|scope| {
            for _ in 0..yields {
                scope.spawn(fibre::yield_now);
            }
        });
        fibre::sync::Event::new().wait();
    });
    let parts = [
        "something is not under the kit's control: a second run of the seed is another one",
        "deadlock",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_failure_says_which_of_the_seeds_it_was() {
    let text = failure(Sim::builder().seed(5).seeds(10), |_| {
        fibre::sync::Event::new().wait();
    });
    assert_says(
        &text,
        &["seed 5 (run 1 of 10): deadlock", "replay: FIBRE_TEST=5:"],
    );
}
