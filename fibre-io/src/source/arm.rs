//! Operations on a descriptor as arms of selections.
//!
//! An arm tries its operation through the funnel, in a turn that is over. If the operation would
//! block, the descriptor is registered, and the arm waits at the gate like any call, unless the
//! gate says that the direction is ready: then an event has come since the try. A woken arm tries
//! again. If it finds nothing, it waits again in front of the others, as calls do.

use super::Source;
use crate::funnel::{Direction, Left, Policy, Progress, TOLD};
use crate::gate::single::{ALL, Gate, Turn};
use fibre_core::internal::Waiter;
use fibre_core::sync::Framed;
use fibre_core::{Cancelled, Entered, Left as LeftArm};
use fibre_sync::{Node, Place};
use rustix::io::Errno;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A wait for one direction of a source, in a selection.
#[derive(Debug)]
pub(crate) struct SourceArm<'a, F: AsFd = OwnedFd> {
    /// The source.
    source: &'a Source<F>,
    /// The direction.
    direction: Direction,
    /// The place at the gate.
    node: Framed<Node>,
    /// Where to enter the gate's list next.
    place: Cell<Place>,
}

impl<'a, F: AsFd> SourceArm<'a, F> {
    /// An arm for this direction.
    pub(crate) fn new(source: &'a Source<F>, direction: Direction) -> Self {
        Self {
            source,
            direction,
            node: Framed::new(Node::new()),
            place: Cell::new(Place::Last),
        }
    }

    /// Tries the operation; `None`: it would block.
    pub(crate) fn attempt<T>(
        &self,
        mut operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> Option<io::Result<T>> {
        let mut progress = Progress::new(self.direction, true);
        let operation = || operation(self.source.as_fd());
        match Tries(self.source).run::<TOLD, _>(&mut Turn::over(), &mut progress, operation) {
            Ok(value) => Some(Ok(value)),
            Err(Failure::Io(error)) => Some(Err(error)),
            Err(Failure::WouldBlock) => self.source.register().err().map(Err),
        }
    }

    /// [`attempt`](Self::attempt) by a selection that was woken at the gate, with this token.
    pub(crate) fn woken<T>(
        &self,
        token: u32,
        operation: impl FnMut(BorrowedFd<'_>) -> Result<(T, Left), Errno>,
    ) -> Option<io::Result<T>> {
        let done = self.attempt(operation);
        self.place.set(match (&done, token) {
            (None, token) if token != ALL => Place::First,
            _ => Place::Last,
        });
        done
    }

    /// Enters the gate.
    ///
    /// # Safety
    ///
    /// As for [`Arm::enter`](fibre_core::Arm::enter).
    pub(crate) unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        match unsafe {
            self.gate()
                .enter_ready(&self.node, waiter, self.place.get())
        } {
            true => Entered::Waits,
            false => Entered::Ready,
        }
    }

    /// Leaves the gate.
    ///
    /// # Safety
    ///
    /// As for [`Arm::leave`](fibre_core::Arm::leave).
    pub(crate) unsafe fn leave(&self) -> LeftArm {
        // SAFETY: it has entered this gate.
        unsafe { self.gate().leave_among(&self.node) }
    }

    /// The gate.
    fn gate(&self) -> &'static Gate {
        self.source.gate(self.direction)
    }
}

/// A source's policy for calls that do not wait.
struct Tries<'a, F: AsFd>(&'a Source<F>);

/// Why a try has failed.
enum Failure {
    /// It would block.
    WouldBlock,
    /// As the operation has, or as the source is closed.
    Io(io::Error),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<Cancelled> for Failure {
    fn from(cancelled: Cancelled) -> Self {
        Self::Io(cancelled.into())
    }
}

impl<F: AsFd> Policy for Tries<'_, F> {
    type Error = Failure;

    fn gate(&self, direction: Direction) -> &'static Gate {
        self.0.gate(direction)
    }

    fn number(&self) -> u32 {
        self.0.number()
    }

    fn is_told(&mut self) -> Result<bool, Failure> {
        self.0.is_told().map_err(Failure::Io)
    }

    fn register(&mut self) -> Result<(), Failure> {
        self.0.register().map_err(Failure::Io)
    }

    fn closed(&self) -> Failure {
        Failure::Io(super::closed())
    }

    fn late(&self) -> Failure {
        Failure::WouldBlock
    }
}
