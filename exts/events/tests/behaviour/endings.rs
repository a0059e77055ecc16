//! How events end with the cluster that they live in, and what befalls those that nobody runs.

use crate::support::{Drops, POLICIES, watchdog::watched};
use fibre::Cluster;
use fibre::sync::Event;
use fibre_events::{Events, NotRun, Policy};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Panics as it ends, without a word on standard error.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("the end of a bomb"));
    }
}

/// Each policy with one and two processors.
fn settings() -> impl Iterator<Item = (Cluster, Policy)> {
    let all = POLICIES
        .into_iter()
        .flat_map(|policy| [(1, policy), (2, policy)]);
    all.map(|(processors, policy)| {
        let cluster = Cluster::builder().processors(processors).build();
        (cluster.unwrap(), policy)
    })
}

/// Limits that are not reached.
const LONG: Duration = Duration::from_secs(30);
/// Limits that are.
const SHORT: Duration = Duration::from_millis(20);

#[test]
fn idle_events_end_with_their_cluster() {
    watched(|| {
        for within_limits in [false, true] {
            for (cluster, policy) in settings() {
                let builder = Events::builder().within(&cluster).policy(policy);
                let events = builder.build().unwrap();
                let count = Arc::new(AtomicU32::new(0));
                let runs = {
                    let events = events.clone();
                    thread::spawn(move || events.run())
                };
                assert_eq!(events.call(1, || 2), Ok(2));
                let hour = Duration::from_secs(3600);
                let never = events.after(hour, 0, || unreachable!()).unwrap();
                for number in 0..50 {
                    let count = Arc::clone(&count);
                    events.post(number, move || _ = count.fetch_add(1, SeqCst));
                }
                match within_limits {
                    true => cluster.stop_within(LONG, LONG).unwrap(),
                    false => cluster.stop(),
                }
                let report = runs.join().unwrap();
                assert_eq!((report.ran, report.dropped), (51, 0));
                assert_eq!(count.load(SeqCst), 50);
                assert!(!never.cancel());
                assert!(!events.try_post(3, || ()));
                assert_eq!(events.call(1, || 2), Err(NotRun));
                events.stop();
                assert_eq!(events.run().ran, 51);
                assert!(Events::builder().within(events.cluster()).build().is_err());
            }
        }
    });
}

#[test]
fn events_that_never_began_end_with_their_cluster() {
    watched(|| {
        for (cluster, policy) in settings() {
            let builder = Events::builder().within(&cluster).policy(policy);
            let events = builder.build().unwrap();
            let drops = Drops::new();
            for number in 0..20 {
                let value = drops.value();
                events.post(number % 3, move || drop(value));
            }
            cluster.stop();
            assert_eq!(drops.count(), 20);
            let report = events.run();
            assert_eq!((report.ran, report.dropped), (0, 20));
        }
    });
}

#[test]
fn a_cluster_of_events_may_be_stopped_by_its_own_handle() {
    watched(|| {
        let events = Events::builder().processors(2).build().unwrap();
        let cluster = events.cluster().clone();
        let other = events.clone();
        let runs = thread::spawn(move || other.run());
        assert_eq!(events.call(1, || 2), Ok(2));
        cluster.stop();
        assert_eq!(runs.join().unwrap().ran, 1);
        assert_eq!(events.run().ran, 1);
    });
}

#[test]
fn only_what_hangs_is_left_behind() {
    watched(|| {
        for (cluster, policy) in settings() {
            let builder = Events::builder().within(&cluster).policy(policy);
            let events = builder.build().unwrap();
            let (begun, never) = (Arc::new(Event::new()), Arc::new(Event::new()));
            let begins = Arc::clone(&begun);
            let drops = Drops::new();
            // They wait in the batch of the one that hangs, and in the queue behind that.
            events.post(1, move || {
                begins.set();
                fibre::shield(|| never.wait());
            });
            for _ in 0..30 {
                let value = drops.value();
                events.post(1, move || drop(value));
            }
            let (runs, calls) = (events.clone(), events.clone());
            let runs = thread::spawn(move || runs.run());
            begun.wait();
            let calls = [(); 2].map(|()| {
                let calls = calls.clone();
                thread::spawn(move || calls.call(1, || 7))
            });
            assert_eq!(events.call(2, || 2), Ok(2), "others go on");
            thread::sleep(Duration::from_millis(5));
            let error = cluster.stop_within(SHORT, SHORT).unwrap_err();
            assert_eq!(error.left.len() + error.unseen, 1, "{error}");
            let report = runs.join().unwrap();
            assert_eq!(report.ran, 1, "that of colour 2");
            for call in calls {
                assert_eq!(call.join().unwrap(), Err(NotRun));
            }
            assert!(drops.count() >= 20, "{} of 30", drops.count());
            assert!(!events.try_post(1, || ()));
        }
    });
}

/// A handler that waits when its cluster unwinds what waits has not panicked.
#[test]
fn a_handler_that_is_unwound_has_not_panicked() {
    watched(|| {
        for (cluster, policy) in settings().take(2) {
            let builder = Events::builder().within(&cluster).policy(policy);
            let builder = builder.on_panic(|_| unreachable!());
            let events = builder.build().unwrap();
            let drops = Drops::new();
            let begun = Arc::new(Event::new());
            let (begins, value) = (Arc::clone(&begun), drops.value());
            events.post(1, move || {
                let _value = value;
                begins.set();
                Event::new().wait();
            });
            let runs = events.clone();
            let runs = thread::spawn(move || runs.run());
            begun.wait();
            // What waits is unwound after half of it.
            cluster.stop_within(SHORT, Duration::from_secs(4)).unwrap();
            let report = runs.join().unwrap();
            assert_eq!((report.ran, report.panicked), (1, 0));
            assert_eq!(drops.count(), 1);
        }
    });
}

/// A handler that has released its colour has it back before its cluster has ended, whether its
/// call notices the cancellation or is unwound.
#[test]
fn a_released_colour_comes_back_while_the_cluster_stops() {
    let calls: [fn(); 3] = [
        || assert!(fibre::sleep_within(Duration::from_secs(3600)).is_err()),
        || fibre::sleep(Duration::from_millis(100)),
        || fibre::sleep(Duration::from_secs(3600)),
    ];
    watched(|| {
        for (number, call) in calls.into_iter().enumerate() {
            for processors in [1, 2] {
                let cluster = Cluster::builder().processors(processors).build();
                let cluster = cluster.unwrap();
                let events = Events::builder().within(&cluster).build().unwrap();
                events.start();
                let (begun, drops) = (Arc::new(Event::new()), Drops::new());
                let returned = Arc::new(AtomicU32::new(0));
                let (begins, value) = (Arc::clone(&begun), drops.value());
                let (releases, returns) = (events.clone(), Arc::clone(&returned));
                events.post(1, move || {
                    let _value = value;
                    releases.release(|| {
                        begins.set();
                        call();
                    });
                    returns.fetch_add(1, SeqCst);
                });
                begun.wait();
                cluster.stop_within(SHORT, Duration::from_secs(4)).unwrap();
                assert_eq!(drops.count(), 1);
                assert_eq!(returned.load(SeqCst) == 1, number < 2);
            }
        }
    });
}

#[test]
fn what_is_dropped_may_panic_as_it_ends() {
    watched(|| {
        for policy in POLICIES {
            let events = Events::builder().processors(2).policy(policy);
            let events = events.build().unwrap();
            let post = |colour: u64| {
                let bomb = Bomb;
                events.post(colour, move || {
                    let _part = &bomb;
                });
            };
            (0..50).for_each(|number| post(number % 4));
            events.stop_now();
            post(1);
            let report = events.run();
            assert_eq!((report.ran, report.dropped), (0, 51));
        }
    });
}
