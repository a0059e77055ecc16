//! Processors that are added to a running cluster.

use super::cluster;
use crate::support::{Latch, eventually, kernel_thread, sockets, watched};
use fibre::Cluster;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// The processors on which fibres are that each keep one to themselves at the same time.
fn processors_at_work(cluster: &Cluster) -> Vec<usize> {
    let count = cluster.processors();
    let all_there = Arc::new(Barrier::new(count));
    let fibres: Vec<_> = (0..count)
        .map(|_| {
            let all_there = Arc::clone(&all_there);
            cluster.spawn(move || {
                // Blocks the processor: the others have to take the other fibres.
                all_there.wait();
                fibre::processor().unwrap()
            })
        })
        .collect();
    let mut processors: Vec<_> = fibres.into_iter().map(|it| it.join().unwrap()).collect();
    processors.sort_unstable();
    processors
}

/// Processors that are added work like those that were there, also while all are busy.
#[test]
fn new_processors_work() {
    watched(|| {
        let cluster = cluster(1);
        let done = Latch::new();
        let stop = Arc::clone(&done);
        let busy = cluster.spawn(move || stop.wait());
        for count in [2, 3, 6] {
            let more = count - cluster.processors();
            assert_eq!(cluster.add_processors(more).unwrap(), count);
            assert_eq!(processors_at_work(&cluster), (0..count).collect::<Vec<_>>());
        }
        done.open();
        busy.join().unwrap();
        cluster.stop();
    });
}

/// What is queued behind a processor that is stuck is done by one that is added.
#[test]
fn new_processors_steal() {
    watched(|| {
        let cluster = cluster(2);
        let (stuck, free) = (Arc::new(Barrier::new(3)), Arc::new(Barrier::new(3)));
        let blocked: Vec<_> = (0..2)
            .map(|_| {
                let (stuck, free) = (Arc::clone(&stuck), Arc::clone(&free));
                cluster.spawn(move || {
                    stuck.wait();
                    free.wait();
                })
            })
            .collect();
        stuck.wait();
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            cluster.spawn(move || ran.fetch_add(1, Ordering::SeqCst));
        }
        cluster.add_processors(1).unwrap();
        eventually(|| ran.load(Ordering::SeqCst) == 100);
        free.wait();
        blocked.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    });
}

/// There is room for as many as the builder made; all are added or none.
#[test]
fn there_is_room_for_so_many() {
    watched(|| {
        let builder = Cluster::builder().processors(2).max_processors(4);
        let cluster = builder.build().unwrap();
        let error = cluster.add_processors(3).unwrap_err().to_string();
        assert_eq!(error, "the cluster has 2 processors, and room for 4");
        assert_eq!(cluster.processors(), 2);
        assert_eq!(cluster.add_processors(2).unwrap(), 4);
        assert_eq!(cluster.add_processors(0).unwrap(), 4);
        assert!(cluster.add_processors(usize::MAX).is_err());
        let witness = cluster.clone();
        cluster.stop();
        assert!(witness.add_processors(0).is_err());
        let few = Cluster::builder().processors(3).max_processors(1);
        let few = few.build().unwrap();
        assert_eq!(few.processors(), 3);
        few.stop();
    });
}

/// Processors are added from all sides while fibres are spawned.
#[test]
fn growing_races_spawning() {
    watched(|| {
        for _ in 0..20 {
            let cluster = cluster(1);
            let ran = Arc::new(AtomicUsize::new(0));
            let inside = (cluster.clone(), Arc::clone(&ran));
            let grower = cluster.spawn(move || {
                for _ in 0..5 {
                    inside.0.add_processors(1).unwrap();
                    let ran = Arc::clone(&inside.1);
                    fibre::spawn(move || ran.fetch_add(1, Ordering::SeqCst));
                }
            });
            let outside = cluster.clone();
            let thread = thread::spawn(move || outside.add_processors(4).unwrap());
            for _ in 0..100 {
                let ran = Arc::clone(&ran);
                cluster.spawn(move || ran.fetch_add(1, Ordering::SeqCst));
            }
            grower.join().unwrap();
            thread.join().unwrap();
            assert_eq!(cluster.processors(), 10);
            cluster.stop();
            assert_eq!(ran.load(Ordering::SeqCst), 105);
        }
    });
}

/// A processor that is added after others have done I/O does its own.
#[test]
fn new_processors_hear_of_events() {
    watched(|| {
        let cluster = cluster(1);
        let (mut first, mut far) = sockets::fresh_pair_with_std();
        let reader = cluster.spawn(move || first.read(&mut [0]).unwrap());
        far.write_all(b"!").unwrap();
        assert_eq!(reader.join().unwrap(), 1);
        cluster.add_processors(2).unwrap();
        let all_there = Arc::new(Barrier::new(3));
        let echoes = (0..3).map(|_| {
            let (mut near, far) = sockets::fresh_pair_with_std();
            let all_there = Arc::clone(&all_there);
            cluster.spawn(move || {
                all_there.wait();
                let mut byte = [0];
                near.read_exact(&mut byte).unwrap();
                near.write_all(&byte).unwrap();
            });
            far
        });
        for mut far in echoes.collect::<Vec<_>>() {
            far.write_all(b"?").unwrap();
            far.read_exact(&mut [0]).unwrap();
        }
        cluster.stop();
    });
}

/// Whoever has a cluster may use up what threads take when they begin.
#[test]
fn threads_have_begun_when_there_is_a_cluster() {
    for _ in 0..20 {
        let cluster = Cluster::builder().processors(2).name("begun");
        let cluster = cluster.build().unwrap();
        assert_eq!(cluster.thread_ids().len(), 2);
        assert_eq!(cluster.add_processors(2).unwrap(), 4);
        assert_eq!(cluster.thread_ids().len(), 4);
        cluster.stop();
    }
}

/// Each processor's thread can be named to the kernel, and each fibre knows its processor.
#[test]
fn threads_have_numbers() {
    watched(|| {
        let builder = Cluster::builder().processors(2).name("numbered");
        let cluster = builder.build().unwrap();
        assert_eq!(cluster.name(), "numbered");
        assert_eq!(cluster.thread_ids().len(), 2);
        cluster.add_processors(1).unwrap();
        let threads = cluster.thread_ids();
        for _ in 0..100 {
            let fibre = cluster.spawn(|| (fibre::processor().unwrap(), kernel_thread()));
            let (processor, thread) = fibre.join().unwrap();
            assert_eq!(threads[processor], thread);
        }
        for (processor, thread) in threads.iter().enumerate() {
            let path = format!("/proc/self/task/{thread}/comm");
            let name = std::fs::read_to_string(path).unwrap();
            assert_eq!(name.trim_end(), format!("numbered/{processor}"));
        }
        cluster.stop();
    });
}
