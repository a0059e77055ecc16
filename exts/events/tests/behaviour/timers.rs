//! Timers: once, again and again, and cancelled.

use crate::support::{Drops, Log, eventually, everywhere, finish, watchdog};
use fibre::sync::Event;
use fibre_events::Events;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[test]
fn timers_go_off_in_the_order_of_their_times() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let log = Log::default();
        let begun = Instant::now();
        for delay in [20, 5, 10] {
            let said = log.clone();
            let due = begun + Duration::from_millis(delay);
            events
                .at(due, 1, move || {
                    assert!(Instant::now() >= due);
                    said.say(delay);
                })
                .unwrap();
        }
        events.start();
        eventually(|| log.words().len() == 3);
        assert_eq!(log.words(), [5, 10, 20]);
        assert_eq!(finish(&events).panicked, 0);
    });
}

#[test]
fn a_cancelled_timer_is_dropped() {
    let events = Events::builder().processors(1).build().unwrap();
    events.start();
    let drops = Drops::new();
    let token = drops.value();
    let timer = events.after(Duration::from_secs(3600), 1, move || drop(token));
    let timer = timer.unwrap();
    assert!(timer.cancel());
    assert_eq!(drops.count(), 1);
    assert!(!timer.cancel());
    // And one that has gone off cannot be cancelled.
    let log = Log::default();
    let said = log.clone();
    let timer = events
        .after(Duration::ZERO, 1, move || said.say(1))
        .unwrap();
    eventually(|| log.words() == [1]);
    assert!(!timer.cancel());
    assert_eq!(finish(&events).ran, 1);
}

#[test]
fn a_timer_repeats_until_it_is_cancelled() {
    let events = Events::builder().processors(2).build().unwrap();
    events.start();
    let log = Log::default();
    let said = log.clone();
    let timer = events.every(Duration::from_millis(1), 1, move || {
        let said = said.clone();
        move || said.say(1)
    });
    let timer = timer.unwrap();
    eventually(|| log.words().len() >= 5);
    assert!(timer.cancel());
    assert!(!timer.cancel());
    let report = finish(&events);
    assert_eq!(report.ran as usize, log.words().len());
}

#[test]
fn timers_end_with_the_events() {
    let events = Events::builder().processors(1).build().unwrap();
    let drops = Drops::new();
    for _ in 0..100 {
        let token = drops.value();
        events
            .after(Duration::from_secs(3600), 1, move || drop(token))
            .unwrap();
    }
    assert_eq!(finish(&events).ran, 0);
    assert_eq!(drops.count(), 100);
    assert!(events.after(Duration::ZERO, 1, || ()).is_err());
}

#[test]
fn a_timer_that_panics_harms_no_other() {
    let body = || {
        let events = Events::builder().processors(1).build().unwrap();
        let log = Log::default();
        let mut calls = 0;
        let said = log.clone();
        let make = move || {
            calls += 1;
            if calls == 1 {
                std::panic::resume_unwind(Box::new("planned"));
            }
            let said = said.clone();
            move || said.say(1)
        };
        let timer = events.every(Duration::from_millis(1), 1, make).unwrap();
        events.start();
        // It goes on after its panic, and so does the clock.
        eventually(|| !log.words().is_empty());
        assert!(timer.cancel());
        finish(&events);
    };
    watchdog::watched(body);
}

/// A handler that takes longer than the period of its timer keeps one event waiting at most.
#[test]
fn a_timer_has_one_event_under_way() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (made, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(Event::new()));
        let go_on = Arc::new(Event::new());
        let (makes, begins, goes_on) = (made.clone(), begun.clone(), go_on.clone());
        let make = move || {
            makes.fetch_add(1, Relaxed);
            let (begins, goes_on) = (begins.clone(), goes_on.clone());
            move || {
                begins.set();
                goes_on.wait();
            }
        };
        let timer = events.every(Duration::from_micros(200), 5, make).unwrap();
        // The clock is seen to go on.
        let ticks = Arc::new(AtomicU32::new(0));
        let ticked = ticks.clone();
        let tick = move || {
            let ticked = ticked.clone();
            move || _ = ticked.fetch_add(1, Relaxed)
        };
        let other = events.every(Duration::from_micros(200), 6, tick).unwrap();
        events.start();
        begun.wait();
        let before = ticks.load(Relaxed);
        eventually(|| ticks.load(Relaxed) > before + 20);
        assert_eq!(made.load(Relaxed), 1);
        go_on.set();
        eventually(|| made.load(Relaxed) > 3);
        assert!(timer.cancel() && other.cancel());
        finish(&events);
    });
}
