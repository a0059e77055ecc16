//! The funnel: makes a call that would block its thread wait instead. All I/O goes through it.
//!
//! ```text
//!   look at the gate ──► drained, and events are sure to come ──► wait at the gate ──┐
//!     ▲        │                                                                     │
//!     │        ├──► drained, and not registered: make sure that events come           │
//!     │        └──► else: try ──► done: say what is left, and return                 │
//!     │                │                                                             │
//!     │                └──► would block: record that, make sure that events come     │
//!     └─────────────────────────────────────┴──────────────── the gate wakes the call┘
//! ```
//!
//! The order of its steps loses no event:
//!
//! 1. The call takes a snapshot of the gate before each try. It records the result against that
//!    snapshot, so an event that came meanwhile is not cleared (`gate::word`).
//! 2. A call that would block makes sure that events come *before* it waits. Registering reports
//!    the present state, so earlier data makes an event, too.
//! 3. A call that was woken and does not use the event up wakes the next waiter.
//! 4. A call that has run out of time tries once more before it fails. So it finds data that came
//!    while its processor did not poll for events.
//!
//! Each caller's [`Policy`] says what owns the descriptor: an object of this runtime
//! ([`Source`](crate::Source)), or a number that any code may close (`raw::Call`). No event reports
//! an *untold* operation: it pauses between tries instead of waiting at the gate, and does not
//! record what it finds.

use crate::descriptor::use_count::InUse;
use crate::gate::single::{Gate, Turn};
use crate::gate::word::Snapshot;
use fibre_core::Cancelled;
use fibre_core::internal::yield_point_cancellable;
use fibre_core::sync::planted;
use rustix::io::Errno;

#[cfg(loom)]
use self::model::{make_way, pause, prefetch_next};
#[cfg(not(loom))]
use crate::retry::{make_way, pause};
#[cfg(not(loom))]
use fibre_core::internal::prefetch_next;

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Data, end of file, or a connection to accept.
    Read,
    /// Room in the send buffer, or being connected.
    Write,
}

/// What a successful call says about the direction it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The call took less than it could have: nothing is left until the next event.
    Nothing,
    /// There may be more.
    More,
}

/// For [`Policy::run`]: an event reports that the operation may succeed.
pub const TOLD: bool = true;

/// For [`Policy::run`]: no event reports that the operation may succeed.
pub const UNTOLD: bool = false;

/// What the funnel asks of whatever has the descriptor.
pub trait Policy {
    /// How calls fail.
    type Error: From<Errno> + From<Cancelled>;

    /// The gate of a direction.
    fn gate(&self, direction: Direction) -> &'static Gate;

    /// The descriptor that a waiting fibre is shown to wait for.
    fn number(&self) -> u32;

    /// Whether events are sure to come, as far as is known without asking the kernel.
    ///
    /// # Errors
    ///
    /// If the descriptor is to be registered before any call has to wait, and cannot be.
    fn is_told(&mut self) -> Result<bool, Self::Error>;

    /// Makes sure that events come, the present state among them.
    ///
    /// # Errors
    ///
    /// If the descriptor cannot be registered.
    fn register(&mut self) -> Result<(), Self::Error>;

    /// Registers a descriptor that is not registered yet, for a read of what the call before has
    /// drained, and returns whether it is now. A read that tries first nearly always fails where
    /// the peer has to answer over a network; registering reports what has come meanwhile.
    fn registers_first(&mut self) -> bool {
        false
    }

    /// Whether the call waits where it would block. If it does, its turn says for how long.
    ///
    /// # Errors
    ///
    /// If the descriptor decides about that, and cannot be asked.
    fn waits(&mut self, _: Direction, _: &mut Turn<'_>) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// Whether the descriptor is still the one that the call was made on.
    fn is_current(&self) -> bool {
        true
    }

    /// Keeps the descriptor's number in place for a try, some time after the call began.
    ///
    /// # Errors
    ///
    /// If the number is another descriptor's by now.
    fn enter(&self) -> Result<Option<InUse<'static>>, Self::Error> {
        Ok(None)
    }

    /// The error of a call on a descriptor that has been closed.
    fn closed(&self) -> Self::Error;

    /// The error of a call that would block and does not wait, or not any longer.
    fn late(&self) -> Self::Error;

    /// Calls the non-blocking `operation` until it neither would block nor was interrupted, and
    /// waits between two tries. Blocks the fibre, or the thread if the caller is no fibre.
    ///
    /// # Errors
    ///
    /// Those of `operation` and of the policy; that the fibre has been cancelled.
    #[inline]
    fn run<const IS_TOLD: bool, T>(
        &mut self,
        turn: &mut Turn<'_>,
        progress: &mut Progress,
        mut operation: impl FnMut() -> Result<(T, Left), Errno>,
    ) -> Result<T, Self::Error> {
        let direction = progress.direction;
        let gate = self.gate(direction);
        let mut pauses = 0;
        if progress.rests_before(IS_TOLD) {
            self.rested(progress, yield_point_cancellable())?;
        }
        loop {
            let seen = gate.snapshot();
            if seen.is_closed() {
                return Err(self.closed());
            }
            let is_drained = IS_TOLD && self.is_told()? && !seen.is_ready() && progress.may_wait();
            if is_drained && !turn.is_over() && self.waits(direction, turn)? {
                self.wait(gate, turn)?;
                (progress.rested, progress.begun) = (true, true);
                continue;
            }
            if !self.may_try::<IS_TOLD>(gate, seen, turn, progress)? {
                continue;
            }
            match self.attempt(progress, &mut operation)? {
                Ok((value, left)) => {
                    match left {
                        _ if !IS_TOLD => {}
                        Left::More => gate.took_all(turn),
                        Left::Nothing => gate.took_rest(seen),
                    }
                    return Ok(value);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if IS_TOLD {
                        gate.drained(seen, true);
                    }
                    if turn.is_over() || !self.waits(direction, turn)? {
                        return Err(self.late());
                    }
                    progress.begun = true;
                    if IS_TOLD {
                        self.register()?;
                    } else if !pause(turn, &mut pauses)? {
                        return Err(self.late());
                    }
                }
                Err(errno) => {
                    if IS_TOLD {
                        gate.pass_on();
                    }
                    return Err(errno.into());
                }
            }
        }
    }

    /// Whether to try now. If not, other fibres have run meanwhile, or the descriptor has been
    /// registered, and the gate has to be looked at again.
    ///
    /// # Errors
    ///
    /// As [`rested`](Self::rested)'s.
    #[inline(always)]
    fn may_try<const IS_TOLD: bool>(
        &mut self,
        gate: &Gate,
        seen: Snapshot,
        turn: &mut Turn<'_>,
        progress: &mut Progress,
    ) -> Result<bool, Self::Error> {
        if !progress.rested {
            self.rested(progress, make_way())?;
            return Ok(false);
        }
        let is_read = IS_TOLD && progress.direction == Direction::Read;
        if !is_read || seen.is_ready() || turn.is_over() {
            return Ok(true);
        }
        if planted("funnel: a first wait comes before the registration") {
            self.wait(gate, turn)?;
        }
        let is_new = self.registers_first();
        progress.begun |= is_new;
        Ok(!is_new)
    }

    /// Goes on after other fibres have run, but only with the descriptor that the call was made on.
    ///
    /// # Errors
    ///
    /// If the descriptor has been closed, or the fibre cancelled.
    #[inline(always)]
    fn rested(
        &self,
        progress: &mut Progress,
        others_ran: Result<(), Cancelled>,
    ) -> Result<(), Self::Error> {
        progress.rested = true;
        others_ran?;
        if self.is_current() {
            return Ok(());
        }
        Err(self.closed())
    }

    /// Waits until the direction may be ready, or the call's time is over.
    ///
    /// # Errors
    ///
    /// If the descriptor has been closed, or the fibre cancelled.
    #[inline(always)]
    fn wait(&self, gate: &Gate, turn: &mut Turn<'_>) -> Result<(), Self::Error> {
        gate.wait(self.number(), turn, || self.is_current())?;
        if !self.is_current() {
            // The event belonged to the new owner.
            gate.pass_on();
            return Err(self.closed());
        }
        Ok(())
    }

    /// Makes one try.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter)'s.
    #[inline(always)]
    fn attempt<D>(
        &self,
        progress: &Progress,
        operation: &mut impl FnMut() -> Result<D, Errno>,
    ) -> Result<Result<D, Errno>, Self::Error> {
        let enters = progress.begun && !planted("funnel: a later try does not enter");
        let inside = if enters { self.enter()? } else { None };
        if progress.direction == Direction::Read {
            // Not before a write: a fibre that writes has prefetched when it read.
            prefetch_next();
        }
        let done = operation();
        drop(inside);
        Ok(done)
    }
}

/// How far a call has come.
#[derive(Debug)]
pub struct Progress {
    /// What the call waits for.
    direction: Direction,
    /// Whether the call has let other fibres run since it began.
    rested: bool,
    /// Whether the call has been tried or has waited: later tries have to enter.
    begun: bool,
    /// Whether the first try is made at once, without a yield or a registration before it.
    tries_first: bool,
}

impl Progress {
    /// A call that has done nothing yet, except perhaps that it has let other fibres run.
    #[inline]
    #[must_use]
    pub fn new(direction: Direction, rested: bool) -> Self {
        Self {
            direction,
            rested,
            begun: false,
            tries_first: false,
        }
    }

    /// Whether the call need not let other fibres run first.
    #[inline]
    #[must_use]
    pub fn has_rested(&self) -> bool {
        self.rested
    }

    /// The same, but nothing comes before the first try, whatever the gate says: neither do other
    /// fibres run, nor does the call wait.
    #[must_use]
    pub fn trying_first(self) -> Self {
        Self {
            rested: true,
            tries_first: true,
            ..self
        }
    }

    /// Whether other fibres run before the first try of an operation, whatever the gate says.
    #[inline]
    fn rests_before(&self, is_told: bool) -> bool {
        let is_write = self.direction == Direction::Write;
        !is_told && !self.tries_first || is_write && !self.rested
    }

    /// Whether the call may wait before its next try.
    #[inline]
    fn may_wait(&self) -> bool {
        self.begun || !self.tries_first
    }

    /// What the call waits for.
    #[inline]
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }
}

/// What models have in the place of yields, pauses and prefetches: nothing.
#[cfg(loom)]
mod model {
    use super::{Cancelled, Turn};

    /// Does nothing: loom switches threads by itself.
    pub fn make_way() -> Result<(), Cancelled> {
        Ok(())
    }

    /// Says that time is over.
    pub fn pause(_: &mut Turn<'_>, _: &mut u32) -> Result<bool, Cancelled> {
        Ok(false)
    }

    /// Does nothing.
    pub fn prefetch_next() {}
}
