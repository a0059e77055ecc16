//! Models of going idle: a processor that sleeps, and those who give it work.
//!
//! Run by `cargo xtask loom`. The steps are those of `processor/rest.rs` and of
//! `Domain::push_out`, on the shipped queue, sleepers, idle set and staging queue.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

use fibre_core::commons::Commons;
use fibre_core::model::{self, finds_bug};
use fibre_core::queue::{Level, Link, LogicalQueue, Popped, Pushed, QueueKind};
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;

/// Processors 0, who sleeps, and 1, who is busy.
struct Domain {
    queues: [LogicalQueue; 2],
    commons: Commons,
}

/// What to leave out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The processor sleeps without arming its queue.
    NoArm,
    /// The processor does not look at the others after announcing itself.
    NoSecondLook,
    /// It looks at the others, but not at what is for all.
    NoLookAtCommons,
}

/// A node that lives until the end of the process.
fn node() -> NonNull<Link> {
    NonNull::from(Box::leak(Box::new(Link::new())))
}

/// The same of high priority.
fn urgent() -> NonNull<Link> {
    NonNull::from(Box::leak(Box::new(Link::with(Level::High, false))))
}

/// Steps 1 to 3 of `rest`; says whether the processor may sleep.
fn may_sleep(domain: &Domain, planted: Planted) -> bool {
    domain.commons.idle.enter(0);
    let armed = planted == Planted::NoArm || domain.queues[0].arm();
    let second_look = planted != Planted::NoSecondLook;
    let victim = second_look && !domain.queues[1].is_empty();
    let looks_at_commons = second_look && planted != Planted::NoLookAtCommons;
    armed && !victim && !(looks_at_commons && domain.commons.has_work())
}

/// Whether processor 0 finds a fibre, in the order of `find_work`.
fn find_work(domain: &Domain) -> bool {
    let found = |popped| matches!(popped, Popped::Node(_));
    found(domain.queues[0].pop())
        || found(domain.commons.pop_staged())
        || found(domain.queues[1].pop())
        || found(domain.commons.pop_background())
}

/// The processor's loop, until it has got its one fibre.
fn run(domain: &Domain) {
    while !find_work(domain) {
        if may_sleep(domain, Planted::Nothing) {
            domain.commons.sleeper(0).sleep(None);
        } else {
            // `wait_for_producer`.
            thread::yield_now();
        }
        domain.queues[0].disarm();
        domain.commons.idle.leave(0);
    }
}

/// `Domain::push_out` by processor 1.
fn place(domain: &Domain) {
    place_and(domain, || domain.commons.sleeper(0).unpark());
}

/// The same, but for one who is claimed before it sleeps: nobody tells it.
fn place_and_forget(domain: &Domain) {
    place_and(domain, || ());
}

/// `Domain::push_out`; `keep_awake` is for one who is claimed before it sleeps.
fn place_and(domain: &Domain, keep_awake: impl Fn()) {
    if domain.commons.idle.claim(0).is_some() {
        if domain.queues[0].is_armed() {
            wake(domain);
            return;
        }
        keep_awake();
    }
    // SAFETY: a new node.
    let _ = unsafe { domain.queues[1].push(node()) };
    if domain.commons.idle.claim(0).is_some() {
        domain.commons.sleeper(0).unpark();
    }
}

/// Somebody pushes into the sleeper's own queue, as a foreign waker does it.
fn wake(domain: &Domain) {
    // SAFETY: a new node.
    if unsafe { domain.queues[0].push(node()) } == Pushed::WakeConsumer {
        domain.commons.sleeper(0).unpark();
    }
}

/// Somebody pushes something urgent there, the first thing of its kind, and another one.
fn wake_urgently(domain: &Domain) {
    for _ in 0..2 {
        // SAFETY: a new node.
        if unsafe { domain.queues[0].push(urgent()) } == Pushed::WakeConsumer {
            domain.commons.sleeper(0).unpark();
        }
    }
}

/// `Domain::place` by processor 1, of a fibre for whoever wants it.
fn stage(domain: &Domain) {
    // SAFETY: a new node.
    unsafe { domain.commons.stage(node()) };
}

/// The same of a fibre that can wait.
fn push_background(domain: &Domain) {
    // SAFETY: a new node.
    unsafe { domain.commons.push_background(node()) };
}

/// A domain, and a thread that gives work in it.
fn with_producer(give: fn(&Domain)) -> (Arc<Domain>, thread::JoinHandle<()>) {
    let domain = Arc::new(Domain {
        queues: [0, 1].map(|_| LogicalQueue::new(QueueKind::default())),
        commons: Commons::new(2, QueueKind::default()),
    });
    let producer = Arc::clone(&domain);
    (domain, thread::spawn(move || give(&producer)))
}

/// The sleeper sleeps for real, until it has its fibre.
fn until_served(give: fn(&Domain)) {
    let (domain, producer) = with_producer(give);
    run(&domain);
    producer.join().unwrap();
}

/// One attempt to sleep: if it is allowed, a notification must have come by the time
/// the producer is done; if not, there must be work. (A model that really slept for
/// ever would not end in a way that a test can catch.)
fn one_attempt(give: fn(&Domain), planted: Planted) {
    let (domain, producer) = with_producer(give);
    let served = find_work(&domain);
    let asleep = !served && may_sleep(&domain, planted);
    producer.join().unwrap();
    if asleep {
        assert!(
            domain.commons.sleeper(0).is_notified(),
            "it sleeps, and nobody wakes it"
        );
    } else if !served {
        domain.queues[0].disarm();
        assert!(find_work(&domain), "it did not sleep, and there is nothing");
    }
}

/// Work pushed to a processor that goes to sleep wakes it.
#[test]
fn a_wake_up_is_not_lost() {
    model::check(|| until_served(wake));
    model::check(|| one_attempt(wake, Planted::Nothing));
}

/// Planted: check, then sleep, without the mark in the queue.
#[test]
fn planted_check_then_sleep_is_found() {
    finds_bug(|| one_attempt(wake, Planted::NoArm));
}

/// Work pushed to a busy processor reaches one that goes idle meanwhile.
#[test]
fn work_at_a_busy_processor_is_not_overlooked() {
    model::check(|| until_served(place));
    model::check(|| one_attempt(place, Planted::Nothing));
}

/// Planted: no second look after the announcement.
#[test]
fn planted_missing_second_look_is_found() {
    finds_bug(|| one_attempt(place, Planted::NoSecondLook));
}

/// Planted: a processor that is claimed before it sleeps is not told.
#[test]
fn planted_forgotten_sleeper_is_found() {
    finds_bug(|| one_attempt(place_and_forget, Planted::Nothing));
}

/// So does the first fibre of a priority that its queue has not known before.
#[test]
fn a_new_level_wakes_the_sleeper() {
    model::check(|| until_served(wake_urgently));
    model::check(|| one_attempt(wake_urgently, Planted::Nothing));
}

/// What is staged, or in the background, reaches a processor that goes idle meanwhile.
#[test]
fn what_is_for_all_is_not_overlooked() {
    for give in [stage, push_background] {
        model::check(move || until_served(give));
        model::check(move || one_attempt(give, Planted::Nothing));
    }
}

/// Planted: no second look at the queues of the whole cluster.
#[test]
fn planted_missing_look_at_the_commons_is_found() {
    finds_bug(|| one_attempt(stage, Planted::NoLookAtCommons));
}
