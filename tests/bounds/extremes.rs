//! Everything that can be chosen by a number, chosen at its largest: it is refused with an error,
//! or it means what it says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::channel::{TrySendError, bounded, broadcast};
use fibre::{BlockingPool, BufferPool, Cluster, ClusterBuilder};
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{eventually, for_each_cluster, processor_counts, sockets, watched};

/// What is more than any clock will ever show.
const TIMES: [Duration; 3] = [
    Duration::MAX,
    Duration::from_secs(u64::MAX),
    Duration::from_micros(u64::MAX),
];

/// Fibres of a cluster wake each other, sleep, and talk, on one processor and across; then it
/// stands still, and goes on, and ends. Whoever spins must see to all that.
fn is_alive(builder: ClusterBuilder) {
    let cluster = builder.build().unwrap();
    for round in 0..3 {
        let (near, far) = (bounded(0), bounded(0));
        let echo = cluster.spawn(move || {
            while let Ok(value) = near.1.recv() {
                far.0.send(value).unwrap();
            }
        });
        let caller = cluster.spawn(move || {
            for i in 0..100 {
                near.0.send(i).unwrap();
                assert_eq!(far.1.recv(), Ok(i));
            }
        });
        caller.join().unwrap();
        echo.join().unwrap();
        // The processors have slept for a short time only, and wait for nothing but the clock.
        cluster
            .spawn(|| fibre::sleep(Duration::from_millis(1)))
            .join()
            .unwrap();
        let paused = cluster.pause().unwrap();
        let (mut one, mut other) = sockets::fresh_pair_with_std();
        let reader = cluster.spawn(move || {
            let mut byte = [0];
            one.read_exact(&mut byte).unwrap();
            byte[0]
        });
        drop(paused);
        other.write_all(&[round]).unwrap();
        assert_eq!(reader.join().unwrap(), round);
    }
    let sleeper = cluster.spawn(|| fibre::sleep_within(Duration::MAX).is_err());
    sleeper.cancel();
    assert!(sleeper.join().unwrap());
    cluster.stop();
}

#[test]
fn a_spin_without_end_sees_to_everything() {
    for processors in processor_counts() {
        for longest in TIMES.into_iter().chain([Duration::from_secs(3600)]) {
            watched(|| is_alive(Cluster::builder().processors(processors).spin(longest)));
        }
    }
}

/// One processor is blocked by its fibre; another one, which spins, sees to what there is for all.
#[test]
fn a_spin_without_end_leaves_no_work_to_a_blocked_processor() {
    watched(|| {
        let builder = Cluster::builder().processors(2).spin(Duration::MAX);
        let cluster = builder.build().unwrap();
        for _ in 0..20 {
            let release = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                let (cluster, release) = (&cluster, &release);
                let (sender, receiver) = std::sync::mpsc::channel();
                let blocks = cluster.spawn(move || receiver.recv().unwrap());
                // Some of them are put behind the one that blocks.
                let others: Vec<_> = (0..10).map(|i| cluster.spawn(move || i)).collect();
                scope.spawn(move || {
                    eventually(|| release.load(Ordering::Acquire) == 1);
                    sender.send(()).unwrap();
                });
                assert!(others.into_iter().map(|it| it.join().unwrap()).eq(0..10));
                release.store(1, Ordering::Release);
                blocks.join().unwrap();
            });
        }
        cluster.stop();
    });
}

#[test]
fn a_slice_without_end_is_one() {
    for processors in processor_counts() {
        for length in TIMES {
            watched(|| is_alive(Cluster::builder().processors(processors).slice(length)));
        }
    }
}

#[test]
fn more_processors_than_there_can_be_are_refused() {
    for count in [usize::MAX, usize::MAX - 1, 1 << 40, 1 << 16, 65_535] {
        for builder in [
            Cluster::builder().processors(count),
            Cluster::builder().processors(1).max_processors(count),
        ] {
            let error = builder.build().expect_err("so many there cannot be");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{count}: {error}");
            assert!(error.to_string().contains(&count.to_string()), "{error}");
        }
    }
    watched(|| is_alive(Cluster::builder().processors(1).max_processors(65_534)));
    for count in [1025, usize::MAX] {
        let refused = Cluster::builder().max_spare_processors(count).build();
        let error = refused.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    watched(|| is_alive(Cluster::builder().processors(1).max_spare_processors(1024)));
    let cluster = Cluster::builder().processors(1).build().unwrap();
    assert!(cluster.add_processors(usize::MAX).is_err());
    cluster.stop();
}

#[test]
fn numbers_of_fibres_and_bytes_without_end() {
    watched(|| is_alive(Cluster::builder().max_fibres(usize::MAX)));
    let cluster = Cluster::builder().stack_size(usize::MAX).build().unwrap();
    let refused = cluster.spawn(|| ()).join().unwrap_err();
    assert!(refused.is::<fibre::StackError>());
    cluster.stop();
}

#[test]
fn pools_of_threads_without_end() {
    for_each_cluster(|_| {
        let pool = BlockingPool::builder()
            .threads(usize::MAX)
            .idle(Duration::MAX)
            .build();
        assert_eq!(pool.run(|| 7), 7);
    });
}

#[test]
fn a_pool_keeps_any_number_of_buffers() {
    for most in [usize::MAX, usize::MAX / 2, 1 << 40] {
        let pool = BufferPool::new(16, most);
        let taken: Vec<_> = (0..1000).map(|_| pool.take()).collect();
        let mut places: Vec<_> = taken.iter().map(|buffer| buffer.as_ptr()).collect();
        drop(taken);
        // Each of them has been kept.
        let again: Vec<_> = (0..1000).map(|_| pool.take()).collect();
        let mut seen: Vec<_> = again.iter().map(|buffer| buffer.as_ptr()).collect();
        places.sort_unstable();
        seen.sort_unstable();
        assert_eq!(places, seen, "{most}");
    }
}

#[test]
fn a_channel_of_any_capacity_takes_memory_as_it_is_used() {
    for_each_cluster(|_| {
        for capacity in [1 << 20, 1 << 40, usize::MAX / 2, usize::MAX - 1] {
            let (sender, receiver) = bounded::<[u64; 8]>(capacity);
            assert_eq!(sender.capacity(), Some(capacity));
            for i in 0..5000 {
                sender.try_send([i; 8]).unwrap();
            }
            assert!(receiver.try_iter().eq((0..5000).map(|i| [i; 8])));
        }
    });
}

#[test]
fn a_broadcast_of_any_capacity_takes_memory_as_it_is_used() {
    for_each_cluster(|_| {
        for capacity in [1025, 1 << 20, 1 << 40, usize::MAX / 2, usize::MAX] {
            let (sender, mut receiver) = broadcast::<usize>(capacity);
            let mut second = sender.subscribe();
            let sent = 5000;
            (0..sent).for_each(|i| assert_eq!(sender.send(i), Ok(2)));
            let missed = sent.saturating_sub(capacity);
            for receiver in [&mut receiver, &mut second] {
                let first = receiver.recv().unwrap();
                assert_eq!((first.value, first.missed), (missed, missed as u64));
                for i in missed + 1..sent {
                    let next = receiver.recv().unwrap();
                    assert_eq!((next.value, next.missed), (i, 0));
                }
            }
            assert!(sender.is_empty());
        }
    });
}

/// Senders make room at the same time, and no value is lost.
#[test]
fn a_broadcast_grows_under_many_senders() {
    for_each_cluster(|_| {
        let (sender, mut receiver) = broadcast::<usize>(usize::MAX);
        fibre::scope(|scope| {
            for _ in 0..4 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for i in 0..3000 {
                        sender.send(i).unwrap();
                        fibre::yield_now();
                    }
                });
            }
        });
        let sum: usize = (0..12_000).map(|_| receiver.recv().unwrap().value).sum();
        assert_eq!(sum, 4 * (0..3000).sum::<usize>());
    });
}

/// A channel that has grown piece by piece is full at last; from then on senders wait, and
/// receivers move their values, in all ways that there are.
#[test]
fn a_large_channel_is_full_at_last() {
    const CAPACITY: usize = 20_000;
    const MORE: usize = 5000;
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(CAPACITY);
        (0..CAPACITY).for_each(|i| sender.send(i).unwrap());
        assert_eq!(sender.try_send(0), Err(TrySendError::Full(0)));
        assert!(sender.is_full());
        fibre::scope(|scope| {
            scope.spawn(|| {
                for i in (0..MORE).map(|i| CAPACITY + i) {
                    if i % 2 == 0 {
                        sender.send(i).unwrap();
                    } else {
                        fibre::select! {
                            send(sender, i) -> sent => sent.unwrap(),
                        }
                    }
                }
            });
            for i in 0..CAPACITY + MORE {
                assert_eq!(receiver.recv(), Ok(i));
            }
        });
        let late = sender.send_timeout(1, Duration::from_micros(1));
        assert_eq!(late, Ok(()));
        assert_eq!(receiver.recv_within(Instant::now()), Ok(1));
    });
}
