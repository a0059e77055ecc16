//! Models of going idle: a processor that sleeps, and the threads that give it work.
//!
//! Run by `cargo xtask loom`. The steps are those of `processor/idle.rs` and of
//! `Domain::push_out`, on the shipped queue, sleepers, idle set and staging queue, and with the
//! shipped proofs of the steps.

use fibre_core::internal::armed::{Announced, Armed, ConsumerQueues};
use fibre_core::internal::queue::{
    Level, Link, MultilevelQueue, Popped, Pushed, QueueKind, Runnable,
};
use fibre_core::internal::set::IdleSet;
use fibre_core::internal::shared_queues::SharedQueues;
use fibre_core::model::{self, finds_bug, finds_planted};
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;

/// Processor 0, which sleeps, and processor 1, which is busy.
struct Domain {
    queues: [MultilevelQueue; 2],
    shared_queues: SharedQueues,
}

/// What to leave out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// The processor sleeps without arming its queue.
    NoArm,
    /// The processor does not look at the others after announcing itself.
    NoSecondLook,
    /// The processor looks at the others, but not at the shared queues.
    NoLookAtSharedQueues,
}

/// A node that lives until the end of the process.
fn node() -> Runnable {
    of(Link::new())
}

/// Such a node of high priority.
fn urgent() -> Runnable {
    of(Link::with(Level::High, false))
}

/// The runnable of a link that stays.
fn of(link: Link) -> Runnable {
    // SAFETY: a new link, which is never freed.
    unsafe { Runnable::new(NonNull::from(Box::leak(Box::new(link)))) }
}

/// The queue of processor 0, which sleeps there.
struct Own<'a>(&'a MultilevelQueue);

impl ConsumerQueues for Own<'_> {
    fn arm(&self) -> bool {
        self.0.arm()
    }

    fn disarm(&self) {
        self.0.disarm();
    }
}

/// What a processor has that takes itself to be asleep.
enum Asleep<'a> {
    /// All that it needs.
    Armed(Armed<'a, Own<'a>>),
    /// Too little, as planted.
    Announced(#[allow(dead_code, reason = "kept until the end")] Announced<'a, Own<'a>>),
}

/// The steps of `go_idle` up to the sleep. `None`: the processor must not sleep.
fn lie_down(domain: &Domain, planted: Planted) -> Option<Asleep<'_>> {
    let announced = domain
        .shared_queues
        .announce(0, Own(&domain.queues[0]), true);
    let asleep = if planted == Planted::NoArm {
        Asleep::Announced(announced)
    } else {
        Asleep::Armed(announced.arm().ok()?)
    };
    let second_look = planted != Planted::NoSecondLook;
    let victim = second_look && !domain.queues[1].is_empty();
    let looks_at_shared_queues = second_look && planted != Planted::NoLookAtSharedQueues;
    let work = victim || (looks_at_shared_queues && domain.shared_queues.has_work());
    (!work).then_some(asleep)
}

/// Whether processor 0 finds a fibre, in the order of `find_work`.
fn find_work(domain: &Domain) -> bool {
    let found = |popped| matches!(popped, Popped::Node(_));
    found(domain.queues[0].pop())
        || found(domain.shared_queues.pop_staged())
        || found(domain.queues[1].pop())
        || found(domain.shared_queues.pop_background())
}

/// The processor's loop, until it has got its one fibre.
fn run(domain: &Domain) {
    while !find_work(domain) {
        match lie_down(domain, Planted::Nothing) {
            Some(Asleep::Armed(armed)) => drop(armed.sleep(None)),
            // `wait_for_producer`.
            _ => thread::yield_now(),
        }
    }
}

/// `Domain::push_out` by processor 1.
fn place(domain: &Domain) {
    place_and(domain, || domain.shared_queues.sleeper(0).unpark());
}

/// `Domain::push_out` that does not tell a processor which is claimed before it sleeps.
fn place_and_forget(domain: &Domain) {
    place_and(domain, || ());
}

/// `Domain::push_out`; `keep_awake` is for a processor that is claimed before it sleeps.
fn place_and(domain: &Domain, keep_awake: impl Fn()) {
    if domain.shared_queues.idle.claim(0).is_some() {
        if domain.queues[0].is_armed() {
            wake(domain);
            return;
        }
        keep_awake();
    }
    let _ = domain.queues[1].push(node());
    if domain.shared_queues.idle.claim(0).is_some() {
        domain.shared_queues.sleeper(0).unpark();
    }
}

/// A foreign waker pushes into the sleeper's own queue.
fn wake(domain: &Domain) {
    if domain.queues[0].push(node()) == Pushed::WakeConsumer {
        domain.shared_queues.sleeper(0).unpark();
    }
}

/// A foreign waker pushes an urgent fibre there, the first of its kind, and another fibre.
fn wake_urgently(domain: &Domain) {
    for _ in 0..2 {
        if domain.queues[0].push(urgent()) == Pushed::WakeConsumer {
            domain.shared_queues.sleeper(0).unpark();
        }
    }
}

/// `Domain::place` by processor 1, of a fibre that any processor may run.
fn stage(domain: &Domain) {
    domain.shared_queues.stage(node());
}

/// `Domain::place` by processor 1, of a fibre of the background.
fn push_background(domain: &Domain) {
    domain.shared_queues.push_background(node());
}

/// A domain, and a thread that gives work in it.
fn with_producer(give: fn(&Domain)) -> (Arc<Domain>, thread::JoinHandle<()>) {
    let domain = Arc::new(Domain {
        queues: [0, 1].map(|_| MultilevelQueue::new(QueueKind::default())),
        shared_queues: SharedQueues::new(2, QueueKind::default()),
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
    let asleep = if served {
        None
    } else {
        lie_down(&domain, planted)
    };
    producer.join().unwrap();
    if asleep.is_some() {
        assert!(
            domain.shared_queues.sleeper(0).is_notified(),
            "it sleeps, and nobody wakes it"
        );
    } else if !served {
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

/// The first fibre of a priority that its queue has not known before wakes the sleeper, too.
#[test]
fn a_new_level_wakes_the_sleeper() {
    model::check(|| until_served(wake_urgently));
    model::check(|| one_attempt(wake_urgently, Planted::Nothing));
}

/// A fibre that is staged, or in the background, reaches a processor that goes idle meanwhile.
#[test]
fn what_is_for_all_is_not_overlooked() {
    for give in [stage, push_background] {
        model::check(move || until_served(give));
        model::check(move || one_attempt(give, Planted::Nothing));
    }
}

/// Planted: no second look at the queues of the whole cluster.
#[test]
fn planted_missing_look_at_the_shared_queues_is_found() {
    finds_bug(|| one_attempt(stage, Planted::NoLookAtSharedQueues));
}

/// Two producers have work for any idle processor, and one is idle; meanwhile that one, or another
/// one, goes back to work by itself.
fn two_claim(leaves: bool) {
    let set = Arc::new(IdleSet::new(2));
    set.enter(1);
    let other = Arc::clone(&set);
    let other = thread::spawn(move || other.claim(0));
    let mut claims = vec![set.claim(1)];
    if leaves {
        set.leave(1);
    }
    claims.push(other.join().unwrap());
    claims.retain(Option::is_some);
    assert!(claims.len() <= 1, "two claim one: {claims:?}");
    assert!(leaves || claims == [Some(1)], "nobody claims it");
    assert!(!set.is_any());
}

/// A sleeper is claimed by one producer, so that two pieces of work do not count on it.
#[test]
fn a_sleeper_is_claimed_once() {
    model::check(|| two_claim(false));
    model::check(|| two_claim(true));
}

/// Planted: both producers claim it, and one of two fibres waits behind the other for no reason.
#[test]
fn planted_second_claim_is_found() {
    finds_planted("idle set: a member is claimed after it has gone", || {
        two_claim(false);
    });
}
