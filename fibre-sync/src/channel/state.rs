//! What a channel's lock protects, and the steps under it.
//!
//! A value goes one of three ways: into the buffer; out of the sender's hands into those of a
//! receiver that waits; or, when a sender waits, out of its hands by a receiver, which puts
//! it into the room it has made, or in a rendezvous channel takes it at once. In the two
//! latter cases the one who waits has nothing left to do when it goes on, and takes no lock
//! again.
//!
//! Who waits shows a [`Slot`], which lies in its frame: empty, to be filled; or full, to be
//! emptied. Whoever claims its waiter owns the slot until it resumes it. So a wait that has
//! ended says by its slot how: an emptied one has been sent, a filled one received; one that
//! is as it was has ended by the channel's closing.
//!
//! Invariants:
//!
//! 1. While receivers wait, the buffer is empty. While senders wait, it is full.
//! 2. In a closed channel nobody waits, except those who are about to be woken; their slots
//!    are not touched.
//! 3. No value is dropped under the lock, no memory allocated or freed, and nobody resumed:
//!    each step returns what is to be done after it.
//!
//! # Memory ordering
//!
//! The slot is written before the waiter is published, under the lock, and by the winner
//! of its claim before it resumes, as with all that goes with a wait.

use super::buffer::{Buffer, Ring};
use crate::wait_list::{Node, Place as End, WaitList};
use fibre_core::sync::{Cell, planted};
use fibre_core::{Resume, Waiter};

/// The hands of one who waits. See the module text.
pub(crate) struct Slot<T> {
    /// What the waiter is woken with: which one of several waits has come true.
    token: Cell<u32>,
    /// The value.
    value: Cell<Option<T>>,
}

impl<T> Slot<T> {
    /// Empty hands.
    fn new() -> Self {
        Self {
            token: Cell::new(0),
            value: Cell::new(None),
        }
    }
}

/// What becomes of a value that is to be sent. In the three latter cases it stays where it is.
#[must_use]
pub(crate) enum Offered {
    /// It is in the buffer.
    Stored,
    /// It is a receiver's, which is to be resumed.
    Handed(Resume),
    /// There is no room.
    Full,
    /// There is room once a ring has been added.
    NeedsRing,
    /// The channel is closed.
    Closed,
}

/// What there is to be received.
#[must_use]
pub(crate) enum Taken<T> {
    /// A value, and what is to be done without the lock.
    Value(T, Afterwards<T>),
    /// Nothing now.
    Empty,
    /// Nothing any more.
    Closed,
}

/// What a receiver does after it has given the lock back.
#[must_use]
pub(crate) struct Afterwards<T> {
    /// A sender that has been waiting and has its value sent.
    sender: Option<Resume>,
    /// Memory that is used no more.
    _ring: Option<Box<Ring<T>>>,
}

impl<T> Afterwards<T> {
    /// Does it.
    #[inline]
    pub(crate) fn carry_out(self) {
        if let Some(sender) = self.sender {
            sender.resume();
        }
    }
}

/// See the module text.
pub(crate) struct State<T> {
    /// Values that have been sent, and nobody has received.
    buffer: Buffer<T>,
    /// How many values may be in the buffer.
    capacity: usize,
    /// Whether no more values are sent.
    closed: bool,
    /// Those who wait to send.
    pub(crate) sending: WaitList,
    /// Those who wait to receive.
    pub(crate) receiving: WaitList,
}

impl<T> State<T> {
    /// An open channel without values.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            buffer: Buffer::new(),
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

    /// How large the ring is to be that a value [needs](Offered::NeedsRing): a bounded channel
    /// gets all of its memory with the first value that stays in it.
    pub(crate) fn next_room(&self) -> usize {
        match self.capacity {
            usize::MAX => self.buffer.next_room(),
            capacity => capacity,
        }
    }

    /// Adds a ring, or gives it back if it is not needed any more.
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
            && !planted("channel: a value is stored while somebody waits for it")
            && let Some((receiver, slot)) = claim::<T>(&mut self.receiving)
        {
            // SAFETY: a slot of this channel's receivers; ours until we resume.
            unsafe { (*slot).value.set(value.take()) };
            return Offered::Handed(receiver);
        }
        if self.buffer.len() == self.capacity {
            return Offered::Full;
        }
        if !self.buffer.has_room() {
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
            let sender = if self.sending.is_empty() || planted("channel: room is left to nobody") {
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
        if self.closed {
            return None;
        }
        let (value, sender) = self.take_from_sender()?;
        self.buffer.push(value);
        Some(sender)
    }

    /// Takes the value out of the hands of the sender that has waited longest.
    fn take_from_sender(&mut self) -> Option<(T, Resume)> {
        let (sender, slot) = claim(&mut self.sending)?;
        // SAFETY: a slot of this channel's senders; ours until we resume.
        let value = unsafe { (*slot).value.replace(None) };
        value.map(|value| (value, sender))
    }

    /// Closes the channel. Those who wait are to be [woken](Self::next_refused) now. `false`: it
    /// was closed already.
    pub(crate) fn close(&mut self) -> bool {
        !std::mem::replace(&mut self.closed, true)
    }

    /// One of those who still wait in a closed channel, to be resumed empty-handed.
    pub(crate) fn next_refused(&mut self) -> Option<Resume> {
        let (refused, _slot) =
            claim::<T>(&mut self.sending).or_else(|| claim(&mut self.receiving))?;
        Some(refused)
    }

    /// Takes all values, which nobody will receive: to be dropped without the lock.
    pub(crate) fn abandon(&mut self) -> Buffer<T> {
        std::mem::replace(&mut self.buffer, Buffer::new())
    }
}

/// Claims the one that has waited longest, and gets at its slot.
fn claim<T>(list: &mut WaitList) -> Option<(Resume, *const Slot<T>)> {
    // SAFETY: those who wait in a channel's lists show a slot, which is in its place until they
    // are resumed.
    let token = |shown: *const ()| unsafe { (*shown.cast::<Slot<T>>()).token.get() };
    let (resume, shown) = list.claim_first_showing(token)?;
    Some((resume, shown.cast()))
}

/// One who waits in a channel: its place in the line, and its hands.
pub(crate) struct Place<T> {
    node: Node,
    slot: Slot<T>,
}

impl<T> Place<T> {
    /// In no line.
    pub(crate) fn new() -> Self {
        Self {
            node: Node::new(),
            slot: Slot::new(),
        }
    }

    /// Enters a line, under its lock. A place stays where it is until it has left. The waiter
    /// will be woken with this token.
    #[inline]
    pub(crate) fn enter(&self, line: &mut WaitList, waiter: &Waiter, token: u32) {
        self.slot.token.set(token);
        self.node.show(&raw const self.slot);
        line.insert(&self.node, waiter, End::Last);
    }

    /// Says that this is the only line, and the wait has no limit: see [`Node::set_alone`].
    ///
    /// # Safety
    ///
    /// It is so.
    pub(crate) unsafe fn set_alone(&self) {
        // SAFETY: passed on.
        unsafe { self.node.set_alone(true) };
    }

    /// Leaves the line unless a waker has taken the place out, under its lock.
    pub(crate) fn leave(&self, line: &mut WaitList) {
        if self.node.is_linked() {
            line.unlink(&self.node);
        }
    }

    /// Puts a value or none into the hands, and returns what was there. They are one's own while
    /// one does not wait.
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
