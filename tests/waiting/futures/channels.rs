//! Channels whose ends are awaited.

use super::Polled;
use crate::support::{Drops, Random, for_each_cluster};
use fibre::block_on;
use fibre::channel::{
    Receiver, RecvError, SendError, Sender, bounded, oneshot, rendezvous, unbounded,
};
use fibre::select;
use fibre::sync::Mutex;
use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// Tasks, fibres and threads stand in one line.
#[test]
fn all_stand_in_one_line() {
    for_each_cluster(|_| {
        let (sender, receiver) = rendezvous();
        let mut first = Polled::new(receiver.recv_async());
        assert!(first.poll().is_pending());
        let other = receiver.clone();
        let second = crate::support::spawn_in_turn(move || other.recv());
        let mut third = Polled::new(receiver.recv_async());
        assert!(third.poll().is_pending());
        for number in 1..=3 {
            assert_eq!(sender.send(number), Ok(()));
        }
        assert_eq!(first.poll(), Poll::Ready(Ok(1)));
        assert_eq!(second.join().unwrap(), Ok(2));
        assert_eq!(third.poll(), Poll::Ready(Ok(3)));
        assert_eq!((first.1.count(), third.1.count()), (1, 1));
    });
}

/// A receiver that has been handed a value and is dropped passes it on, in order.
#[test]
fn dropped_receivers_lose_nothing() {
    for_each_cluster(|_| {
        for capacity in [0, 1, 5, usize::MAX] {
            let (sender, receiver) = bounded(capacity);
            let mut dropped = [(); 3].map(|()| Polled::new(receiver.recv_async()));
            assert!(dropped.iter_mut().all(|future| future.poll().is_pending()));
            (1..=3).for_each(|number| sender.try_send(number).unwrap());
            let [first, second, third] = dropped;
            // The last one first, so that each goes before those that came later.
            drop(third);
            drop(second);
            assert_eq!(receiver.len(), 2);
            let mut next = Polled::new(receiver.recv_async());
            assert_eq!(next.poll(), Poll::Ready(Ok(2)));
            let other = receiver.clone();
            let waiting = fibre::spawn(move || [other.recv(), other.recv()]);
            crate::support::let_others_block();
            drop(first);
            assert_eq!(waiting.join().unwrap(), [Ok(3), Ok(1)]);
            // The channel is as good as new.
            let more = fibre::spawn(move || (4..20).for_each(|it| sender.send(it).unwrap()));
            assert!(receiver.iter().eq(4..20));
            more.join().unwrap();
        }
    });
}

/// A value that comes back to a full channel takes no room: senders that wait are served as ever.
#[test]
fn a_value_that_comes_back_takes_no_room() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(2);
        let mut dropped = Polled::new(receiver.recv_async());
        assert!(dropped.poll().is_pending());
        (0..3).for_each(|number| sender.try_send(number).unwrap());
        let mut waiting = [3, 4].map(|number| Polled::new(sender.send_async(number)));
        assert!(waiting.iter_mut().all(|future| future.poll().is_pending()));
        drop(dropped);
        assert_eq!((receiver.len(), sender.is_full()), (3, true));
        assert_eq!(receiver.try_recv(), Ok(0));
        assert!(waiting[0].poll().is_pending());
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(waiting[0].poll(), Poll::Ready(Ok(())));
        assert!(waiting[1].poll().is_pending());
        let rest = [(); 3].map(|()| receiver.recv());
        assert_eq!(rest, [Ok(2), Ok(3), Ok(4)]);
        assert_eq!(waiting[1].poll(), Poll::Ready(Ok(())));
    });
}

/// A sender that is dropped leaves the line with its value; one that has sent leaves that.
#[test]
fn dropped_senders_take_their_values_along() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let (sender, receiver) = rendezvous();
        let mut senders = [(); 3].map(|()| Polled::new(sender.send_async(drops.value())));
        assert!(senders.iter_mut().all(|future| future.poll().is_pending()));
        let [first, second, third] = senders;
        drop(second);
        assert_eq!(drops.count(), 1);
        drop(receiver.try_recv().unwrap());
        assert_eq!(drops.count(), 2);
        drop(first);
        drop(receiver.recv().unwrap());
        drop(third);
        assert_eq!(drops.count(), 3);
        assert!(receiver.try_recv().is_err());
    });
}

/// Closing ends what waits, and gives values back.
#[test]
fn closing_wakes_tasks() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        let mut sending = Polled::new(sender.send_async(2));
        assert!(sending.poll().is_pending());
        receiver.close();
        assert_eq!(sending.poll(), Poll::Ready(Err(SendError(2))));
        assert_eq!(block_on(receiver.recv_async()), Ok(1));
        assert_eq!(block_on(receiver.recv_async()), Err(RecvError));
        assert_eq!(block_on(sender.send_async(3)), Err(SendError(3)));
        let (sender, receiver) = unbounded::<u32>();
        let mut receiving = Polled::new(receiver.recv_async());
        assert!(receiving.poll().is_pending());
        drop(sender);
        assert_eq!(receiving.poll(), Poll::Ready(Err(RecvError)));
        let (sender, receiver) = oneshot();
        sender.send("once").unwrap();
        assert_eq!(block_on(receiver.recv_async()), Ok("once"));
        assert_eq!(block_on(receiver.recv_async()), Err(RecvError));
    });
}

/// A task that waits for a value that never comes is ended by a time-out around it.
#[test]
fn a_timeout_ends_a_task() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded::<u32>(1);
        let ended = fibre::timeout(Duration::from_millis(2), || block_on(receiver.recv_async()));
        assert!(ended.is_err());
        sender.send(1).unwrap();
        assert_eq!(receiver.try_recv(), Ok(1));
    });
}

/// Tasks, fibres, threads and selections send and receive; some futures are dropped after some
/// polls. All that was sent is received once.
#[test]
fn a_crowd_at_both_ends() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        for capacity in [0, 1, 3, 100, usize::MAX] {
            crowd(&mut Random::new(seed ^ capacity as u64), capacity);
        }
    });
}

/// A value whose sender may have been dropped: nobody knows whether it was sent.
const UNSURE: u64 = 1 << 32;

/// What has come of a crowd's values.
#[derive(Default)]
struct Ledger {
    /// The sum of those that were sent for sure.
    sent: AtomicU64,
    /// The sum of those of them that were received.
    received: AtomicU64,
    /// The values that were received though their senders were dropped perhaps.
    unsure: Mutex<HashSet<u64>>,
}

impl Ledger {
    /// Counts a received value.
    fn receive(&self, value: u64) {
        if value < UNSURE {
            self.received.fetch_add(value, Ordering::Relaxed);
        } else {
            assert!(self.unsure.lock().insert(value), "received twice");
        }
    }
}

/// Polls a future now and then, and drops it.
fn poll_and_drop<F: Future>(future: F, random: &mut Random) -> Option<F::Output> {
    let mut future = Polled::new(future);
    (0..random.below(3)).find_map(|_| match future.poll() {
        Poll::Ready(output) => Some(output),
        Poll::Pending => {
            fibre::yield_now();
            None
        }
    })
}

/// Sends so many values, some of which get lost with their futures.
fn send_all(me: u64, sender: &Sender<u64>, ledger: &Ledger, mut random: Random) {
    let (_keeps_open, silent) = unbounded::<u64>();
    for value in 1..=100 {
        let sent = match random.below(5) {
            0 => sender.send(value).is_ok(),
            4 => select! {
                send(sender, value) -> sent => sent.is_ok(),
                recv(silent) -> _ => unreachable!("nobody sends"),
            },
            1 => {
                let unsure = UNSURE * (me + 1) + value;
                let _ = poll_and_drop(sender.send_async(unsure), &mut random);
                continue;
            }
            _ => block_on(sender.send_async(value)).is_ok(),
        };
        assert!(sent);
        ledger.sent.fetch_add(value, Ordering::Relaxed);
    }
}

/// Receives until the channel is closed and empty.
fn receive_all(receiver: &Receiver<u64>, ledger: &Ledger, mut random: Random) {
    let (_keeps_open, silent) = unbounded::<u64>();
    loop {
        let received = match random.below(4) {
            0 => Some(receiver.recv()),
            3 => select! {
                recv(receiver) -> received => Some(received),
                recv(silent) -> _ => unreachable!("nobody sends"),
            },
            1 => poll_and_drop(receiver.recv_async(), &mut random),
            _ => Some(block_on(receiver.recv_async())),
        };
        match received {
            Some(Ok(value)) => ledger.receive(value),
            Some(Err(RecvError)) => return,
            None => {}
        }
    }
}

/// See [`a_crowd_at_both_ends`].
fn crowd(random: &mut Random, capacity: usize) {
    let (sender, receiver) = bounded(capacity);
    let ledger = Arc::new(Ledger::default());
    let sends = |me: u64, random: Random| {
        let (sender, ledger) = (sender.clone(), Arc::clone(&ledger));
        move || send_all(me, &sender, &ledger, random)
    };
    let receives = |random: Random| {
        let (receiver, ledger) = (receiver.clone(), Arc::clone(&ledger));
        move || receive_all(&receiver, &ledger, random)
    };
    let sending: Vec<_> = (0..4)
        .map(|me| fibre::spawn(sends(me, random.split())))
        .collect();
    let thread = thread::spawn(sends(4, random.split()));
    let receiving: Vec<_> = (0..4)
        .map(|_| fibre::spawn(receives(random.split())))
        .collect();
    let other = thread::spawn(receives(random.split()));
    drop(sender);
    let all = sending.into_iter().chain(receiving);
    all.for_each(|fibre| fibre.join().unwrap());
    thread.join().unwrap();
    other.join().unwrap();
    // What a dropped future has given back when the others had seen the end.
    receiver.try_iter().for_each(|value| ledger.receive(value));
    let sums = [&ledger.sent, &ledger.received].map(|sum| sum.load(Ordering::Relaxed));
    assert_eq!(sums[0], sums[1], "capacity {capacity}");
}
