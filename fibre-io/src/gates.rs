//! Waiting at several gates at once.
//!
//! One waiter stands in the lists of all gates, and the first event ends its wait. What it waits
//! for is not that a system call may succeed, as a reader does, but to see for itself: it takes
//! snapshots of all gates, *looks* (by a call like `poll`), and waits for an event that came since
//! the snapshots. So it changes nothing that is known about a direction, and what happens between
//! its look and its wait is not lost.
//!
//! It enters the lists one by one. If an event has come at one of them, it claims its own waiter,
//! and has thus no wait to be woken from, unless somebody was faster, who then wakes it.
//!
//! An event wakes one of those who wait for it, and an onlooker takes nothing. So it owes the event
//! to the others: if it finds what it looks for and goes, it wakes the next one, as readers do
//! that leave something. (One that goes for its deadline has not been woken, and owes nothing.) If it
//! does not, the event may have been for somebody else: it lets
//! all look who wait there then, and they do not do so in turn. (If they did, two of them
//! could wake each other for ever.)

use crate::gate::{EVENT, Gate};
use crate::gate_word::Snapshot;
use fibre_core::sync::{Framed, planted};
use fibre_core::{Awaited, Cancelled, Limit, Outcome, WaitKind, Waiter, park_among};
use fibre_sync::Node;
use std::cell::Cell;

/// One who waits, at one of its gates.
#[derive(Debug)]
struct Watch<'a> {
    gate: &'a Gate,
    /// What was known before the last look.
    seen: Cell<Snapshot>,
    /// Its place in the gate's list.
    node: Framed<Node>,
    /// Whether it has entered that list since the last look.
    entered: Cell<bool>,
    /// Whether a waker has taken it out of there.
    taken: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// In no list.
    fn new(gate: &'a Gate) -> Self {
        Self {
            gate,
            seen: Cell::new(gate.snapshot()),
            node: Framed::new(Node::new()),
            entered: Cell::new(false),
            taken: Cell::new(false),
        }
    }

    /// Takes a new snapshot.
    fn look(&self) {
        self.seen.set(self.gate.snapshot());
    }

    /// Enters the gate's list, unless there has been an event.
    fn enter(&self, waiter: &Waiter) -> bool {
        self.entered
            .set(self.gate.enter(&self.node, waiter, self.seen.get()));
        self.entered.get()
    }

    /// Sees to it that it is not in the gate's list.
    fn leave(&self) {
        if self.entered.replace(false) {
            self.taken.set(self.gate.leave(&self.node));
        }
    }
}

/// Waits until `look` says `true`, or until the limit (then `false`), and looks again whenever there is
/// an event at one of the gates. Blocks the fibre, or the thread if the caller is not a fibre.
/// `look` sees to it that events come if it says `false`.
///
/// # Errors
///
/// Those of `look`; [`Cancelled`] if the fibre is cancelled while it waits.
pub fn await_any<E: From<Cancelled>>(
    gates: &[&Gate],
    limit: Limit,
    mut look: impl FnMut() -> Result<bool, E>,
) -> Result<bool, E> {
    let watches: Vec<_> = gates.iter().map(|gate| Watch::new(gate)).collect();
    let mut last = Outcome::NotParked;
    loop {
        watches.iter().for_each(Watch::look);
        let found = look();
        if let Outcome::Woken(token) = last {
            tell_others(&watches, token, matches!(found, Ok(false)));
        }
        match (found?, last) {
            (true, _) => return Ok(true),
            (false, Outcome::TimedOut) => return Ok(false),
            (false, Outcome::Cancelled) => return Err(Cancelled.into()),
            (false, Outcome::Woken(_) | Outcome::NotParked) => {}
        }
        watches.iter().for_each(|watch| watch.taken.set(false));
        last = wait(&watches, limit);
    }
}

/// Waits for an event. See the module text.
fn wait(watches: &[Watch<'_>], limit: Limit) -> Outcome {
    let publish = |waiter: &Waiter| {
        if watches.iter().all(|watch| watch.enter(waiter)) {
            return true;
        }
        let unclaimed = waiter.claim(EVENT).is_some();
        if unclaimed {
            watches.iter().for_each(Watch::leave);
        }
        !unclaimed
    };
    let awaited = Awaited::placeless(WaitKind::Io);
    let stays = planted("gates: who is woken at one stays at the other");
    let withdraw = |_: &Waiter| watches.iter().skip(stays.into()).for_each(Watch::leave);
    // SAFETY: the waiter is reached by the nodes only, each under its gate's lock, and out of all
    // lists after `withdraw`. If `publish` returns `false`, it was nobody's but ours to
    // claim, and is out of all lists, too.
    unsafe { park_among(awaited, limit, publish, withdraw) }
}

/// Passes the event on that has ended the wait.
fn tell_others(watches: &[Watch<'_>], token: u32, in_vain: bool) {
    if planted("gates: an onlooker keeps the event to itself") {
        return;
    }
    for watch in watches.iter().filter(|watch| watch.taken.get()) {
        if !in_vain {
            watch.gate.pass_on();
        } else if token == EVENT {
            watch.gate.resume_all();
        }
    }
}
