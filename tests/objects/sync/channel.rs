//! Channels: order, room, closing, and that each value is dropped once.

use crate::support::drops::OnDrop;
use crate::support::{
    Drops, for_clusters, for_each_cluster, let_others_block, spawn_in_turn, text_of,
};
use fibre::channel::{
    RecvError, SendError, TryRecvError, TrySendError, bounded, oneshot, rendezvous, unbounded,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Capacities that differ in kind: none, one, few, any.
const CAPACITIES: [usize; 4] = [0, 1, 7, usize::MAX];

/// From one to one, values come in the order in which they were sent.
#[test]
fn values_come_in_order() {
    for_each_cluster(|_| {
        for capacity in CAPACITIES {
            let (sender, receiver) = bounded(capacity);
            let producer = fibre::spawn(move || (0..1000).for_each(|i| sender.send(i).unwrap()));
            assert!(receiver.iter().eq(0..1000), "capacity {capacity}");
            producer.join().unwrap();
        }
    });
}

/// Of each of many senders, fibres and threads, all values come, and in order, to receivers
/// of both kinds.
#[test]
fn many_send_to_many() {
    const VALUES: usize = 300;
    for_each_cluster(|_| {
        for capacity in CAPACITIES {
            let (sender, receiver) = bounded(capacity);
            let receive = |receiver: fibre::channel::Receiver<(usize, usize)>| {
                move || receiver.iter().collect::<Vec<_>>()
            };
            let fibres: Vec<_> = (0..2)
                .map(|_| fibre::spawn(receive(receiver.clone())))
                .collect();
            let thread = thread::spawn(receive(receiver));
            super::crowd(3, 2, move |me| {
                let sender = sender.clone();
                (0..VALUES).for_each(|i| sender.send((me, i)).unwrap());
            });
            let mut seen = fibre::blocking(|| thread.join()).unwrap();
            let mut all = vec![std::mem::take(&mut seen)];
            all.extend(fibres.into_iter().map(|fibre| fibre.join().unwrap()));
            assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 5 * VALUES);
            let mut sum = [0; 5];
            for values in all {
                let mut last = [None; 5];
                for (from, i) in values {
                    assert!(last[from] < Some(i), "overtaken");
                    last[from] = Some(i);
                    sum[from] += i;
                }
            }
            assert_eq!(sum, [VALUES * (VALUES - 1) / 2; 5]);
        }
    });
}

/// A channel holds as many values as it was made for, and says so.
#[test]
fn capacity_is_kept() {
    let (sender, receiver) = bounded(3);
    assert_eq!((sender.capacity(), receiver.capacity()), (Some(3), Some(3)));
    for i in 0..3 {
        assert_eq!((sender.len(), sender.is_full()), (i, false));
        sender.send(i).unwrap();
    }
    assert!(sender.is_full() && receiver.is_full() && !receiver.is_empty());
    assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
    assert!(receiver.try_iter().eq(0..3));
    assert!(sender.is_empty() && receiver.is_empty() && !receiver.is_full());
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));

    assert_eq!(unbounded::<u8>().0.capacity(), None);
    let (sender, _receiver) = rendezvous::<u8>();
    assert!(sender.is_full() && sender.is_empty());
    assert_eq!(sender.capacity(), Some(0));
}

/// An unbounded channel never is full, grows, and keeps the order.
#[test]
fn an_unbounded_channel_holds_everything() {
    let (sender, receiver) = unbounded();
    for i in 0..100_000 {
        sender.try_send(i).unwrap();
    }
    assert_eq!(receiver.len(), 100_000);
    drop(sender);
    assert!(receiver.into_iter().eq(0..100_000));
}

/// In a rendezvous channel, sending ends when the value has been received.
#[test]
fn a_rendezvous_is_one() {
    for_each_cluster(|_| {
        let (sender, receiver) = rendezvous();
        let received = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&received);
        let producer = fibre::spawn(move || {
            for i in 0..200 {
                sender.send(()).unwrap();
                // A receiver counts before it receives again.
                assert!(seen.load(Ordering::SeqCst) + 1 >= i);
            }
        });
        while receiver.recv().is_ok() {
            received.fetch_add(1, Ordering::SeqCst);
        }
        producer.join().unwrap();
        assert_eq!(received.load(Ordering::SeqCst), 200);
    });
}

/// Those who wait to send, and to receive, are served in the order in which they came.
#[test]
fn waiters_are_served_in_turn() {
    for_clusters(&[1], |_| {
        for capacity in [0, 2] {
            let (sender, receiver) = bounded(capacity);
            let senders: Vec<_> = (0..10)
                .map(|i| {
                    let sender = sender.clone();
                    spawn_in_turn(move || sender.send(i).unwrap())
                })
                .collect();
            assert!((0..10).all(|i| receiver.try_recv() == Ok(i)));
            senders.into_iter().for_each(|one| one.join().unwrap());

            let receivers: Vec<_> = (0..10)
                .map(|i| {
                    let receiver = receiver.clone();
                    spawn_in_turn(move || assert_eq!(receiver.recv(), Ok(i)))
                })
                .collect();
            (0..10).for_each(|i| sender.try_send(i).unwrap());
            receivers.into_iter().for_each(|one| one.join().unwrap());
        }
    });
}

/// When the last sender goes, receivers get what is there, and then an error.
#[test]
fn what_is_there_is_received_after_the_senders_have_gone() {
    let (sender, receiver) = bounded(4);
    let other = sender.clone();
    sender.send(1).unwrap();
    drop(sender);
    assert!(!receiver.is_closed());
    other.send(2).unwrap();
    drop(other);
    assert!(receiver.is_closed());
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(receiver.recv(), Err(RecvError));
}

/// When the last receiver goes, senders get their values back.
#[test]
fn nobody_sends_where_nobody_receives() {
    for capacity in CAPACITIES {
        let (sender, receiver) = bounded(capacity);
        drop(receiver.clone());
        assert!(!sender.is_closed());
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.send(1), Err(SendError(1)));
        assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
    }
}

/// An explicit close lets nothing more in, and what is there out.
#[test]
fn a_closed_channel_is_drained() {
    let (sender, receiver) = unbounded();
    sender.send(1).unwrap();
    assert!(sender.close());
    assert!(!receiver.close(), "closed twice");
    assert_eq!(sender.send(2).unwrap_err().into_inner(), 2);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
}

/// Each value is dropped once: received, refused, or left in the channel.
#[test]
fn each_value_is_dropped_once() {
    for capacity in [1, 50, usize::MAX] {
        let drops = Drops::new();
        let (sender, receiver) = bounded(capacity);
        let sent = (0..40)
            .filter(|_| sender.try_send(drops.value()).is_ok())
            .count();
        assert_eq!(sent, capacity.min(40));
        assert_eq!(drops.count(), 40 - sent);
        drop(receiver.recv().unwrap());
        assert_eq!(drops.count(), 41 - sent);
        drop(receiver);
        assert_eq!(drops.count(), 40, "who goes last takes them along");
        assert!(sender.send(drops.value()).is_err());
        assert_eq!(drops.count(), 41);
    }
}

/// Values that nobody has received go with the last receiver, even if senders live on, or have
/// gone before.
#[test]
fn values_go_with_the_receivers() {
    let drops = Drops::new();
    let (sender, receiver) = unbounded();
    (0..100).for_each(|_| sender.send(drops.value()).unwrap());
    drop(sender);
    assert_eq!(drops.count(), 0);
    drop(receiver);
    assert_eq!(drops.count(), 100);
}

/// A value whose drop panics takes no other along, and whose drop uses the channel, does so.
#[test]
fn drops_may_panic_and_use_the_channel() {
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = unbounded::<OnDrop<Box<dyn FnMut() + Send>>>();
    for i in 0..20 {
        let (count, own, other) = (Arc::clone(&count), sender.clone(), receiver.clone());
        let counted: Box<dyn FnMut() + Send> = Box::new(move || {
            assert!(own.is_closed() && other.len() < 20);
            count.fetch_add(1, Ordering::SeqCst);
            assert_ne!(i, 3, "the third");
        });
        sender.send(OnDrop(counted)).unwrap();
    }
    sender.close();
    // They keep handles themselves, so one receives them.
    let mut panics = 0;
    while let Ok(value) = receiver.try_recv() {
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(value)));
        if let Err(payload) = dropped {
            assert!(text_of(&*payload).contains("the third"));
            panics += 1;
        }
    }
    assert_eq!((panics, count.load(Ordering::SeqCst)), (1, 20));

    let count = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = unbounded();
    for i in 0..20 {
        let count = Arc::clone(&count);
        let counted = OnDrop(move || {
            count.fetch_add(1, Ordering::SeqCst);
            assert_ne!(i, 3, "the third");
        });
        sender.send(counted).unwrap();
    }
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(receiver)));
    assert!(text_of(&*dropped.unwrap_err()).contains("the third"));
    assert_eq!(count.load(Ordering::SeqCst), 20);
    assert!(sender.is_closed());
}

/// Handles of one channel know each other.
#[test]
fn handles_know_their_channel() {
    let (sender, receiver) = bounded::<u8>(1);
    let (other_sender, other_receiver) = bounded::<u8>(1);
    assert!(sender.same_channel(&sender.clone()) && receiver.same_channel(&receiver.clone()));
    assert!(!sender.same_channel(&other_sender) && !receiver.same_channel(&other_receiver));
    assert!(format!("{sender:?}{receiver:?}").contains("capacity"));
}

/// Values without a size, and large ones.
#[test]
fn values_of_any_size() {
    let (sender, receiver) = bounded(2);
    sender.send(()).unwrap();
    assert_eq!(receiver.recv(), Ok(()));
    let (sender, receiver) = unbounded();
    (0..100_u8).for_each(|i| sender.send([i; 5000]).unwrap());
    assert!((0..100_u8).all(|i| receiver.recv() == Ok([i; 5000])));
}

/// One value, whoever comes first; and an end that goes is noticed.
#[test]
fn one_value_by_a_oneshot() {
    for_each_cluster(|_| {
        let (sender, receiver) = oneshot();
        sender.send(1).unwrap();
        assert_eq!(receiver.recv(), Ok(1));

        let (sender, receiver) = oneshot();
        let waits = fibre::spawn(move || receiver.recv());
        let_others_block();
        sender.send(2).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(2));

        let (sender, receiver) = oneshot::<u8>();
        let waits = fibre::spawn(move || receiver.recv());
        let_others_block();
        drop(sender);
        assert_eq!(waits.join().unwrap(), Err(RecvError));

        let (sender, receiver) = oneshot();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        receiver.close();
        assert!(sender.is_closed());
        assert_eq!(sender.send(3), Err(SendError(3)));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    });
}
