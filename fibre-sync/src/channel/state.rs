//! The state that a channel's lock protects, and the steps under it.
//!
//! A value goes one of three ways. A sender puts it into the buffer. Or a sender puts it into the
//! slot of a waiting receiver. Or a receiver takes it out of the slot of a waiting sender, and puts
//! it into the room it has made, or in a rendezvous channel takes it at once. In the last two cases
//! the waiter has nothing left to do when it goes on, and does not take the lock again.
//!
//! A waiter shows a [`Slot`], which lies in its frame: empty, to be filled; or full, to be emptied.
//! The waker that claims the waiter owns the slot until it resumes the waiter. So the slot says how
//! a wait has ended: if it was emptied, the value was sent; if it was filled, a value was received;
//! if it is unchanged, the channel was closed.
//!
//! Invariants:
//!
//! 1. While receivers wait, the buffer is empty. While senders wait, it is full, apart from values
//!    that have been given back.
//! 2. In a closed channel the only waiters are those about to be woken; their slots are not
//!    touched.
//! 3. Under the lock no value is dropped, no memory is allocated or freed, and no waiter is
//!    resumed: each step returns what is to be done after it.
//!
//! # Memory ordering
//!
//! The waiter writes the slot before it is published, under the lock. The winner of its claim
//! writes it before it resumes the waiter. So the slot is ordered like all data of a wait.

use super::buffer::{Buffer, Ring};
use crate::faults;
use crate::wait_list::{Node, Place as End, WaitList};
use fibre_core::Left;
use fibre_core::internal::{Resume, Waiter};
use fibre_core::sync::{Cell, planted};

/// The value that a waiter sends or receives.
pub(crate) struct Slot<T> {
    /// The token that the waiter is woken with: it says which one of several waits has succeeded.
    token: Cell<u32>,
    /// The value.
    value: Cell<Option<T>>,
}

impl<T> Slot<T> {
    /// An empty slot.
    fn new() -> Self {
        Self {
            token: Cell::new(0),
            value: Cell::new(None),
        }
    }
}

/// The outcome of offering a value. In the three latter cases the value stays with the caller.
#[must_use]
pub(crate) enum Offered {
    /// The value is in the buffer.
    Stored,
    /// A waiting receiver has the value, and is to be resumed.
    Handed(Resume),
    /// There is no room.
    Full,
    /// There is room once a ring has been added.
    NeedsRing,
    /// The channel is closed.
    Closed,
}

/// The outcome of taking a value.
#[must_use]
pub(crate) enum Taken<T> {
    /// A value, and what is to be done without the lock.
    Value(T, Afterwards<T>),
    /// There is no value now.
    Empty,
    /// The channel is closed and empty.
    Closed,
}

/// The work of a receiver after it has given the lock back.
#[must_use]
pub(crate) struct Afterwards<T> {
    /// A waiting sender to be resumed: its value has been sent.
    sender: Option<Resume>,
    /// Memory that is no longer used, to be freed.
    _ring: Option<Box<Ring<T>>>,
}

impl<T> Afterwards<T> {
    /// Does this work.
    #[inline]
    pub(crate) fn carry_out(self) {
        if let Some(sender) = self.sender {
            sender.resume();
        }
    }
}

/// What a channel's lock protects.
pub(crate) struct State<T> {
    /// Values that have been sent and not yet received.
    buffer: Buffer<T>,
    /// How many values may be in the buffer.
    capacity: usize,
    /// Whether no more values are sent.
    closed: bool,
    /// The senders that wait.
    pub(crate) sending: WaitList,
    /// The receivers that wait.
    pub(crate) receiving: WaitList,
}

impl<T> State<T> {
    /// An open channel without values.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            buffer: Buffer::new(capacity),
            capacity,
            closed: false,
            sending: WaitList::new(),
            receiving: WaitList::new(),
        }
    }

    /// How many values are in the buffer.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether no more values are sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The room of the ring that a value [needs](Offered::NeedsRing). A bounded channel gets all of
    /// its memory with the first value that stays in it, unless that is very much.
    pub(crate) fn next_room(&self) -> usize {
        self.buffer.next_room()
    }

    /// Adds a ring, or gives it back if it is no longer needed.
    pub(crate) fn add(&mut self, ring: Box<Ring<T>>) -> Option<Box<Ring<T>>> {
        self.buffer.add(ring)
    }

    /// Sends a value, if that can be done now.
    #[inline]
    pub(crate) fn offer(&mut self, value: &mut Option<T>) -> Offered {
        if self.closed {
            return Offered::Closed;
        }
        if !self.receiving.is_empty()
            && !planted(faults::channel::STORES_WHAT_A_RECEIVER_WAITS_FOR)
            && let Some((receiver, slot)) = claim::<T>(&mut self.receiving)
        {
            // SAFETY: a slot of this channel's receivers; it belongs to this caller until the
            // resume.
            unsafe { (*slot).value.set(value.take()) };
            return Offered::Handed(receiver);
        }
        if self.buffer.filled() == self.capacity {
            return Offered::Full;
        }
        if self.buffer.needs_ring() {
            return Offered::NeedsRing;
        }
        if let Some(value) = value.take() {
            self.buffer.push(value);
        }
        Offered::Stored
    }

    /// Receives a value, if there is one.
    #[inline]
    pub(crate) fn take(&mut self) -> Taken<T> {
        if let Some((value, ring)) = self.buffer.pop() {
            let sender =
                if self.sending.is_empty() || planted(faults::channel::LEAVES_ROOM_TO_NOBODY) {
                    None
                } else {
                    self.refill()
                };
            let afterwards = Afterwards {
                sender,
                _ring: ring,
            };
            return Taken::Value(value, afterwards);
        }
        if self.closed {
            return Taken::Closed;
        }
        match self.take_from_sender() {
            Some((value, sender)) => {
                let afterwards = Afterwards {
                    sender: Some(sender),
                    _ring: None,
                };
                Taken::Value(value, afterwards)
            }
            None => Taken::Empty,
        }
    }

    /// Moves the value of the sender that has waited longest into the room there is now.
    fn refill(&mut self) -> Option<Resume> {
        if self.closed || self.buffer.filled() == self.capacity {
            return None;
        }
        let (value, sender) = self.take_from_sender()?;
        self.buffer.push(value);
        Some(sender)
    }

    /// Gives a value to the receiver that has waited longest, or puts it before all others: for a
    /// receiver that has been handed it and is gone. It takes no room. Resume the receiver, and
    /// drop the ring if it comes back, without the lock.
    pub(crate) fn give_back(
        &mut self,
        value: T,
        ring: Box<Ring<T>>,
    ) -> (Option<Resume>, Option<Box<Ring<T>>>) {
        if !self.closed
            && let Some((receiver, slot)) = claim::<T>(&mut self.receiving)
        {
            // SAFETY: as in `offer`.
            unsafe { (*slot).value.set(Some(value)) };
            return (Some(receiver), Some(ring));
        }
        self.buffer.push_front(value, ring);
        (None, None)
    }

    /// Takes the value out of the slot of the sender that has waited longest.
    fn take_from_sender(&mut self) -> Option<(T, Resume)> {
        let (sender, slot) = claim(&mut self.sending)?;
        // SAFETY: a slot of this channel's senders; it belongs to this caller until the resume.
        let value = unsafe { (*slot).value.replace(None) };
        value.map(|value| (value, sender))
    }

    /// Closes the channel. The caller must [wake](Self::next_refused) the waiters then. Returns
    /// `false` if it was closed already.
    pub(crate) fn close(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, true)
    }

    /// Claims a waiter of a closed channel, to be resumed with its slot unchanged.
    pub(crate) fn next_refused(&mut self) -> Option<Resume> {
        let (refused, _slot) =
            claim::<T>(&mut self.sending).or_else(|| claim(&mut self.receiving))?;
        Some(refused)
    }

    /// Takes all values, as no receiver is left. Drop them without the lock.
    pub(crate) fn abandon(&mut self) -> Buffer<T> {
        std::mem::replace(&mut self.buffer, Buffer::new(0))
    }
}

/// Claims the waiter that has waited longest, and returns its slot, too.
fn claim<T>(list: &mut WaitList) -> Option<(Resume, *const Slot<T>)> {
    // SAFETY: waiters in a channel's lists show a slot, which stays in its place until they are
    // resumed.
    let token = |shown: *const ()| unsafe { (*shown.cast::<Slot<T>>()).token.get() };
    let (resume, shown) = list.claim_first_showing(token)?;
    Some((resume, shown.cast()))
}

/// A waiter of a channel: its place in the line, and its slot.
pub(crate) struct Place<T> {
    node: Node,
    slot: Slot<T>,
}

impl<T> Place<T> {
    /// A place in no line.
    pub(crate) fn new() -> Self {
        Self {
            node: Node::new(),
            slot: Slot::new(),
        }
    }

    /// Enters a line, under its lock. The waiter will be woken with this token.
    ///
    /// # Safety
    ///
    /// The place is in no line. The place and the waiter stay where they are until the place has
    /// left.
    #[inline]
    pub(crate) unsafe fn enter(&self, line: &mut WaitList, waiter: &Waiter, token: u32) {
        self.slot.token.set(token);
        self.node.show(&raw const self.slot);
        // SAFETY: passed on; a line is used under its channel's lock only.
        unsafe { line.insert(&self.node, waiter, End::Last) };
    }

    /// Declares that this is the only line, and that the wait has no limit: see
    /// [`Node::set_alone`].
    ///
    /// # Safety
    ///
    /// This is the only line, and the wait has no limit.
    pub(crate) unsafe fn set_alone(&self) {
        // SAFETY: passed on.
        unsafe { self.node.set_alone(true) };
    }

    /// Whether it is in a line. Under that line's lock.
    pub(crate) fn is_in_line(&self) -> bool {
        self.node.is_linked()
    }

    /// Leaves the line unless a waker has taken the place out, under its lock.
    ///
    /// # Safety
    ///
    /// If the place has entered a line, it was this one.
    pub(crate) unsafe fn leave(&self, line: &mut WaitList) {
        if self.node.is_linked() {
            // SAFETY: it is in a line, hence in this one.
            unsafe { line.unlink(&self.node) };
        }
    }

    /// [`enter`](Self::enter) for a selection. Its waiter stands in other lines, too.
    ///
    /// # Safety
    ///
    /// As for `enter`; the place leaves by [`leave_among`](Self::leave_among).
    pub(crate) unsafe fn enter_among(&self, line: &mut WaitList, waiter: &Waiter) {
        self.node.show(&raw const self.slot);
        // SAFETY: passed on; a line is used under its channel's lock only.
        unsafe { line.enter(&self.node, waiter, End::Last) };
    }

    /// [`leave`](Self::leave) for a selection. Says whether a waker in this line has ended the
    /// wait.
    ///
    /// # Safety
    ///
    /// As for `leave`.
    pub(crate) unsafe fn leave_among(&self, line: &mut WaitList) -> Left {
        // SAFETY: passed on.
        unsafe { line.leave(&self.node) }
    }

    /// Replaces the slot's value, and returns the old one. While the owner does not wait, the slot
    /// is its own.
    pub(crate) fn replace(&self, value: Option<T>) -> Option<T> {
        self.slot.value.replace(value)
    }
}

#[cfg(loom)]
impl<T> fibre_core::sync::EndOfFrame for Place<T> {
    fn end_of_frame(&mut self) {
        self.node.end_of_frame();
        self.slot.token.end_of_frame();
        self.slot.value.replace(None);
    }
}
