//! Idle processors sleep, and no wake-up is lost.

use crate::support::{cpu_time_of, for_each_cluster, processor_counts, sockets, watched};
use fibre::Cluster;
use fibre::sync::Semaphore;
use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Processors that have nothing to do use no CPU, also once they have done I/O.
#[test]
fn idle_processors_sleep() {
    for processors in processor_counts() {
        watched(|| {
            let name = format!("idle{processors}p");
            let builder = Cluster::builder().processors(processors).name(&name);
            let cluster = builder.build().unwrap();
            let (near, far) = sockets::pair_with_std();
            let blocked = cluster.spawn(move || (&near).read(&mut [0; 8]).unwrap());
            let asleep = cluster.spawn(|| fibre::sleep(Duration::from_millis(400)));
            cluster.spawn(|| ()).join().unwrap();
            thread::sleep(Duration::from_millis(50));
            let before = cpu_time_of(&name);
            assert!(before > 0);
            thread::sleep(Duration::from_millis(300));
            let used = cpu_time_of(&name) - before;
            assert!(used < 20_000_000, "{used} ns of CPU for nothing");
            drop(far);
            assert_eq!(blocked.join().unwrap(), 0);
            asleep.join().unwrap();
            cluster.stop();
        });
    }
}

/// No wake-up between a fibre and a foreign thread is lost in many round trips.
#[test]
fn ping_pong_with_a_foreign_thread() {
    for_each_cluster(|_| {
        let (ping, pong) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (hear, answer) = (Arc::clone(&ping), Arc::clone(&pong));
        let thread = thread::spawn(move || {
            for _ in 0..7_000 {
                hear.acquire();
                answer.release();
            }
        });
        for _ in 0..7_000 {
            ping.release();
            pong.acquire();
        }
        thread.join().unwrap();
    });
}

/// No wake-up between fibres of two clusters, each with its own threads, is lost.
#[test]
fn ping_pong_between_clusters() {
    for_each_cluster(|_| {
        let other = Cluster::builder().processors(1).build().unwrap();
        let (ping, pong) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (hear, answer) = (Arc::clone(&ping), Arc::clone(&pong));
        let there = other.spawn(move || {
            for _ in 0..7_000 {
                hear.acquire();
                answer.release();
            }
        });
        for _ in 0..7_000 {
            ping.release();
            pong.acquire();
        }
        there.join().unwrap();
        fibre::blocking(move || other.stop());
    });
}
