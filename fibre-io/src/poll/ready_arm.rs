//! Readiness of a descriptor, as an arm of selections.
//!
//! The arm is an onlooker, as `gate::several` explains: it takes snapshots of the gates, looks, and
//! waits for an event that comes after the snapshots. It passes its wake-up on to the others that
//! wait there.

use super::{Owner, PollFd, Readiness, ask, generation, strangers, unless_never_ready};
use crate::funnel::Direction;
use crate::gate::single::{EVENT, Gate};
use crate::gate::word::Snapshot;
use crate::source::{Source, register};
use fibre_core::internal::Waiter;
use fibre_core::sync::Framed;
use fibre_core::{Arm, Entered, Left};
use fibre_sync::Node;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::os::fd::AsFd;

/// An arm of `select!` that waits until a descriptor is ready; made by [`ready_arm`].
#[must_use = "an arm waits in a selection only"]
pub struct ReadyArm<'a> {
    /// What is asked about.
    asked: PollFd<'a>,
    /// The owner of the descriptor, at the last look.
    owner: Owner,
    /// An instance that has the descriptor, if it has no owner.
    stranger: Option<Source>,
    /// The waits at the gates.
    watches: [Option<Watch>; 2],
    /// Whether the descriptor has been registered again, for an event of the present state.
    confirmed: bool,
}

/// A wait at one gate.
struct Watch {
    /// The gate.
    gate: &'static Gate,
    /// The snapshot from before the last look.
    seen: Cell<Snapshot>,
    /// The place in the gate's list.
    node: Framed<Node>,
    /// Whether the node has entered since the last look.
    entered: Cell<bool>,
    /// Whether an event of this gate has ended the wait.
    woken: Cell<bool>,
}

/// An arm of `select!` that waits until a descriptor is ready for one of the things asked about, or
/// has failed; it yields what it is ready for, as [`poll`](super::poll()) tells it. Nothing is read
/// or written. The descriptor need not be one of this library; for others the arm makes an epoll
/// instance, so make it once, and select `&mut arm`.
///
/// ```
/// use fibre::io::{Readiness, pipe, ready_arm};
/// use fibre::{select, sync::Event};
/// use std::io::Write;
///
/// let ((reader, mut writer), stop) = (pipe()?, Event::new());
/// writer.write_all(b"!")?;
/// let ready = select! {
///     ready = ready_arm(&reader, Readiness::READ) => ready?,
///     () = stop.wait_arm() => Readiness::NONE,
/// };
/// assert!(ready.contains(Readiness::READ));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn ready_arm<F: AsFd + ?Sized>(fd: &F, interest: Readiness) -> ReadyArm<'_> {
    ReadyArm {
        asked: PollFd::new(fd, interest),
        owner: None,
        stranger: None,
        watches: [None, None],
        confirmed: false,
    }
}

impl Watch {
    /// A wait at this gate.
    fn new(gate: &'static Gate) -> Self {
        Self {
            gate,
            seen: Cell::new(gate.snapshot()),
            node: Framed::new(Node::new()),
            entered: Cell::new(false),
            woken: Cell::new(false),
        }
    }

    /// Leaves the gate, if it has entered it.
    fn leave(&self) {
        if self.entered.replace(false) {
            // SAFETY: it has entered this gate.
            let left = unsafe { self.gate.leave_among(&self.node) };
            self.woken.set(left == Left::Here);
        }
    }

    /// Passes on the event that has ended the wait.
    fn tell_others(&self, token: u32, in_vain: bool) {
        match (self.woken.replace(false), in_vain) {
            (true, false) => self.gate.pass_on(),
            (true, true) if token == EVENT => self.gate.resume_all(),
            (true, true) | (false, _) => {}
        }
    }
}

impl ReadyArm<'_> {
    /// The waits at the gates.
    fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.watches.iter().flatten()
    }

    /// Leaves the gates that it has entered, as it does not wait after all. An event of one of them
    /// may have claimed the waiter by now; then the selection looks again, and others have the
    /// event.
    fn give_up(&self) {
        self.watches().for_each(Watch::leave);
        self.watches()
            .for_each(|watch| watch.tell_others(EVENT, false));
    }

    /// Looks at the descriptor; `false`: it is not ready, and events will come.
    fn look(&mut self) -> io::Result<bool> {
        self.find_gates()?;
        self.watches()
            .for_each(|watch| watch.seen.set(watch.gate.snapshot()));
        if ask(&mut self.asked)? {
            return Ok(true);
        }
        if let Some((slot, _)) = self.owner
            && (!self.confirmed || !slot.is_registered())
        {
            register(self.asked.as_fd(), slot).or_else(unless_never_ready)?;
        }
        self.confirmed = true;
        self.stranger.as_ref().map_or(Ok(()), Source::register)?;
        Ok(false)
    }

    /// Finds the gates to wait at, at first and when the descriptor's owner has changed.
    fn find_gates(&mut self) -> io::Result<()> {
        let owner = self.asked.owner();
        if self.watches[0].is_some() && generation(owner) == generation(self.owner) {
            return Ok(());
        }
        self.watches = [None, None];
        self.stranger = strangers(&[self.asked], &[owner])?;
        (self.owner, self.confirmed) = (owner, false);
        let own = self
            .stranger
            .as_ref()
            .map(|them| them.gate(Direction::Read));
        let gates = self.asked.gates_of(owner.map(|(slot, _)| slot)).chain(own);
        for (watch, gate) in self.watches.iter_mut().zip(gates) {
            *watch = Some(Watch::new(gate));
        }
        Ok(())
    }
}

impl Arm for ReadyArm<'_> {
    type Output = io::Result<Readiness>;

    fn attempt(&mut self) -> Option<io::Result<Readiness>> {
        match self.look() {
            Ok(true) => Some(Ok(self.asked.readiness())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        for watch in self.watches() {
            // SAFETY: passed on.
            let entered = unsafe { watch.gate.enter(&watch.node, waiter, watch.seen.get()) };
            watch.entered.set(entered);
            if !entered {
                self.give_up();
                return Entered::Ready;
            }
        }
        Entered::Waits
    }

    unsafe fn leave(&self, _: &Waiter) -> Left {
        self.watches().for_each(Watch::leave);
        match self.watches().any(|watch| watch.woken.get()) {
            true => Left::Here,
            false => Left::Elsewhere,
        }
    }

    fn is_from_outside(&self) -> bool {
        true
    }

    fn woken(&mut self, token: u32) -> Option<io::Result<Readiness>> {
        let found = self.attempt();
        self.watches()
            .for_each(|watch| watch.tell_others(token, found.is_none()));
        found
    }
}

impl fmt::Debug for ReadyArm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyArm")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}
