//! Events, of both kinds.

use super::{ends_by_cancellation, freed_by_who_waits, mixed_crowd};
use crate::support::{eventually, for_clusters, for_each_cluster, let_others_block, spawn_in_turn};
use fibre::sync::{AutoEvent, Event, Mutex, Semaphore};
use fibre::{Limit, WaitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A set event lets all pass until it is reset; who waited goes on though it is reset at once.
#[test]
fn an_event_lets_all_pass() {
    for_each_cluster(|_| {
        let shared = Arc::new((Event::new(), Event::new(), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        let crowd = fibre::spawn(move || {
            mixed_crowd(move |_| {
                inside.0.wait();
                inside.2.fetch_add(1, Ordering::SeqCst);
                inside.1.wait();
            });
        });
        let_others_block();
        assert_eq!(shared.2.load(Ordering::SeqCst), 0);
        assert!(!shared.0.is_set());
        shared.0.set();
        eventually(|| shared.2.load(Ordering::SeqCst) == 9);
        assert!(shared.0.is_set() && shared.0.try_wait());
        assert!(shared.0.reset() && !shared.0.reset());
        assert!(!shared.0.try_wait());
        let_others_block();
        shared.1.set();
        crowd.join().unwrap();
    });
}

/// A fibre that waited when the event was set goes on, even if it finds it reset.
#[test]
fn a_reset_holds_back_nobody_who_waited() {
    for_clusters(&[1], |_| {
        let event = Arc::new(Event::new());
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                let event = Arc::clone(&event);
                fibre::spawn(move || event.wait())
            })
            .collect();
        let_others_block();
        event.set();
        event.reset();
        waiting.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert!(!event.is_set());
    });
}

/// Each setting of an event that resets itself releases one, in the order of waiting.
#[test]
fn an_auto_event_lets_one_pass() {
    for_clusters(&[1], |_| {
        let shared = Arc::new((AutoEvent::new(), Mutex::new(Vec::new())));
        let waiting: Vec<_> = (0..5)
            .map(|i| {
                let shared = Arc::clone(&shared);
                spawn_in_turn(move || {
                    shared.0.wait();
                    shared.1.lock().push(i);
                })
            })
            .collect();
        for count in 1..=5 {
            shared.0.set();
            assert!(
                !shared.0.is_set() && !shared.0.try_wait(),
                "it is another's"
            );
            let_others_block();
            assert_eq!(*shared.1.lock(), (0..count).collect::<Vec<_>>());
        }
        waiting.into_iter().for_each(|fibre| fibre.join().unwrap());
        shared.0.set();
        shared.0.set();
        assert!(shared.0.is_set());
        assert!(shared.0.try_wait(), "it has been set");
        assert!(!shared.0.try_wait(), "twice is once");
        shared.0.set();
        assert!(shared.0.reset() && !shared.0.reset());
    });
}

/// Waits give up at their deadlines and by cancellation, and take what is there nevertheless.
#[test]
fn waits_give_up() {
    for_each_cluster(|_| {
        let events = Arc::new((Event::new(), AutoEvent::new()));
        let (before, time) = (Instant::now(), Duration::from_millis(2));
        assert!(!events.0.wait_timeout(time) && !events.1.wait_timeout(time));
        assert!(before.elapsed() >= 2 * time);
        assert_eq!(events.0.wait_within(before), Err(WaitError::TimedOut));
        assert_eq!(events.1.wait_within(before), Err(WaitError::TimedOut));
        let inside = Arc::clone(&events);
        ends_by_cancellation(move || inside.0.wait_within(Limit::Cancellation).is_err());
        let inside = Arc::clone(&events);
        ends_by_cancellation(move || inside.1.wait_within(Limit::Cancellation).is_err());
        let inside = Arc::clone(&events);
        ends_by_cancellation(move || !inside.0.wait_timeout(Duration::MAX));
        let inside = Arc::clone(&events);
        ends_by_cancellation(move || !inside.1.wait_timeout(Duration::MAX));
        events.0.set();
        events.1.set();
        assert!(events.0.wait_within(before).is_ok() && events.1.wait_within(before).is_ok());
        assert!(events.0.is_set() && !events.1.is_set());
    });
}

/// A setting is taken by somebody, though half of those who wait give up all the time.
#[test]
fn no_setting_is_lost() {
    for_each_cluster(|_| {
        let shared = Arc::new((AutoEvent::new(), Semaphore::new(0), AtomicBool::new(false)));
        let inside = Arc::clone(&shared);
        mixed_crowd(move |me| {
            let (event, taken, over) = &*inside;
            if me == 0 {
                for _ in 0..60 {
                    event.set();
                    taken.acquire();
                }
                return over.store(true, Ordering::SeqCst);
            }
            let time = Duration::from_micros(if me % 2 == 0 { 10 } else { 1000 });
            while !over.load(Ordering::SeqCst) {
                if event.wait_timeout(time) {
                    taken.release();
                }
            }
        });
        assert!(!shared.0.is_set() && !shared.1.try_acquire());
    });
}

/// A fibre that has waited may free the event at once.
#[test]
fn who_waits_may_free_it() {
    for_each_cluster(|_| {
        freed_by_who_waits(Event::new, Event::wait, Event::set);
        freed_by_who_waits(AutoEvent::new, AutoEvent::wait, AutoEvent::set);
    });
}
