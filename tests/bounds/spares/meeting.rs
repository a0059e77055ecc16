//! Fibres that spin for each other, more of them than there are processors.

use super::{Count, builder, kinds, meet, threads};
use crate::support::{Latch, watched};
use fibre::sync::Barrier;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn fibres_that_have_not_started_meet() {
    for (processors, moves) in kinds() {
        watched(|| {
            let cluster = builder(processors, moves).build().unwrap();
            meet(&cluster, processors + 3);
            cluster.stop();
        });
    }
}

/// They have waited, at home if there is one processor, and go on together.
#[test]
fn fibres_that_have_started_meet_where_they_move() {
    for (processors, _) in kinds().filter(|(_, moves)| *moves) {
        watched(|| {
            let cluster = builder(processors, true).build().unwrap();
            let fibres = processors + 3;
            let barrier = Arc::new(Barrier::new(fibres));
            let come = Count::default();
            let all: Vec<_> = (0..fibres)
                .map(|number| {
                    let (barrier, come) = (Arc::clone(&barrier), come.clone());
                    cluster.spawn(move || {
                        for round in 1..=3 {
                            barrier.wait();
                            fibre::sleep(Duration::from_millis(number as u64 % 3));
                            come.up();
                            come.spin_for(round * fibres);
                        }
                    })
                })
                .collect();
            all.into_iter().for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        });
    }
}

/// A fibre that yields has its turn, too, though who keeps the processor does not.
#[test]
fn who_has_yielded_goes_on_where_started_fibres_move() {
    for (processors, _) in kinds().filter(|(_, moves)| *moves) {
        watched(|| {
            let cluster = builder(processors, true).build().unwrap();
            let (yielding, go) = (Count::default(), Count::default());
            let (there, told) = (yielding.clone(), go.clone());
            let other = cluster.spawn(move || {
                there.up();
                while told.get() < processors {
                    fibre::yield_now();
                }
            });
            yielding.wait_for(1);
            let keepers: Vec<_> = (0..processors)
                .map(|_| {
                    let (go, cluster) = (go.clone(), cluster.clone());
                    cluster.clone().spawn(move || {
                        go.up();
                        let (begun, seen) = (Count::default(), Count::default());
                        let (a, b) = (begun.clone(), seen.clone());
                        drop(cluster.spawn(move || {
                            a.up();
                            b.spin_for(1);
                        }));
                        begun.spin_for(1);
                        seen.up();
                    })
                })
                .collect();
            other.join().unwrap();
            keepers.into_iter().for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        });
    }
}

/// One spare processor, and fibres that would need two: two run, the third one does when the first
/// are let go.
#[test]
fn there_are_no_more_than_chosen() {
    for moves in [true, false] {
        watched(|| {
            let builder = builder(1, moves).name("bounded").max_spare_processors(1);
            let cluster = builder.build().unwrap();
            let (come, go) = (Count::default(), Count::default());
            let fibres: Vec<_> = (0..3)
                .map(|_| {
                    let (come, go) = (come.clone(), go.clone());
                    cluster.spawn(move || {
                        come.up();
                        go.spin_for(1);
                    })
                })
                .collect();
            come.wait_for(2);
            std::thread::sleep(Duration::from_millis(200));
            assert_eq!((come.get(), threads("bounded")), (2, 2));
            go.up();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        });
    }
}

#[test]
fn there_are_none_if_none_may_be() {
    watched(|| {
        let cluster = builder(1, true).name("none").max_spare_processors(0);
        let cluster = cluster.build().unwrap();
        let go = Latch::new();
        let (come, told) = (Count::default(), Count::default());
        let (a, b) = (come.clone(), told.clone());
        let keeper = cluster.spawn(move || {
            a.up();
            b.spin_for(1);
        });
        come.wait_for(1);
        let come = come.clone();
        let second = cluster.spawn(move || come.up());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!second.is_finished());
        assert_eq!(threads("none"), 1);
        told.up();
        drop(go);
        keeper.join().unwrap();
        second.join().unwrap();
        cluster.stop();
    });
}

/// Those that were there are used again.
#[test]
fn spare_processors_come_again() {
    for moves in [true, false] {
        watched(|| {
            let builder = builder(1, moves).name("again").max_spare_processors(3);
            let cluster = builder.build().unwrap();
            for _ in 0..5 {
                meet(&cluster, 4);
                assert_eq!(threads("again"), 4);
                // They stand aside meanwhile, or do not yet.
                std::thread::sleep(Duration::from_millis(120));
            }
            cluster.stop();
        });
    }
}

/// As in a program whose threads all wait by spinning, until they are told to end one by one.
#[test]
fn as_many_meet_as_there_is_room_for() {
    watched(|| {
        let cluster = builder(2, true).build().unwrap();
        let begun = Instant::now();
        meet(&cluster, 40);
        println!("40 have met after {:?}", begun.elapsed());
        cluster.stop();
    });
}
