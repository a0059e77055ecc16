//! Threads that push, pop and steal at random, for each kind. All choices follow from the
//! printed seed; `FIBRE_SEED` takes it back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "../../../tests/support/random.rs"]
mod random;

use super::basic::BasicQueue;
use super::link::Link;
use super::runnable::Runnable;
use super::{Popped, Pushed, QueueKind};
use random::Random;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Threads that push.
const PRODUCERS: usize = 3;
/// Threads that steal.
const THIEVES: usize = 2;
/// What each producer pushes.
const NODES: usize = 100_000;
/// How long all may take, or something was lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node that knows where it comes from.
#[repr(C)]
struct Node {
    link: Link,
    producer: usize,
    number: usize,
}

/// What the threads share.
struct Field {
    queue: BasicQueue,
    /// The nodes of each producer, in its order.
    nodes: Vec<Vec<Node>>,
    /// How many have been popped.
    taken: AtomicUsize,
    /// How many pushes have begun.
    begun: AtomicUsize,
    /// How many pushes were told to wake the owner.
    told: AtomicUsize,
    /// Whether both ends of the queue are used; then there is no order.
    both_ends: bool,
    /// When the test fails.
    deadline: Instant,
}

impl Field {
    /// An empty queue, and all nodes outside of it.
    fn new(kind: QueueKind, both_ends: bool) -> Self {
        let of = |producer| {
            let node = |number| Node {
                link: Link::new(),
                producer,
                number,
            };
            (0..NODES).map(node).collect()
        };
        Self {
            queue: BasicQueue::new(kind),
            nodes: (0..PRODUCERS).map(of).collect(),
            taken: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
            both_ends,
            deadline: Instant::now() + PATIENCE,
        }
    }

    /// Whether all has been popped.
    fn is_over(&self) -> bool {
        assert!(
            Instant::now() < self.deadline,
            "a node or a wake-up was lost"
        );
        self.taken.load(Ordering::SeqCst) == PRODUCERS * NODES
    }

    /// Pushes a producer's nodes, in bursts.
    fn produce(&self, producer: usize, owner: &Thread, mut random: Random) {
        for node in &self.nodes[producer] {
            self.begun.fetch_add(1, Ordering::SeqCst);
            // SAFETY: a new node, which lives as long as the queue.
            let runnable = unsafe { Runnable::new(NonNull::from(node).cast()) };
            let pushed = if self.both_ends && random.one_in(3) {
                self.queue.push_first(runnable)
            } else {
                self.queue.push(runnable)
            };
            if pushed == Pushed::WakeConsumer {
                self.told.fetch_add(1, Ordering::SeqCst);
                owner.unpark();
            }
            if random.one_in(32) {
                pause(&mut random, 4, 2000);
            }
        }
    }

    /// Notes a node that has been taken; says whether it is one.
    fn note(&self, taken: Popped, popped: &mut Vec<(usize, usize)>) -> bool {
        let Popped::Node(runnable) = taken else {
            return false;
        };
        // SAFETY: all nodes of this queue are of this type.
        let node = unsafe { runnable.node().cast::<Node>().as_ref() };
        let neighbour = node.link.next(crate::sync::Ordering::Relaxed);
        assert_eq!(neighbour, None, "a node is out, and names a neighbour");
        popped.push((node.producer, node.number));
        self.taken.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Pops now and then, until all is over.
    fn steal(&self, mut random: Random) -> Vec<(usize, usize)> {
        let mut popped = Vec::new();
        while !self.is_over() {
            let taken = if self.both_ends {
                self.queue.steal()
            } else {
                self.queue.pop()
            };
            self.note(taken, &mut popped);
            self.stay_away(&mut random);
        }
        popped
    }

    /// What a thief does between two visits: most of the time little, at times so much
    /// that the owner believes itself alone.
    fn stay_away(&self, random: &mut Random) {
        pause(random, 100, 10);
        if random.one_in(50) {
            let until = self.taken.load(Ordering::SeqCst) + random.below(5000);
            while self.taken.load(Ordering::SeqCst) < until && !self.is_over() {
                thread::yield_now();
            }
        }
    }

    /// Pops all the time; sleeps in the queue when there is nothing.
    fn own(&self, mut random: Random) -> Vec<(usize, usize)> {
        let mut popped = Vec::new();
        let mut sleeps = 0;
        while !self.is_over() {
            // SAFETY: this thread is the owner.
            if self.note(unsafe { self.queue.pop_own() }, &mut popped) {
                pause(&mut random, 1000, 10);
            } else if self.queue.arm() {
                sleeps += 1;
                self.sleep(sleeps);
                self.queue.disarm();
            } else {
                thread::yield_now();
            }
        }
        popped
    }

    /// Sleeps for the so-manieth time: if a push is yet to begin, until one is told.
    fn sleep(&self, sleeps: usize) {
        let more = self.begun.load(Ordering::SeqCst) < PRODUCERS * NODES;
        while more && self.told.load(Ordering::SeqCst) < sleeps {
            let _ = self.is_over();
            thread::park_timeout(Duration::from_millis(10));
        }
        let told = self.told.load(Ordering::SeqCst);
        assert!(told <= sleeps, "a push was told to wake nobody");
    }

    /// Checks that everything was popped once, and in each producer's order.
    fn check(&self, popped: &[Vec<(usize, usize)>]) {
        let mut all: Vec<_> = popped.concat();
        all.sort_unstable();
        let wanted = (0..PRODUCERS).flat_map(|producer| (0..NODES).map(move |n| (producer, n)));
        assert!(all.iter().copied().eq(wanted), "a node was lost or doubled");
        for popped in popped.iter().filter(|_| !self.both_ends) {
            for producer in 0..PRODUCERS {
                let of = popped.iter().filter(|node| node.0 == producer);
                assert!(of.is_sorted(), "a producer's order was not kept");
            }
        }
        assert!(self.queue.is_empty());
    }
}

/// In one of `n` cases lets others run, else does nothing for up to so many turns.
fn pause(random: &mut Random, n: usize, turns: usize) {
    if random.one_in(n) {
        thread::yield_now();
    } else {
        (0..random.below(turns)).for_each(|_| std::hint::spin_loop());
    }
}

/// The test, for one kind.
fn push_pop_and_steal(kind: QueueKind) {
    run(&Field::new(kind, false));
}

/// Has all threads do their part.
fn run(field: &Field) {
    let mut random = Random::new(Random::seed());
    let popped = thread::scope(|scope| {
        let owned = {
            let random = random.split();
            scope.spawn(move || field.own(random))
        };
        let owner = owned.thread().clone();
        for producer in 0..PRODUCERS {
            let (owner, random) = (owner.clone(), random.split());
            scope.spawn(move || field.produce(producer, &owner, random));
        }
        let thieves: Vec<_> = (0..THIEVES)
            .map(|_| {
                let random = random.split();
                scope.spawn(move || field.steal(random))
            })
            .collect();
        let consumers = thieves.into_iter().chain([owned]);
        consumers
            .map(|consumer| consumer.join().unwrap())
            .collect::<Vec<_>>()
    });
    field.check(&popped);
}

#[test]
fn nemesis_under_stress() {
    push_pop_and_steal(QueueKind::Nemesis);
}

#[test]
fn stub_under_stress() {
    push_pop_and_steal(QueueKind::Stub);
}

#[test]
fn locked_under_stress() {
    push_pop_and_steal(QueueKind::Locked);
}

#[test]
fn two_ended_under_stress() {
    push_pop_and_steal(QueueKind::TwoEnded);
}

/// Producers push at both ends, the owner pops at the head, and thieves at the tail.
#[test]
fn both_ends_under_stress() {
    run(&Field::new(QueueKind::TwoEnded, true));
}
