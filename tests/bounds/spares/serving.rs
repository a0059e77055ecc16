//! What becomes ready while all processors are kept: by deadlines, by events, by others; and what
//! keeps them.

use super::{Count, builder, keep_all, kinds};
use crate::support::watched;
use std::io::{Read, Write};
use std::time::Duration;

/// Runs `helper`, which waits for something after it has counted the first, and counts the second;
/// all processors are kept meanwhile.
fn while_kept(
    processors: usize,
    helper: impl FnOnce(Count, Count) + Send + 'static,
    then: impl FnOnce(),
) {
    watched(|| {
        let cluster = builder(processors, true).build().unwrap();
        let (waits, done) = (Count::default(), Count::default());
        let (a, b) = (waits.clone(), done.clone());
        let helper = cluster.spawn(move || helper(a, b));
        waits.wait_for(1);
        let keepers = keep_all(&cluster, &done);
        then();
        helper.join().unwrap();
        keepers
            .into_iter()
            .for_each(|keeper| keeper.join().unwrap());
        cluster.stop();
    });
}

#[test]
fn deadlines_pass() {
    for (processors, _) in kinds().filter(|(_, moves)| *moves) {
        let helper = |waits: Count, done: Count| {
            waits.up();
            fibre::sleep(Duration::from_millis(100));
            done.up();
        };
        while_kept(processors, helper, || ());
    }
}

#[test]
fn events_are_heard_of() {
    for (processors, _) in kinds().filter(|(_, moves)| *moves) {
        let (mut reader, mut writer) = fibre::io::pipe().unwrap();
        let helper = move |waits: Count, done: Count| {
            waits.up();
            reader.read_exact(&mut [0]).unwrap();
            done.up();
        };
        while_kept(processors, helper, || {
            std::thread::sleep(Duration::from_millis(50));
            writer.write_all(b"x").unwrap();
        });
    }
}

#[test]
fn who_is_woken_goes_on() {
    for (processors, _) in kinds().filter(|(_, moves)| *moves) {
        let event = std::sync::Arc::new(fibre::sync::Event::new());
        let awaited = std::sync::Arc::clone(&event);
        let helper = move |waits: Count, done: Count| {
            waits.up();
            awaited.wait();
            done.up();
        };
        while_kept(processors, helper, || event.set());
    }
}

/// A call that the runtime does not know blocks the thread instead of keeping its CPU.
#[test]
fn threads_that_sleep_in_the_kernel_are_stuck_too() {
    for (processors, moves) in kinds() {
        watched(|| {
            let cluster = builder(processors, moves).build().unwrap();
            let pairs: Vec<_> = (0..processors).map(|_| std::io::pipe().unwrap()).collect();
            let (readers, writers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let blocked = Count::default();
            let blocked_ones: Vec<_> = readers
                .into_iter()
                .map(|mut reader| {
                    let blocked = blocked.clone();
                    cluster.spawn(move || {
                        blocked.up();
                        reader.read_exact(&mut [0]).unwrap();
                    })
                })
                .collect();
            blocked.wait_for(processors);
            let writing = cluster.spawn(move || {
                for mut writer in writers {
                    writer.write_all(b"x").unwrap();
                }
            });
            writing.join().unwrap();
            blocked_ones
                .into_iter()
                .for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        });
    }
}

/// Where started fibres stay, one that has started on a spare processor lives there: it is woken,
/// by a deadline and an event, too, when that processor is not needed any more.
#[test]
fn who_has_started_on_a_spare_processor_and_stays_is_served_there() {
    for (processors, _) in kinds().filter(|(_, moves)| !moves) {
        watched(|| {
            let cluster = builder(processors, false).build().unwrap();
            let done = Count::default();
            let keepers = keep_all(&cluster, &done);
            let (mut reader, mut writer) = fibre::io::pipe().unwrap();
            let lives = done.clone();
            let resident = cluster.spawn(move || {
                let there = fibre::processor().unwrap();
                lives.up();
                for _ in 0..20 {
                    fibre::sleep(Duration::from_millis(20));
                    reader.read_exact(&mut [0]).unwrap();
                    assert_eq!(fibre::processor(), Some(there));
                }
                there
            });
            keepers
                .into_iter()
                .for_each(|keeper| keeper.join().unwrap());
            writer.write_all(&[0; 20]).unwrap();
            assert!(resident.join().unwrap() >= processors);
            cluster.stop();
        });
    }
}

/// Which, where they move, is a place like any other: they go back when the others switch again.
#[test]
fn who_moves_leaves_the_spare_processor_that_is_not_needed() {
    for (processors, _) in kinds().filter(|(_, moves)| *moves) {
        watched(|| {
            let cluster = builder(processors, true).build().unwrap();
            let done = Count::default();
            let keepers = keep_all(&cluster, &done);
            let counted = done.clone();
            let resident = cluster.spawn(move || {
                counted.up();
                while fibre::processor().unwrap() >= processors {
                    fibre::sleep(Duration::from_millis(5));
                }
            });
            keepers
                .into_iter()
                .for_each(|keeper| keeper.join().unwrap());
            resident.join().unwrap();
            cluster.stop();
        });
    }
}
