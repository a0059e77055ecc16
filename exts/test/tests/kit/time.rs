//! The clock of a run.

use fibre::{Interval, WallTime, channel};
use fibre_test::Sim;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_year_of_sleeps_takes_no_time() {
    let begun = Instant::now();
    fibre_test::run(|sim| {
        for _ in 0..365 * 24 {
            fibre::sleep(HOUR);
        }
        assert_eq!(sim.now(), HOUR * 365 * 24);
    });
    assert!(
        begun.elapsed() < HOUR,
        "the thread's clock is the machine's"
    );
}

#[test]
fn time_stands_while_anything_can_run() {
    fibre_test::run(|sim| {
        let begun = Instant::now();
        let sleeper = fibre::spawn(|| fibre::sleep(Duration::from_nanos(1)));
        for _ in 0..10_000 {
            fibre::yield_now();
        }
        assert!(!sleeper.is_finished());
        assert_eq!(begun.elapsed(), Duration::ZERO);
        sleeper.join().unwrap();
        assert_eq!(sim.now(), Duration::from_nanos(1));
    });
}

#[test]
fn all_clocks_of_std_show_it_and_the_day_begins_alike() {
    fibre_test::run(|sim| {
        let (begun, day) = (Instant::now(), SystemTime::now());
        let since_1970 = day.duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(since_1970, Duration::from_secs(946_684_800));
        fibre::sleep(HOUR);
        assert_eq!(begun.elapsed(), HOUR);
        assert_eq!(day.elapsed().unwrap(), HOUR);
        assert_eq!(sim.now(), HOUR);
    });
}

#[test]
fn a_moment_of_the_wall_clock_comes() {
    fibre_test::run(|sim| {
        let (_sender, receiver) = channel::unbounded::<u32>();
        let moment = WallTime::new(946_684_800 + 3600, 0).unwrap();
        assert!(receiver.recv_within(fibre::Limit::Wall(moment)).is_err());
        assert_eq!(sim.now(), HOUR);
    });
}

#[test]
fn deadlines_come_in_order_and_at_their_times() {
    fibre_test::run(|sim| {
        let order = Arc::new(fibre::sync::Mutex::new(Vec::new()));
        let sleepers: Vec<_> = (0..300_u64)
            .map(|number| {
                let (order, sim) = (Arc::clone(&order), sim.clone());
                let wait = Duration::from_millis(number * 7919 % 300);
                fibre::spawn(move || {
                    fibre::sleep(wait);
                    assert_eq!(sim.now(), wait);
                    order.lock().push(wait);
                })
            })
            .collect();
        sleepers
            .into_iter()
            .for_each(|sleeper| sleeper.join().unwrap());
        assert!(order.lock().is_sorted());
        assert_eq!(order.lock().len(), 300);
    });
}

/// More deadlines at once than a processor fires at once.
#[test]
fn a_thousand_deadlines_at_the_same_time_all_come() {
    fibre_test::run(|sim| {
        fibre::scope(|scope| {
            for _ in 0..1000 {
                scope.spawn(|| fibre::sleep(HOUR));
            }
        });
        assert_eq!(sim.now(), HOUR);
    });
}

#[test]
fn time_outs_intervals_and_limits_follow_it() {
    fibre_test::run(|sim| {
        let (_sender, receiver) = channel::unbounded::<u32>();
        assert!(receiver.recv_timeout(HOUR).is_err());
        let out = fibre::timeout(HOUR, || fibre::sleep(2 * HOUR));
        assert!(out.is_err());
        let mut interval = Interval::new(HOUR);
        for _ in 0..3 {
            let _ = interval.tick();
        }
        assert_eq!(sim.now(), 5 * HOUR);
        fibre::sleep_until(Instant::now() + HOUR);
        assert_eq!(sim.now(), 6 * HOUR);
    });
}

#[test]
fn a_deadline_that_has_passed_ends_at_once() {
    fibre_test::run(|sim| {
        fibre::sleep(HOUR);
        fibre::sleep_until(Instant::now() - HOUR);
        fibre::sleep(Duration::ZERO);
        assert_eq!(sim.now(), HOUR);
    });
}

#[test]
fn advance_lets_happen_what_is_due_and_no_more() {
    fibre_test::run(|sim| {
        let beats = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&beats);
        let heart = fibre::spawn(move || {
            for _ in 0..10 {
                fibre::sleep(Duration::from_secs(1));
                fibre::yield_now();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        for expected in 1..=10 {
            sim.advance(Duration::from_secs(1));
            assert_eq!(beats.load(Ordering::Relaxed), expected);
            assert_eq!(sim.now(), Duration::from_secs(expected.into()));
        }
        heart.join().unwrap();
    });
}

#[test]
fn settle_passes_no_time_and_several_fibres_may() {
    fibre_test::run(|sim| {
        let done = Arc::new(AtomicU32::new(0));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let (done, sim) = (Arc::clone(&done), sim.clone());
                fibre::spawn(move || {
                    sim.settle();
                    done.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        let sleeper = fibre::spawn(|| fibre::sleep(HOUR));
        while done.load(Ordering::Relaxed) < 3 {
            sim.settle();
        }
        assert_eq!(sim.now(), Duration::ZERO);
        others.into_iter().for_each(|other| other.join().unwrap());
        sleeper.join().unwrap();
        assert_eq!(sim.now(), HOUR);
    });
}

#[test]
fn runs_side_by_side_have_clocks_of_their_own() {
    let runs: Vec<_> = (1..=4)
        .map(|hours| {
            std::thread::spawn(move || {
                fibre_test::run(move |sim| {
                    for _ in 0..100 {
                        fibre::sleep(HOUR * hours);
                    }
                    assert_eq!(sim.now(), HOUR * hours * 100);
                });
            })
        })
        .collect();
    runs.into_iter().for_each(|run| run.join().unwrap());
}

#[test]
#[should_panic(expected = "only a fibre of the run can wait for it")]
fn a_thread_cannot_settle() {
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keeps = Arc::clone(&kept);
    let _ = Sim::builder().run(move |sim| *keeps.lock().unwrap() = Some(sim.clone()));
    let sim = kept.lock().unwrap().take().unwrap();
    sim.settle();
}
