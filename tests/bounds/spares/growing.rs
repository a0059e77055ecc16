//! Clusters that grow while they have spare processors.

use super::{Count, builder, kinds, meet, threads};
use crate::support::{eventually, watched};
use fibre::Builder;

/// Spare processors become regular ones first, and keep the numbers in their order.
#[test]
fn spare_processors_become_regular_ones() {
    for (processors, moves) in kinds() {
        watched(|| {
            let builder = builder(processors, moves)
                .name("grown")
                .max_spare_processors(2);
            let cluster = builder.build().unwrap();
            meet(&cluster, processors + 2);
            assert_eq!(cluster.processors(), processors);
            // So many fibres have met, so many processors were there. Spare ones go after a while
            // without work, which a slow machine may take until here.
            assert!(threads("grown") <= processors + 2);
            let beyond = Builder::new()
                .on_processor(processors)
                .spawn_in(&cluster, || ());
            assert!(beyond.is_err(), "a spare processor cannot be asked for");
            assert_eq!(cluster.add_processors(1).unwrap(), processors + 1);
            assert!(threads("grown") <= processors + 2);
            assert_eq!(cluster.add_processors(2).unwrap(), processors + 3);
            eventually(|| threads("grown") == processors + 3);
            for number in 0..processors + 3 {
                let there = Builder::new().on_processor(number);
                let there = there.spawn_in(&cluster, fibre::processor).unwrap();
                assert_eq!(there.join().unwrap(), Some(number));
            }
            assert_eq!(cluster.thread_ids().len(), processors + 3);
            // And there may be as many again.
            meet(&cluster, processors + 5);
            assert!(threads("grown") <= processors + 5);
            cluster.stop();
        });
    }
}

/// Spare processors that were asked for have room of their own.
#[test]
fn a_cluster_that_has_grown_to_its_most_has_those_that_were_chosen() {
    for moves in [true, false] {
        watched(|| {
            let builder = builder(1, moves).name("full").max_processors(2);
            let cluster = builder.max_spare_processors(3).build().unwrap();
            meet(&cluster, 2);
            assert_eq!(cluster.add_processors(1).unwrap(), 2);
            assert!(cluster.add_processors(1).is_err());
            meet(&cluster, 5);
            assert_eq!((cluster.processors(), threads("full")), (2, 5));
            cluster.stop();
        });
    }
}

/// Those that are kept themselves, too.
#[test]
fn a_cluster_grows_while_all_are_kept() {
    for (processors, moves) in kinds() {
        watched(|| {
            let cluster = builder(processors, moves).max_spare_processors(1);
            let cluster = cluster.build().unwrap();
            let (come, go) = (Count::default(), Count::default());
            let fibres: Vec<_> = (0..processors + 2)
                .map(|_| {
                    let (come, go) = (come.clone(), go.clone());
                    cluster.spawn(move || {
                        come.up();
                        go.spin_for(1);
                    })
                })
                .collect();
            come.wait_for(processors + 1);
            assert_eq!(cluster.add_processors(2).unwrap(), processors + 2);
            come.wait_for(processors + 2);
            go.up();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        });
    }
}
