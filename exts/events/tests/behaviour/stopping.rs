//! The end: what was posted runs or is dropped, and the report says which.

use crate::support::{Drops, Log, eventually, everywhere, finish};
use fibre::Cluster;
use fibre::sync::Event as Flag;
use fibre_events::Events;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn what_was_posted_before_the_stop_runs() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let log = Log::default();
        let (handle, said) = (events.clone(), log.clone());
        events.post(1, move || {
            handle.stop();
            let late = said.clone();
            assert!(!handle.try_post(2, move || late.say(9)));
            said.say(1);
        });
        for colour in 1..20 {
            let said = log.clone();
            events.post(colour, move || said.say(2));
        }
        let report = events.run();
        assert_eq!((report.ran, report.dropped), (20, 1));
        assert_eq!(log.words().len(), 20);
        assert!(!log.words().contains(&9));
    });
}

#[test]
fn what_was_posted_is_dropped_when_stopping_now() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let drops = Drops::new();
        for colour in 0..20 {
            for _ in 0..5 {
                let token = drops.value();
                events.post(colour, move || drop(token));
            }
        }
        events.stop_now();
        let report = events.run();
        assert_eq!((report.ran, report.dropped), (0, 100));
        assert_eq!(drops.count(), 100);
    });
}

#[test]
fn a_handler_that_blocks_is_waited_for() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let log = Log::default();
        for colour in 0..4 {
            let said = log.clone();
            events.post(colour, move || {
                fibre::sleep(Duration::from_millis(20));
                said.say(colour);
            });
        }
        events.start();
        events.stop_now();
        let report = events.run();
        assert_eq!(report.ran + report.dropped, 4);
        assert_eq!(log.words().len() as u64, report.ran);
    });
}

#[test]
fn events_that_never_run_are_dropped_with_them() {
    let drops = Drops::new();
    let events = Events::builder().processors(2).build().unwrap();
    for colour in 0..10 {
        let token = drops.value();
        events.post(colour, move || drop(token));
    }
    drop(events);
    eventually(|| drops.count() == 10);
}

#[test]
fn the_last_handle_stops_what_runs() {
    let log = Log::default();
    let events = Events::builder().processors(2).build().unwrap();
    let said = log.clone();
    events.post(1, move || said.say(1));
    events.start();
    drop(events);
    eventually(|| log.words() == [1]);
}

#[test]
fn events_live_in_a_cluster_of_others() {
    let cluster = Cluster::builder().processors(2).build().unwrap();
    for _ in 0..3 {
        let events = Events::builder().within(&cluster).build().unwrap();
        let log = Log::default();
        let (handle, said) = (events.clone(), log.clone());
        let all = cluster.spawn(move || {
            for colour in 0..10 {
                let said = said.clone();
                handle.post(colour, move || said.say(colour));
            }
            handle.stop();
            handle.run().ran
        });
        assert_eq!(all.join().unwrap(), 10);
        assert_eq!(log.words().len(), 10);
    }
    cluster.stop();
}

#[test]
fn events_run_where_other_fibres_move() {
    let builder = Cluster::builder().processors(2);
    // SAFETY: these handlers keep nothing of a kernel thread across a wait.
    let cluster = unsafe { builder.force_migration() }.build().unwrap();
    let events = Events::builder().within(&cluster).build().unwrap();
    let log = Log::default();
    for colour in 0..50 {
        let said = log.clone();
        events.post(colour, move || {
            fibre::yield_now();
            fibre::sleep(Duration::from_millis(1));
            said.say(colour);
        });
    }
    assert_eq!(finish(&events).ran, 50);
    assert_eq!(log.words().len(), 50);
    cluster.stop();
}

#[test]
fn a_handler_cannot_wait_for_all() {
    let events = Events::builder().processors(1).build().unwrap();
    let handle = events.clone();
    events.post(1, move || {
        handle.run();
    });
    assert_eq!(finish(&events).panicked, 1);
}

#[test]
fn several_wait_for_the_end() {
    let events = Events::builder().processors(1).build().unwrap();
    let flag = Arc::new(Flag::new());
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (events, flag) = (events.clone(), Arc::clone(&flag));
            std::thread::spawn(move || {
                flag.set();
                events.run().ran
            })
        })
        .collect();
    events.post(1, || ());
    flag.wait();
    events.stop();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 1);
    }
}
