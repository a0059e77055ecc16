//! Pauses, looks and ends of clusters with spare processors in all states.

use super::{Count, builder, keep_all, kinds, meet};
use crate::support::{eventually, watched};
use fibre::sync::Event;
use fibre::{Cluster, JoinHandle, PauseError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One spare processor, and so many fibres that they keep that, too, until the count is one.
fn keep_with_spare(processors: usize, moves: bool, go: &Count) -> (Cluster, Vec<JoinHandle<()>>) {
    let cluster = builder(processors, moves).max_spare_processors(1);
    let cluster = cluster.build().unwrap();
    let come = Count::default();
    let fibres = (0..=processors).map(|_| {
        let (come, go) = (come.clone(), go.clone());
        cluster.spawn(move || {
            come.up();
            go.spin_for(1);
        })
    });
    let fibres = fibres.collect();
    come.wait_for(processors + 1);
    (cluster, fibres)
}

#[test]
fn a_spare_processor_that_is_kept_is_named() {
    for (processors, moves) in kinds() {
        watched(|| {
            let go = Count::default();
            let (cluster, fibres) = keep_with_spare(processors, moves, &go);
            let deadline = Instant::now() + Duration::from_millis(50);
            let all: Vec<_> = (0..=processors).collect();
            match cluster.pause_until(deadline) {
                Err(PauseError::TimedOut { processors }) => assert_eq!(processors, all),
                other => panic!("{other:?}"),
            }
            let short = Duration::from_millis(50);
            let stuck = cluster.stop_within(short, short).unwrap_err().stuck;
            let stuck: Vec<_> = stuck.into_iter().map(|stuck| stuck.index).collect();
            assert_eq!(stuck, all);
            go.up();
            drop(fibres);
        });
    }
}

/// One that is about to be needed, stands aside, sleeps, or has just been let go.
#[test]
fn a_cluster_pauses_and_stops_whatever_its_spare_processors_do() {
    for (processors, moves) in kinds() {
        for milliseconds in [0, 10, 60, 150] {
            watched(|| {
                let cluster = builder(processors, moves).build().unwrap();
                meet(&cluster, processors + 2);
                std::thread::sleep(Duration::from_millis(milliseconds));
                let paused = cluster.pause().unwrap();
                let late = cluster.spawn(|| 7);
                std::thread::sleep(Duration::from_millis(30));
                assert!(!late.is_finished());
                drop(paused);
                assert_eq!(late.join().unwrap(), 7);
                let witness = cluster.clone();
                cluster.stop();
                assert_eq!(witness.live(), 0);
            });
        }
    }
}

/// The fibres of a cluster that drains need them as much; also when no handle is left.
#[test]
fn fibres_meet_in_a_cluster_that_ends() {
    for (processors, moves) in kinds() {
        for by_drop in [false, true] {
            watched(|| {
                let cluster = builder(processors, moves).build().unwrap();
                let fibres = processors + 2;
                let (come, ended) = (Count::default(), Count::default());
                for _ in 0..fibres {
                    let (come, ended) = (come.clone(), ended.clone());
                    drop(cluster.spawn(move || {
                        come.up();
                        come.spin_for(fibres);
                        ended.up();
                    }));
                }
                if by_drop {
                    drop(cluster);
                } else {
                    cluster.stop();
                    assert_eq!(ended.get(), fibres);
                }
                ended.wait_for(fibres);
            });
        }
    }
}

/// One that waits on a spare processor, as all others are kept.
#[test]
fn waits_are_seen_on_spare_processors() {
    for (processors, moves) in kinds() {
        watched(|| {
            let go = Count::default();
            let cluster = builder(processors, moves).name("seen").build().unwrap();
            // A fibre that starts before all are kept would start where a keeper may come behind
            // it.
            let keepers = keep_all(&cluster, &go);
            let event = Arc::new(Event::new());
            let awaited = Arc::clone(&event);
            let builder = fibre::Builder::new().name("waits");
            let waiting = builder.spawn_in(&cluster, move || {
                let there = fibre::processor().unwrap();
                awaited.wait();
                there
            });
            let waiting = waiting.unwrap();
            // Where started fibres move they are looked at only while all stand still or nobody
            // changes them.
            eventually(|| {
                let seen = fibre::waits();
                seen.iter()
                    .any(|wait| wait.name.as_deref() == Some("waits"))
            });
            event.set();
            assert!(waiting.join().unwrap() >= processors);
            go.up();
            keepers
                .into_iter()
                .for_each(|keeper| keeper.join().unwrap());
            cluster.stop();
        });
    }
}

/// Cancelled fibres on a spare processor end.
#[test]
fn fibres_of_spare_processors_are_cancelled() {
    for (processors, moves) in kinds() {
        watched(|| {
            let go = Count::default();
            let (cluster, keepers) = keep_with_spare(processors, moves, &go);
            go.up();
            keepers.into_iter().for_each(|fibre| fibre.join().unwrap());
            let waiting: Vec<_> = (0..20)
                .map(|_| cluster.spawn(|| fibre::sleep_within(Duration::from_secs(3600))))
                .collect();
            cluster
                .stop_within(Duration::ZERO, Duration::from_secs(60))
                .unwrap();
            assert!(
                waiting
                    .into_iter()
                    .all(|fibre| fibre.join().unwrap().is_err())
            );
        });
    }
}

/// A processor that rests when a pause begins is given work meanwhile.
#[test]
fn fibres_meet_that_were_spawned_during_a_pause() {
    for (processors, moves) in kinds() {
        watched(|| {
            let cluster = builder(processors, moves).build().unwrap();
            for fibres in [processors, processors + 1, processors + 3] {
                // They rest by now, or soon; both have to do.
                std::thread::sleep(Duration::from_millis(5));
                let paused = cluster.pause().unwrap();
                let come = Count::default();
                for _ in 0..fibres {
                    let come = come.clone();
                    drop(cluster.spawn(move || {
                        come.up();
                        come.spin_for(fibres);
                    }));
                }
                drop(paused);
                come.wait_for(fibres);
            }
            cluster.stop();
        });
    }
}
