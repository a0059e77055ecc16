//! Channels whose receivers all get what is sent: the latest value, or every one.

use crate::support::{
    Drops, Random, eventually, for_clusters, for_each_cluster, let_others_block, until_waiting,
    watched,
};
use fibre::channel::{
    Received, RecvError, RecvTimeoutError, SendError, TryRecvError, broadcast, watch,
};
use fibre::{Cluster, Limit, WaitKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A value received without a gap.
fn whole<T>(value: T) -> Received<T> {
    Received { value, missed: 0 }
}

#[test]
fn a_watcher_sees_the_latest_value() {
    for_each_cluster(|_| {
        let (sender, mut receiver) = watch(0);
        assert!(!receiver.has_changed());
        (1..=5).for_each(|value| sender.send(value).unwrap());
        assert!(receiver.has_changed());
        receiver.changed().unwrap();
        assert_eq!(receiver.get(), 5);
        assert!(!receiver.has_changed());
        assert_eq!(sender.replace(6), 5);
        assert_eq!(*receiver.read(), 6);
        assert!(receiver.has_changed(), "a look is not a look for news");
        assert_eq!(*receiver.read_and_update(), 6);
        assert!(!receiver.has_changed());
        assert!(!sender.modify(|_| false));
        assert!(!receiver.has_changed());
        let late = sender.subscribe();
        assert!(!late.has_changed());
        assert_eq!(sender.receivers(), 2);
        drop(sender);
        assert_eq!(receiver.changed(), Err(RecvError));
        assert!(late.is_closed());
        assert_eq!(late.get(), 6);
    });
}

/// The last value is seen though its sender is gone.
#[test]
fn the_last_word_is_heard() {
    for_each_cluster(|_| {
        let (sender, mut receiver) = watch(0);
        let other = sender.clone();
        drop(sender);
        other.send(1).unwrap();
        drop(other);
        assert!(receiver.is_closed());
        assert_eq!(receiver.changed(), Ok(()));
        assert_eq!(receiver.get(), 1);
        assert_eq!(receiver.changed(), Err(RecvError));
        assert_eq!(*receiver.wait_for(|value| *value == 1).unwrap(), 1);
        assert!(receiver.wait_for(|value| *value == 2).is_err());
    });
}

/// The forms with a limit give up, and each tries in any case.
#[test]
fn a_watcher_waits_for_a_value_so_long_at_most() {
    for_each_cluster(|_| {
        let (sender, mut receiver) = watch(0);
        let (soon, now) = (Duration::from_millis(2), Duration::ZERO);
        let begun = Instant::now();
        let late = receiver.wait_for_timeout(soon, |value| *value == 1);
        assert_eq!(late.err(), Some(RecvTimeoutError::TimedOut));
        assert!(begun.elapsed() >= soon);
        sender.send(1).unwrap();
        let there = receiver.wait_for_timeout(now, |value| *value == 1);
        assert_eq!(there.map(|value| *value), Ok(1));
        let there = receiver.wait_for_within(Limit::Cancellation, |value| *value == 1);
        assert_eq!(there.map(|value| *value), Ok(1));
        let mut waits = receiver.clone();
        let other = fibre::spawn(move || {
            let value = waits.wait_for_timeout(Duration::MAX, |value| *value >= 2);
            value.map(|value| *value)
        });
        let_others_block();
        sender.send(2).unwrap();
        assert_eq!(other.join().unwrap(), Ok(2));
        let mut waits = receiver.clone();
        let other = fibre::spawn(move || {
            let never = |_: &u32| false;
            waits.wait_for_timeout(Duration::MAX, never).err()
        });
        let_others_block();
        other.cancel();
        assert_eq!(other.join().unwrap(), Some(RecvTimeoutError::Cancelled));
        drop(sender);
        let closed = receiver.wait_for_timeout(Duration::MAX, |value| *value == 7);
        assert_eq!(closed.err(), Some(RecvTimeoutError::Closed));
    });
}

/// Those that wait, fibres and threads, wake at a change, or give up.
#[test]
fn watchers_wait() {
    for_each_cluster(|_| {
        let (sender, receiver) = watch(0);
        let follow = |mut receiver: fibre::channel::WatchReceiver<u32>| {
            move || *receiver.wait_for(|value| *value >= 3).unwrap()
        };
        let fibres: Vec<_> = (0..4)
            .map(|_| fibre::spawn(follow(receiver.clone())))
            .collect();
        let thread = thread::spawn(follow(receiver.clone()));
        let_others_block();
        (1..=3).for_each(|value| {
            sender.send(value).unwrap();
            let_others_block();
        });
        for fibre in fibres {
            assert_eq!(fibre.join().unwrap(), 3);
        }
        assert_eq!(thread.join().unwrap(), 3);

        drop(receiver);
        let mut receiver = sender.subscribe();
        let timeout = Duration::from_millis(2);
        let timed_out = Err(RecvTimeoutError::TimedOut);
        assert_eq!(receiver.changed_timeout(timeout), timed_out);
        assert_eq!(receiver.changed_within(Instant::now()), timed_out);
        let never = receiver.wait_for_within(Instant::now(), |value| *value == 9);
        assert_eq!(never.map(|value| *value), Err(RecvTimeoutError::TimedOut));
        let cancelled = fibre::spawn(move || receiver.changed_within(Limit::Cancellation));
        let_others_block();
        cancelled.cancel();
        assert_eq!(cancelled.join().unwrap(), Err(RecvTimeoutError::Cancelled));
        eventually(|| sender.receivers() == 0);
        assert_eq!(sender.send(4), Err(SendError(4)));
        assert_eq!(*sender.read(), 3);
        sender.replace(5);
        assert_eq!(sender.subscribe().get(), 5);
    });
}

/// Readers that wait for the end of a change keep the next change waiting only while they run.
#[test]
fn a_change_waits_for_no_reader_that_does_not_run() {
    for_clusters(&[1], |_| {
        let is_first = |_| {
            let (sender, receiver) = watch(0);
            let reads = Arc::new(AtomicU64::new(0));
            let readers: Vec<_> = (0..4)
                .map(|_| {
                    let (receiver, reads) = (receiver.clone(), Arc::clone(&reads));
                    fibre::spawn(move || {
                        let seen = receiver.get();
                        reads.fetch_add(1, Ordering::SeqCst);
                        seen
                    })
                })
                .collect();
            let ids: Vec<_> = readers.iter().map(fibre::JoinHandle::id).collect();
            sender.modify(|value| {
                until_waiting(WaitKind::RwLock, &ids);
                *value = 1;
                true
            });
            sender.replace(2);
            let before = reads.load(Ordering::SeqCst);
            for reader in readers {
                assert!(reader.join().unwrap() >= 1);
            }
            before == 0
        };
        // At the end of its time slice, a sender lets others go first.
        assert!((0..100).any(is_first), "they all had been waited for");
    });
}

/// Many follow a value that as many change, while some of them have to wait for each other.
#[test]
fn a_crowd_follows_what_a_crowd_changes() {
    const CROWD: usize = 200;
    for_each_cluster(|_| {
        let (sender, receiver) = watch(0);
        let followers: Vec<_> = (0..CROWD)
            .map(|_| {
                let mut receiver = receiver.clone();
                fibre::spawn(move || {
                    let mut last = 0;
                    while receiver.changed().is_ok() {
                        let value = *receiver.read_and_update();
                        assert!(value > last, "a change without a new value");
                        last = value;
                    }
                    last
                })
            })
            .collect();
        let changers: Vec<_> = (0..CROWD)
            .map(|me| {
                let sender = sender.clone();
                fibre::spawn(move || {
                    sender.modify(|value| {
                        if me % 50 == 0 {
                            fibre::sleep(Duration::from_micros(200));
                        }
                        *value += 1;
                        true
                    })
                })
            })
            .collect();
        drop(sender);
        for changer in changers {
            assert!(changer.join().unwrap());
        }
        for follower in followers {
            assert_eq!(follower.join().unwrap(), CROWD);
        }
    });
}

/// A change that panics is not announced, and the channel goes on.
#[test]
fn a_change_may_panic() {
    let (sender, mut receiver) = watch(0);
    let inside = sender.clone();
    let panics = fibre::spawn(move || inside.modify(|_| panic!("planned")));
    assert!(panics.join().is_err());
    assert!(!receiver.has_changed());
    sender.send(1).unwrap();
    receiver.changed().unwrap();
    assert_eq!(receiver.get(), 1);
}

#[test]
fn every_receiver_gets_every_value() {
    for_each_cluster(|_| {
        let (sender, first) = broadcast(64);
        let collect = |mut receiver: fibre::channel::BroadcastReceiver<u32>| {
            move || {
                let mut values = Vec::new();
                while let Ok(Received { value, missed: 0 }) = receiver.recv() {
                    values.push(value);
                }
                values
            }
        };
        let fibres: Vec<_> = (0..4)
            .map(|_| fibre::spawn(collect(first.clone())))
            .collect();
        let thread = thread::spawn(collect(first));
        for value in 0..64 {
            assert_eq!(sender.send(value), Ok(5));
        }
        drop(sender);
        let expected: Vec<_> = (0..64).collect();
        for fibre in fibres {
            assert_eq!(fibre.join().unwrap(), expected);
        }
        assert_eq!(thread.join().unwrap(), expected);
    });
}

/// A slow receiver is told how much it has missed, and others miss nothing.
#[test]
fn the_slow_miss_the_oldest() {
    let (sender, mut slow) = broadcast(4);
    let mut quick = sender.subscribe();
    for value in 0..10 {
        sender.send(value).unwrap();
        assert_eq!(quick.try_recv(), Ok(whole(value)));
    }
    assert_eq!((sender.len(), slow.len(), quick.len()), (4, 4, 0));
    let late = sender.subscribe();
    assert!(late.is_empty());
    let gap = Received {
        value: 6,
        missed: 6,
    };
    assert_eq!(slow.recv(), Ok(gap));
    let mut same = slow.clone();
    assert_eq!(same.recv(), Ok(whole(7)));
    assert_eq!(slow.recv(), Ok(whole(7)));
    drop(sender);
    assert!(slow.is_closed());
    assert_eq!(slow.recv(), Ok(whole(8)));
    assert_eq!(slow.recv(), Ok(whole(9)));
    assert_eq!(slow.recv(), Err(RecvError));
    assert_eq!(quick.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(same.len(), 2);
}

/// Values are dropped when the last receiver has had them, is gone, or they are overwritten.
#[test]
fn values_are_kept_no_longer_than_they_are_wanted() {
    let drops = Drops::new();
    let (sender, mut receiver) = broadcast(2);
    let other = sender.subscribe();
    let send = || sender.send(Arc::new(drops.value())).unwrap();
    (0..3).for_each(|_| assert_eq!(send(), 2));
    assert_eq!(drops.count(), 1, "overwritten");
    assert_eq!(receiver.recv().unwrap().missed, 1);
    assert_eq!((drops.count(), sender.len()), (1, 2), "the other wants it");
    drop(other);
    assert_eq!((drops.count(), sender.len()), (2, 1));
    drop(receiver.recv().unwrap());
    assert_eq!((drops.count(), sender.is_empty()), (3, true));
    send();
    drop(receiver);
    assert_eq!(drops.count(), 4);
    let unsent = sender.send(Arc::new(drops.value()));
    assert!(unsent.is_err());
    drop(unsent);
    assert_eq!(drops.count(), 5);
}

#[test]
fn receivers_give_up() {
    for_each_cluster(|_| {
        let (sender, mut receiver) = broadcast::<u32>(1);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        let timed_out = Err(RecvTimeoutError::TimedOut);
        assert_eq!(receiver.recv_timeout(Duration::from_millis(2)), timed_out);
        assert_eq!(receiver.recv_within(Instant::now()), timed_out);
        let cancelled = fibre::spawn(move || {
            let end = receiver.recv_within(Limit::Cancellation);
            (end, receiver)
        });
        let_others_block();
        cancelled.cancel();
        let (end, mut receiver) = cancelled.join().unwrap();
        assert_eq!(end, Err(RecvTimeoutError::Cancelled));
        sender.send(1).unwrap();
        assert_eq!(receiver.recv(), Ok(whole(1)));
    });
}

/// Senders and receivers that come, go, give up and fall behind: each receiver has each value from
/// its place on once, or is told that it has missed it.
#[test]
fn nothing_is_lost_in_a_crowd() {
    for_clusters(&[1, 2, 4], |cluster: &Cluster| {
        watched(|| {
            let (sender, keeper) = broadcast::<u64>(8);
            let total = Arc::new(AtomicU64::new(0));
            let receivers: Vec<_> = (0..6)
                .map(|number| {
                    let (mut receiver, total) = (keeper.clone(), Arc::clone(&total));
                    cluster.spawn(move || {
                        let mut random = Random::new(number);
                        loop {
                            let limit = Duration::from_micros(random.below(50) as u64);
                            match receiver.recv_timeout(limit) {
                                Ok(received) => {
                                    total.fetch_add(1 + received.missed, Ordering::Relaxed);
                                }
                                Err(RecvTimeoutError::Closed) => return,
                                Err(_) => fibre::yield_now(),
                            }
                            if random.below(100) == 0 {
                                // The copy goes on where this one was.
                                receiver = receiver.clone();
                            }
                        }
                    })
                })
                .collect();
            drop(keeper);
            let senders: Vec<_> = (0..3)
                .map(|_| {
                    let sender = sender.clone();
                    cluster.spawn(move || {
                        for value in 0..2000 {
                            assert!(sender.send(value).unwrap() >= 6);
                            if value % 16 == 0 {
                                fibre::yield_now();
                            }
                        }
                    })
                })
                .collect();
            senders.into_iter().for_each(|it| it.join().unwrap());
            drop(sender);
            receivers.into_iter().for_each(|it| it.join().unwrap());
            assert_eq!(total.load(Ordering::Relaxed), 6 * 3 * 2000);
        });
    });
}
