//! Waiting at several gates at once.
//!
//! One waiter stands in the lists of all gates, and the first event ends its wait. Unlike a reader,
//! it does not wait until a system call may succeed; it is an *onlooker*. It takes snapshots of all
//! gates, *looks* (with a call like `poll`), and waits for an event after the snapshots. So it
//! changes no recorded readiness, and an event between its look and its wait is not lost.
//!
//! The onlooker enters the lists one by one. If an event has come at one of them, it claims its own
//! waiter and so does not wait. If a waker has claimed the waiter first, that waker wakes it.
//!
//! An event wakes one waiter, and an onlooker takes nothing. So it must pass the event on. If it
//! finds what it looks for, it leaves and wakes the next waiter, as a reader does that leaves data.
//! (An onlooker that leaves at its deadline has not been woken, and owes nothing.) If it does not
//! find it, the event may have been for another waiter: it makes all present waiters at that gate
//! look, and these do not pass the event on in turn. (If they did, two of them could wake each
//! other for ever.)

use crate::gate::single::{EVENT, Gate};
use crate::gate::word::Snapshot;
use fibre_core::internal::{Outcome, Wait, Waiter};
use fibre_core::sync::{Framed, planted};
use fibre_core::{Cancelled, Limit, WaitKind, WaitObject};
use fibre_sync::Node;
use std::cell::Cell;

/// An onlooker's wait at one of its gates.
#[derive(Debug)]
struct Watch<'a> {
    gate: &'a Gate,
    /// The snapshot from before the last look.
    seen: Cell<Snapshot>,
    /// The waiter's node in the gate's list.
    node: Framed<Node>,
    /// Whether the node has entered the list since the last look.
    entered: Cell<bool>,
    /// Whether a waker has taken the node out of the list.
    taken: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// A watch of this gate that is in no list.
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

    /// Enters the gate's list, unless an event has come since the snapshot.
    fn enter(&self, waiter: &Waiter) -> bool {
        // SAFETY: watch and waiter are in the frames of a wait, which ends with `leave`.
        let entered = unsafe { self.gate.enter(&self.node, waiter, self.seen.get()) };
        self.entered.set(entered);
        entered
    }

    /// Leaves the gate's list if it has entered it.
    fn leave(&self) {
        if self.entered.replace(false) {
            // SAFETY: it has entered this gate.
            self.taken.set(unsafe { self.gate.leave(&self.node) });
        }
    }
}

/// Waits until `look` returns `true`, or until the limit (then returns `false`). Looks again at
/// each event of one of the gates. Blocks the fibre, or the thread if the caller is not a fibre. A
/// `look` that returns `false` must have made sure that events will come.
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
        // Before it looks: what the canceller has done since may be what is found.
        if last == Outcome::Cancelled {
            return Err(Cancelled.into());
        }
        watches.iter().for_each(Watch::look);
        let found = look();
        if let Outcome::Woken(token) = last {
            tell_others(&watches, token, matches!(found, Ok(false)));
        }
        match (found?, last) {
            (true, _) => return Ok(true),
            (false, Outcome::TimedOut) => return Ok(false),
            (false, _) => {}
        }
        watches.iter().for_each(|watch| watch.taken.set(false));
        last = wait(&watches, limit);
    }
}

/// Waits for an event.
fn wait(watches: &[Watch<'_>], limit: Limit) -> Outcome {
    let publish = |waiter: &Waiter, _| {
        if watches.iter().all(|watch| watch.enter(waiter)) {
            return true;
        }
        let unclaimed = waiter.claim(EVENT).is_some();
        if unclaimed {
            watches.iter().for_each(Watch::leave);
        }
        !unclaimed
    };
    let awaited = WaitObject::placeless(WaitKind::Io);
    let stays = planted("gates: who is woken at one stays at the other");
    let withdraw = |_: &Waiter| watches.iter().skip(stays.into()).for_each(Watch::leave);
    // SAFETY: wakers reach the waiter by the nodes only, each under its gate's lock, and it is out
    // of all lists after `withdraw`. If `publish` returns `false`, this call has claimed the waiter
    // itself, and it is out of all lists, too.
    unsafe { Wait::new(awaited, limit).park_among(publish, withdraw) }
}

/// Passes on the event that has ended the wait.
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
