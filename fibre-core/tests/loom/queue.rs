//! Models of the queues with one consumer and with several, for each kind.
//!
//! Run by `cargo xtask loom`. Each property has a twin with a planted bug, which the
//! model must find.

use fibre_core::internal::queue::{BasicQueue, Link, Popped, Pushed, QueueKind, Runnable};
use fibre_core::model::{self, finds_bug, finds_planted};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;

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
fn node(payload: u32) -> Runnable {
    let node = Box::leak(Box::new(Node {
        link: Link::new(),
        payload: UnsafeCell::new(0),
    }));
    // Written after the allocation, so that reading it races unless handed over.
    // SAFETY: nobody else has it yet.
    node.payload.with_mut(|place| unsafe { *place = payload });
    // SAFETY: a new node, which stays.
    unsafe { Runnable::new(NonNull::from(node).cast()) }
}

/// The payload of a node that is ours.
fn payload(node: &Runnable) -> u32 {
    // SAFETY: made by `node`; popped, so ours.
    unsafe { node.node().cast::<Node>().as_ref() }
        .payload
        .with(|place| unsafe { *place })
}

/// The kinds that break if two consumers pop at the same time.
const LOCK_FREE: [QueueKind; 2] = [QueueKind::Nemesis, QueueKind::Stub];

/// Checks a model for all kinds.
fn check_all(model: fn(QueueKind)) {
    for kind in QueueKind::ALL {
        model::check(move || model(kind));
    }
}

/// Checks that a model with a bug fails for each of `kinds`.
fn finds_bug_in_each(kinds: &[QueueKind], model: fn(QueueKind)) {
    for &kind in kinds {
        finds_bug(move || model(kind));
    }
}

/// Pops until `count` nodes have come.
fn pop_all(queue: &BasicQueue, count: usize) -> Vec<u32> {
    let mut popped = Vec::new();
    while popped.len() < count {
        // SAFETY: the only consumer.
        match unsafe { queue.pop_alone() } {
            Popped::Node(node) => popped.push(payload(&node)),
            Popped::Empty | Popped::InFlight => thread::yield_now(),
        }
    }
    popped
}

/// Two producers and a consumer: nothing is lost or doubled, and each producer's
/// nodes keep their order.
#[test]
fn nothing_is_lost_and_order_is_kept() {
    check_all(|kind| {
        let queue = Arc::new(BasicQueue::new(kind));
        let producers: Vec<_> = [[1, 2], [11, 12]]
            .into_iter()
            .map(|payloads| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    for payload in payloads {
                        assert_eq!(queue.push(node(payload)), Pushed::Quiet);
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

/// How a consumer goes to sleep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleep {
    /// By the mark in the queue.
    Armed,
    /// By a look at the queue, and then the mark, whatever the look's answer is worth by
    /// then.
    Checked,
    /// By the mark, but the producer does not heed it.
    Unheeded,
}

/// A consumer that goes to sleep and a producer: either it does not sleep, or the
/// producer is told to wake.
fn sleep_and_push(kind: QueueKind, sleep: Sleep) {
    let queue = Arc::new(BasicQueue::new(kind));
    let producer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let pushed = queue.push(node(7));
            pushed == Pushed::WakeConsumer && sleep != Sleep::Unheeded
        })
    };
    let asleep = if sleep == Sleep::Checked {
        let empty = queue.is_empty();
        let _ = queue.arm();
        empty
    } else {
        queue.arm()
    };
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
    check_all(|kind| sleep_and_push(kind, Sleep::Armed));
}

/// Planted: the producer ignores [`Pushed::WakeConsumer`]. The consumer sleeps for ever.
#[test]
fn planted_ignored_wake_is_found() {
    finds_bug_in_each(&QueueKind::ALL, |kind| {
        sleep_and_push(kind, Sleep::Unheeded)
    });
}

/// Planted: the consumer trusts a look at the queue more than the answer of `arm`.
#[test]
fn planted_check_then_sleep_is_found() {
    finds_bug_in_each(&QueueKind::ALL, |kind| sleep_and_push(kind, Sleep::Checked));
}

/// Two producers and an armed consumer: one of them is told, not both.
#[test]
fn one_of_two_producers_wakes() {
    check_all(|kind| {
        let queue = Arc::new(BasicQueue::new(kind));
        assert!(queue.arm());
        let push = |queue: &BasicQueue, payload| {
            let pushed = queue.push(node(payload));
            usize::from(pushed == Pushed::WakeConsumer)
        };
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || push(&queue, 1))
        };
        let told = push(&queue, 2);
        assert_eq!(told + other.join().unwrap(), 1);
        queue.disarm();
        let mut popped = pop_all(&queue, 2);
        popped.sort_unstable();
        assert_eq!(popped, [1, 2]);
    });
}

/// A thief takes the last node, a producer brings another one, and the owner goes to
/// sleep, or believes the emptiness that it saw (planted): what is left has a waker.
fn sleep_beside_a_thief(kind: QueueKind, planted: bool) {
    let queue = Arc::new(BasicQueue::new(kind));
    let _ = queue.push(node(1));
    let thief = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || matches!(queue.pop(), Popped::Node(_)))
    };
    let producer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.push(node(2)) == Pushed::WakeConsumer)
    };
    let asleep = if planted {
        queue.is_empty()
    } else {
        queue.arm()
    };
    let stolen = thief.join().unwrap();
    let woken = producer.join().unwrap();
    queue.disarm();
    let left = 2 - usize::from(stolen);
    assert!(
        !asleep || woken || left == 0,
        "it sleeps, and nobody wakes it"
    );
    for _ in 0..left {
        assert!(matches!(queue.pop(), Popped::Node(_)), "a node was lost");
    }
    assert!(matches!(queue.pop(), Popped::Empty));
}

/// A thief's half-done pop does not make the owner sleep over a push.
#[test]
fn the_owner_sleeps_beside_a_thief() {
    check_all(|kind| sleep_beside_a_thief(kind, false));
}

/// Planted: the owner looks instead of arming.
#[test]
fn planted_look_beside_a_thief_is_found() {
    finds_bug_in_each(&QueueKind::ALL, |kind| sleep_beside_a_thief(kind, true));
}

/// Owner and thief at one queue with two nodes, by `pop`.
fn two_consumers<Q: Send + Sync + 'static>(
    queue: Q,
    push: fn(&Q, Runnable),
    pop: fn(&Q) -> Popped,
) {
    let queue = Arc::new(queue);
    for payload in [1, 2] {
        push(&queue, node(payload));
    }
    let take = move |queue: &Q| match pop(queue) {
        Popped::Node(node) => {
            // Each owner writes to what it took: two owners are a race.
            // SAFETY: popped, so ours.
            unsafe { node.node().cast::<Node>().as_ref() }
                .payload
                .with_mut(|place| unsafe { *place += 100 });
            Some(node)
        }
        Popped::Empty | Popped::InFlight => None,
    };
    let thief = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || take(&queue))
    };
    let owned = take(&queue);
    let stolen = thief.join().unwrap();
    if let (Some(owned), Some(stolen)) = (owned, stolen) {
        assert_ne!(owned.node(), stolen.node(), "one node was taken twice");
    }
}

/// Owner and thief never take the same node.
#[test]
fn consumers_take_turns() {
    check_all(|kind| {
        let push = |queue: &BasicQueue, node| {
            let _ = queue.push(node);
        };
        two_consumers(BasicQueue::new(kind), push, BasicQueue::pop);
    });
}

/// Planted: two consumers without the lock. (The locked queue has one of its own.)
#[test]
fn planted_second_consumer_is_found() {
    finds_bug_in_each(&LOCK_FREE, |kind| {
        let push = |queue: &BasicQueue, node| {
            let _ = queue.push(node);
        };
        // SAFETY: this breaks the contract of `pop` on purpose.
        two_consumers(BasicQueue::new(kind), push, |queue| unsafe {
            queue.pop_alone()
        });
    });
}

/// A thief that takes at the tail takes turns with the owner, too.
#[test]
fn consumers_at_both_ends_take_turns() {
    let push = |queue: &BasicQueue, node| {
        let _ = queue.push_first(node);
    };
    model::check(move || {
        two_consumers(
            BasicQueue::new(QueueKind::TwoEnded),
            push,
            BasicQueue::steal,
        );
    });
}

/// Takes the node at the head of a two-ended queue.
fn pop_first(queue: &BasicQueue) -> Popped {
    // SAFETY: this kind has a lock of its own, so there may be several consumers.
    unsafe { queue.pop_alone() }
}

/// Takes the node at the tail of a two-ended queue.
fn pop_last(queue: &BasicQueue) -> Popped {
    // SAFETY: as above.
    unsafe { queue.pop_last_alone() }
}

/// Takes what is left, and returns all payloads in order.
fn drain(queue: &BasicQueue, taken: impl IntoIterator<Item = Popped>) -> Vec<u32> {
    let rest = std::iter::from_fn(|| pop_first(queue).node());
    let taken = taken.into_iter().filter_map(Popped::node);
    let mut all: Vec<u32> = taken.chain(rest).map(|node| payload(&node)).collect();
    all.sort_unstable();
    all
}

/// The owner puts a node at the head and takes one from there, a thief takes one at the tail, and
/// perhaps a producer brings one there; at first there is one.
fn both_ends(produces: bool) {
    let queue = Arc::new(BasicQueue::new(QueueKind::TwoEnded));
    let _ = queue.push(node(1));
    let thief = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || pop_last(&queue))
    };
    let producer = produces.then(|| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || assert_eq!(queue.push(node(3)), Pushed::Quiet))
    });
    assert_eq!(queue.push_first(node(2)), Pushed::Quiet);
    let owned = pop_first(&queue);
    if let Some(producer) = producer {
        producer.join().unwrap();
    }
    let stolen = thief.join().unwrap();
    let all = drain(&queue, [owned, stolen]);
    assert_eq!(all, if produces { vec![1, 2, 3] } else { vec![1, 2] });
    assert!(queue.is_empty());
}

/// Nothing is lost or doubled, whoever comes to whichever end.
#[test]
fn both_ends_at_once() {
    model::check(|| both_ends(false));
    model::check(|| both_ends(true));
}

/// Planted: a push at the head trusts what it saw there before it had the lock. The node there may
/// have been stolen meanwhile.
#[test]
fn planted_early_look_at_the_head_is_found() {
    finds_planted(
        "two-ended: a push at the head looks before it has the lock",
        || both_ends(false),
    );
}

/// A thief takes the only node of an owner that goes to sleep: what it sleeps over is not there,
/// and a push at the head wakes it.
fn sleep_after_a_theft() {
    let queue = Arc::new(BasicQueue::new(QueueKind::TwoEnded));
    let _ = queue.push_first(node(1));
    let thief = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || pop_last(&queue))
    };
    let asleep = queue.arm();
    let stolen = matches!(thief.join().unwrap(), Popped::Node(_));
    assert!(stolen, "nobody else has the lock");
    assert!(asleep || queue.arm(), "it cannot sleep");
    assert_eq!(queue.push_first(node(2)), Pushed::WakeConsumer);
    assert_eq!(drain(&queue, []), [2]);
}

/// The mark of a sleeping consumer is where it is in the other kinds.
#[test]
fn the_owner_sleeps_after_a_theft() {
    model::check(sleep_after_a_theft);
}

/// Planted: the last node is taken, and the entry still names it.
#[test]
fn planted_entry_of_a_stolen_node_is_found() {
    finds_planted(
        "two-ended: the last node stays in the entry",
        sleep_after_a_theft,
    );
}

/// Pushes at both ends and an armed consumer: one of them is told.
#[test]
fn a_push_at_one_end_wakes() {
    model::check(|| {
        let queue = Arc::new(BasicQueue::new(QueueKind::TwoEnded));
        assert!(queue.arm());
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.push(node(1)) == Pushed::WakeConsumer)
        };
        let told = queue.push_first(node(2)) == Pushed::WakeConsumer;
        assert_ne!(told, other.join().unwrap());
        queue.disarm();
        assert_eq!(drain(&queue, []), [1, 2]);
    });
}
