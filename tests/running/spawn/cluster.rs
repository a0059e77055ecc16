//! Start and stop of clusters.

use crate::support::{Latch, eventually, processor_counts, text_of, thread_exists, watched};
use fibre::{Builder, Cluster};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// A cluster with this many processors.
fn cluster(processors: usize) -> Cluster {
    Cluster::builder().processors(processors).build().unwrap()
}

/// Stopping finishes everything that is there, queued, running and blocked.
#[test]
fn stop_finishes_what_is_there() {
    for processors in processor_counts() {
        watched(|| {
            let ended = Arc::new(AtomicUsize::new(0));
            let cluster = cluster(processors);
            for i in 0..3000_u64 {
                let ended = Arc::clone(&ended);
                cluster.spawn(move || {
                    match i % 3 {
                        0 => fibre::yield_now(),
                        1 => fibre::sleep(Duration::from_micros(i)),
                        _ => fibre::spawn(fibre::yield_now).join().unwrap(),
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            cluster.stop();
            assert_eq!(ended.load(Ordering::SeqCst), 3000);
        });
    }
}

/// An idle cluster stops at once, also when it has never run anything.
#[test]
fn idle_clusters_stop() {
    watched(|| {
        for round in 0..60 {
            let cluster = cluster(1 + round % 4);
            if round % 2 == 0 {
                cluster.spawn(|| ()).join().unwrap();
            }
            cluster.stop();
        }
    });
}

/// Nothing can be spawned in a cluster that has stopped: an error, or a panic that says so.
#[test]
fn stopped_clusters_refuse() {
    watched(|| {
        let cluster = cluster(2);
        let late = cluster.clone();
        cluster.stop();
        let error = Builder::new().spawn_in(&late, || ()).unwrap_err();
        assert_eq!(error.to_string(), "the cluster has been stopped");
        let outcome = catch_unwind(AssertUnwindSafe(|| drop(late.spawn(|| ()))));
        let payload = outcome.unwrap_err();
        assert!(text_of(&*payload).contains("the cluster has been stopped"));
        assert_eq!(late.live(), 0);
        late.stop();
    });
}

/// While a cluster stops, spawning either works and the fibre runs, or is refused.
#[test]
fn spawning_races_stopping() {
    watched(|| {
        for round in 0..200 {
            let cluster = cluster(1 + round % 3);
            let ran = Arc::new(AtomicUsize::new(0));
            let (others, counter) = (cluster.clone(), Arc::clone(&ran));
            let spawner = thread::spawn(move || {
                // Some at a time: as long as fibres are left, more may come.
                let accepted = (0..300).take_while(|attempt| {
                    let counter = Arc::clone(&counter);
                    let count = move || counter.fetch_add(1, Ordering::SeqCst);
                    for _ in 0..attempt % 50 * 20 {
                        std::hint::spin_loop();
                    }
                    Builder::new().spawn_in(&others, count).is_ok()
                });
                accepted.count()
            });
            thread::sleep(Duration::from_micros(round as u64 * 3));
            cluster.stop();
            assert_eq!(spawner.join().unwrap(), ran.load(Ordering::SeqCst));
        }
    });
}

/// Dropping the last handle lets the cluster finish and then end, without being waited for.
#[test]
fn dropping_the_last_handle_ends_it() {
    watched(|| {
        let builder = Cluster::builder().processors(2).name("droppy");
        let cluster = builder.build().unwrap();
        let (tell, told) = channel();
        let second = cluster.clone();
        cluster.spawn(move || {
            fibre::sleep(Duration::from_millis(5));
            let inner = fibre::spawn(|| "still here");
            tell.send(inner.join().unwrap()).unwrap();
        });
        eventually(|| thread_exists("droppy/0") && thread_exists("droppy/1"));
        drop(cluster);
        drop(second);
        assert_eq!(told.recv().unwrap(), "still here");
        eventually(|| !thread_exists("droppy/0") && !thread_exists("droppy/1"));
    });
}

/// The last handle may go inside the cluster itself.
#[test]
fn a_fibre_may_drop_the_last_handle() {
    watched(|| {
        let cluster = cluster(2);
        let (inside, latch) = (cluster.clone(), Latch::new());
        let waiting = Arc::clone(&latch);
        let handle = cluster.spawn(move || {
            waiting.wait();
            drop(inside);
            fibre::spawn(|| 8).join().unwrap()
        });
        drop(cluster);
        latch.open();
        assert_eq!(handle.join().unwrap(), 8);
    });
}

/// A cluster cannot be stopped by its own fibre, which is told so.
#[test]
fn a_fibre_cannot_stop_its_own_cluster() {
    watched(|| {
        let cluster = cluster(1);
        let inside = cluster.clone();
        let outcome = cluster.spawn(move || inside.stop()).join();
        let text = "a cluster cannot be stopped by one of its own fibres";
        assert_eq!(text_of(&*outcome.unwrap_err()), text);
        cluster.stop();
    });
}

/// The default cluster, on which everything else relies, cannot be stopped, and goes on.
#[test]
fn the_default_cluster_cannot_be_stopped() {
    watched(|| {
        let default = Cluster::default_cluster().unwrap().clone();
        let outcome = catch_unwind(AssertUnwindSafe(|| default.stop()));
        let text = "the default cluster cannot be stopped";
        assert_eq!(text_of(&*outcome.unwrap_err()), text);
        assert_eq!(fibre::spawn(|| 3).join().unwrap(), 3);
    });
}

/// Fibres spawn into another cluster, and join across the border in both directions.
#[test]
fn clusters_talk() {
    watched(|| {
        let (left, right) = (cluster(1), cluster(2));
        let there = right.clone();
        let total = left.spawn(move || {
            let back = |i: u64| there.spawn(move || fibre::spawn(move || i).join().unwrap());
            let handles: Vec<_> = (0..1000).map(back).collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .sum::<u64>()
        });
        assert_eq!(total.join().unwrap(), 499_500);
        left.stop();
        right.stop();
    });
}

/// Zero processors count as one.
#[test]
fn at_least_one_processor() {
    let cluster = cluster(0);
    assert_eq!(cluster.processors(), 1);
    assert_eq!(cluster.spawn(|| 2).join().unwrap(), 2);
    cluster.stop();
}

/// Asynchronous signals are left to the program's own threads.
#[test]
fn processors_block_signals() {
    watched(|| {
        let cluster = cluster(1);
        let status = cluster.spawn(|| std::fs::read_to_string("/proc/thread-self/status"));
        let status = status.join().unwrap().unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGALRM] {
            assert_ne!(
                mask & 1 << (signal - 1),
                0,
                "signal {signal} is not blocked"
            );
        }
        assert_eq!(mask & 1 << (libc::SIGSEGV - 1), 0);
        cluster.stop();
    });
}

/// Numbers of fibres are told apart by people: they are small, and those that one fibre spawns on
/// its processor follow each other.
#[test]
fn numbers_are_readable() {
    let clusters = [1, 2, 4].map(|processors| {
        let builder = Cluster::builder().processors(processors);
        builder.build().unwrap()
    });
    let mut all = std::collections::HashSet::new();
    for cluster in &clusters {
        let spawn = || {
            let children: Vec<_> = (0..8).map(|_| fibre::spawn(|| ())).collect();
            let numbers: Vec<_> = children.iter().map(fibre::JoinHandle::id).collect();
            children.into_iter().for_each(|child| child.join().unwrap());
            numbers
        };
        let parents: Vec<_> = (0..8).map(|_| cluster.spawn(spawn)).collect();
        for parent in parents {
            let own = parent.id();
            let children = parent.join().unwrap();
            let follow = |pair: &[u64]| pair[1] == pair[0] + 1;
            let jumps = children.windows(2).filter(|pair| !follow(pair)).count();
            assert!(jumps <= 1, "{children:?}");
            for number in children.into_iter().chain([own]) {
                assert!(all.insert(number), "{number} twice");
                assert!(number < 1 << 32, "{number}");
            }
        }
    }
    clusters.into_iter().for_each(Cluster::stop);
}
