//! Models of waiting at several gates: an event at one of them, or at both, and others who wait
//! there, too.
//!
//! Run by `cargo xtask loom`. Gates and waits are the shipped ones; a descriptor is a counter of
//! bytes. A wait with a limit may give up at any moment here.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::{Cancelled, Limit};
use fibre_io::gate::several::await_any;
use fibre_io::gate::single::Gate;
use fibre_io::gate::word::News;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::time::Instant;

/// A descriptor: bytes in the kernel, and the gate of its readers.
#[derive(Default)]
struct Pipe {
    bytes: AtomicUsize,
    gate: Gate,
}

impl Pipe {
    /// Without bytes, and known to be so.
    fn new() -> Shared<Self> {
        let pipe = Self::default();
        pipe.gate.drained(pipe.gate.snapshot(), true);
        Shared::new(pipe)
    }

    /// A byte arrives, and the poller delivers the event.
    fn arrive(&self) {
        self.bytes.fetch_add(1, Ordering::Release);
        self.gate.event(News::default());
    }

    fn is_ready(&self) -> bool {
        self.bytes.load(Ordering::Acquire) > 0
    }
}

/// Waits until one of two has bytes.
fn poll(pipes: [&Pipe; 2], limit: Limit) -> bool {
    let gates = pipes.map(|pipe| &pipe.gate);
    let look = || Ok::<_, Cancelled>(pipes.iter().any(|pipe| pipe.is_ready()));
    await_any(&gates, limit, look).unwrap_or(false)
}

/// One waits for either of two, and a byte comes to each, at the same time.
fn two_events() {
    let (one, other) = (Pipe::new(), Pipe::new());
    let poller = thread::spawn(move || one.arrive());
    let another = thread::spawn(move || other.arrive());
    assert!(poll([&one, &other], Limit::None));
    poller.join().ok();
    another.join().ok();
}

/// No event is missed, and no place is left in a list.
#[test]
fn an_event_at_either_gate_ends_the_wait() {
    check(two_events);
}

/// Planted: the second event finds a place in its list with a frame that has ended.
#[test]
fn planted_place_that_stays_is_found() {
    finds_planted("gates: who is woken at one stays at the other", two_events);
}

/// Planted: what comes between the look and the wait is not seen.
#[test]
fn planted_blind_waiting_is_found() {
    finds_planted(
        "gates: nobody asks what has come since the look",
        two_events,
    );
}

/// Two wait for one byte, one of them also for what never comes, or not for long.
fn two_onlookers(limit: Limit) {
    let (one, other) = (Pipe::new(), Pipe::new());
    let onlooker = thread::spawn(move || poll([&other, &one], limit));
    let poller = thread::spawn(move || one.arrive());
    assert!(poll([&one, &other], Limit::None));
    poller.join().ok();
    onlooker.join().ok();
}

/// An event is for all who look, also if one of them gives up at that moment.
#[test]
fn all_who_look_are_told() {
    check(|| two_onlookers(Limit::None));
    check(|| two_onlookers(Limit::Deadline(Instant::now())));
}

/// Planted: who is woken first tells nobody.
#[test]
fn planted_secrecy_is_found() {
    finds_planted("gates: an onlooker keeps the event to itself", || {
        two_onlookers(Limit::None);
    });
}
