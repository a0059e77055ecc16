//! Models of the Nemesis queue and of its stealable form.
//!
//! Run by `cargo xtask loom`. Each property has a twin with a planted bug, which the
//! model must find.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

mod support;

use fibre_core::queue::{Link, Nemesis, Popped, Pushed, StealQueue};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use support::finds_bug;

/// A node with a payload that loom watches for races.
#[repr(C)]
struct Node {
    link: Link,
    payload: UnsafeCell<u32>,
}

// SAFETY: the queue hands nodes from thread to thread; loom checks that it does.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

/// A node that lives until the end of the process.
fn node(payload: u32) -> NonNull<Link> {
    let node = Box::leak(Box::new(Node {
        link: Link::new(),
        payload: UnsafeCell::new(0),
    }));
    // Written after the allocation, so that reading it races unless handed over.
    // SAFETY: nobody else has it yet.
    node.payload.with_mut(|place| unsafe { *place = payload });
    NonNull::from(node).cast()
}

/// The payload of a node that is ours.
fn payload(node: NonNull<Link>) -> u32 {
    // SAFETY: made by `node`; popped, so ours.
    unsafe { node.cast::<Node>().as_ref() }
        .payload
        .with(|place| unsafe { *place })
}

/// A pointer that may cross threads in a model.
struct Sent(NonNull<Link>);
// SAFETY: it is pushed, which is what pointers to nodes are for.
unsafe impl Send for Sent {}

/// Pops until `count` nodes have come.
fn pop_all(queue: &Nemesis, count: usize) -> Vec<u32> {
    let mut popped = Vec::new();
    while popped.len() < count {
        // SAFETY: the only consumer.
        match unsafe { queue.pop() } {
            Popped::Node(node) => popped.push(payload(node)),
            Popped::Empty | Popped::InFlight => thread::yield_now(),
        }
    }
    popped
}

/// Two producers and a consumer: nothing is lost or doubled, and each producer's
/// nodes keep their order.
#[test]
fn nothing_is_lost_and_order_is_kept() {
    support::check(|| {
        let queue = Arc::new(Nemesis::new());
        let producers: Vec<_> = [[1, 2], [11, 12]]
            .into_iter()
            .map(|payloads| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    for payload in payloads {
                        // SAFETY: a new node.
                        assert_eq!(unsafe { queue.push(node(payload)) }, Pushed::Quiet);
                    }
                })
            })
            .collect();
        let popped = pop_all(&queue, 4);
        producers
            .into_iter()
            .for_each(|producer| producer.join().unwrap());
        let of = |low: u32| {
            popped
                .iter()
                .copied()
                .filter(|p| p / 10 == low)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(0), [1, 2]);
        assert_eq!(of(1), [11, 12]);
        assert!(queue.is_empty());
    });
}

/// A consumer that arms itself and a producer: either arming fails, or the producer
/// is told to wake.
fn arm_and_push(respect_the_answer: bool) {
    let queue = Arc::new(Nemesis::new());
    let producer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            // SAFETY: a new node.
            let pushed = unsafe { queue.push(node(7)) };
            pushed == Pushed::WakeConsumer && respect_the_answer
        })
    };
    let asleep = queue.arm();
    let woken = producer.join().unwrap();
    assert_eq!(
        asleep, woken,
        "asleep without a waker, or woken without sleep"
    );
    queue.disarm();
    assert_eq!(pop_all(&queue, 1), [7]);
}

/// A sleeping consumer is always woken.
#[test]
fn a_push_wakes_the_armed_consumer() {
    support::check(|| arm_and_push(true));
}

/// Planted: the producer ignores [`Pushed::WakeConsumer`]. The consumer sleeps for ever.
#[test]
fn planted_ignored_wake_is_found() {
    finds_bug(|| arm_and_push(false));
}

/// Two consumers of one queue with a node, with or without the consumer lock.
fn two_consumers(pop: fn(&StealQueue, &Nemesis) -> Popped) {
    let queues = Arc::new((StealQueue::new(), Nemesis::new()));
    for payload in [1, 2] {
        // SAFETY: new nodes.
        unsafe {
            let _ = queues.0.push(node(payload));
            let _ = queues.1.push(node(payload));
        }
    }
    let take = move |queues: &(StealQueue, Nemesis)| match pop(&queues.0, &queues.1) {
        Popped::Node(node) => {
            // Each owner writes to what it took: two owners are a race.
            // SAFETY: popped, so ours.
            unsafe { node.cast::<Node>().as_ref() }
                .payload
                .with_mut(|place| unsafe { *place += 100 });
            Some(Sent(node))
        }
        Popped::Empty | Popped::InFlight => None,
    };
    let thief = {
        let queues = Arc::clone(&queues);
        thread::spawn(move || take(&queues))
    };
    let owned = take(&queues);
    let stolen = thief.join().unwrap();
    if let (Some(owned), Some(stolen)) = (owned, stolen) {
        assert_ne!(owned.0, stolen.0, "one node was taken twice");
    }
}

/// Owner and thief never take the same node.
#[test]
fn consumers_take_turns() {
    support::check(|| two_consumers(|stealable, _| stealable.pop()));
}

/// Planted: two consumers without the lock.
#[test]
fn planted_second_consumer_is_found() {
    // SAFETY: this breaks the contract of `pop` on purpose.
    finds_bug(|| two_consumers(|_, plain| unsafe { plain.pop() }));
}
