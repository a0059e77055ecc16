//! The messages of a bounded mailbox, and the senders that wait for room in it.
//!
//! The actor takes its messages one by one, so that there is room exactly where one has been taken.
//! A sender that finds none waits, if the mailbox lets it, and shows its message: whoever makes
//! room moves the message in and resumes the sender, which has nothing left to do. So senders are
//! served in the order in which they came, and nobody overtakes them.
//!
//! The waker that claims a waiting sender owns its message until it resumes the sender. A sender
//! that goes on and finds its message where it was has not sent it.
//!
//! Invariant: while senders wait, there is no room.

use crate::faults;
use crate::mailbox::Overflow;
use fibre_core::internal::Resume;
use fibre_core::sync::{Cell, planted};
use fibre_sync::{Claimed, WaitList};
use std::collections::VecDeque;

/// The message of a waiting sender, in the sender's frame.
pub(crate) struct Shown<M>(Cell<Option<M>>);

impl<M> Shown<M> {
    /// A message that is to be sent.
    pub(crate) fn new(message: M) -> Self {
        Self(Cell::new(Some(message)))
    }

    /// Takes the message back, or in.
    pub(crate) fn take(&self) -> Option<M> {
        self.0.replace(None)
    }

    /// Puts the message back.
    pub(crate) fn put(&self, message: M) {
        self.0.set(Some(message));
    }
}

#[cfg(loom)]
impl<M> fibre_core::sync::EndOfFrame for Shown<M> {
    fn end_of_frame(&mut self) {
        self.0.replace(None);
    }
}

/// The messages, and the waiting senders. See the module text.
pub(crate) struct Ring<M> {
    /// The oldest message first.
    messages: VecDeque<M>,
    /// How many messages there may be.
    capacity: usize,
    /// What becomes of more.
    when_full: Overflow,
    /// How many have been dropped because of that.
    dropped: u64,
    /// The senders that wait for room, each showing its message.
    pub(crate) waiting: WaitList,
}

/// What became of a message.
#[must_use]
pub(crate) enum Put<M> {
    /// The message is in.
    In,
    /// The message is in, and this one is to be dropped, without the lock.
    Instead(M),
    /// The message is to be dropped, without the lock.
    Dropped(M),
    /// There is no room, and its sender may wait.
    NoRoom(M),
    /// There is no room.
    Refused(M),
}

impl<M> Ring<M> {
    /// An empty ring without memory.
    pub(crate) fn new(capacity: usize, when_full: Overflow) -> Self {
        Self {
            messages: VecDeque::new(),
            capacity: capacity.max(1),
            when_full,
            dropped: 0,
            waiting: WaitList::new(),
        }
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// How many messages have been dropped, as there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of messages for which memory must be [brought](Self::bring) before one is put in,
    /// if there is none left.
    pub(crate) fn lacks_memory(&self) -> Option<usize> {
        let (length, memory) = (self.messages.len(), self.messages.capacity());
        let wanted = (2 * memory).max(4).min(self.capacity).max(length + 1);
        (length == memory).then_some(wanted)
    }

    /// Takes more memory, if it is needed. Returns what is to be dropped without the lock.
    pub(crate) fn bring(&mut self, mut memory: VecDeque<M>) -> VecDeque<M> {
        if memory.capacity() > self.messages.len() && self.lacks_memory().is_some() {
            memory.append(&mut self.messages);
            std::mem::swap(&mut memory, &mut self.messages);
        }
        memory
    }

    /// Puts a message in, for which there is memory. `beyond`: it has no sender to wait or be told.
    pub(crate) fn put(&mut self, message: M, beyond: bool) -> Put<M> {
        let full = self.messages.len() >= self.capacity;
        if !full || beyond && matches!(self.when_full, Overflow::Block | Overflow::Refuse) {
            self.messages.push_back(message);
            return Put::In;
        }
        match self.when_full {
            Overflow::Block => return Put::NoRoom(message),
            Overflow::Refuse => return Put::Refused(message),
            Overflow::DropNewest => {
                self.dropped += 1;
                return Put::Dropped(message);
            }
            Overflow::DropOldest => {}
        }
        self.dropped += 1;
        let oldest = self.messages.pop_front();
        self.messages.push_back(message);
        oldest.map_or(Put::In, Put::Instead)
    }

    /// Takes the oldest message, and gives the room to the sender that has waited longest, which is
    /// to be resumed without the lock.
    pub(crate) fn take(&mut self) -> Option<(M, Option<Resume>)> {
        let message = self.messages.pop_front()?;
        let has_room = self.messages.len() < self.capacity;
        let sender = (has_room && !planted(faults::inbox::LEAVES_ROOM_TO_NOBODY))
            .then(|| self.refill())
            .flatten();
        Some((message, sender))
    }

    /// Moves the message of the sender in that has waited longest.
    fn refill(&mut self) -> Option<Resume> {
        let (sender, shown) = self.waiting.claim_first_showing(|_| 0)?;
        // SAFETY: senders that wait here show this type, in their frames. The claimed one goes on
        // only when it is resumed.
        let message = unsafe { (*shown.cast::<Shown<M>>()).take() };
        self.messages.extend(message);
        Some(sender)
    }

    /// Claims all waiting senders, which keep their messages.
    pub(crate) fn refuse_waiting(&mut self) -> Claimed {
        self.waiting.claim_all(0)
    }

    /// Takes all messages.
    pub(crate) fn take_all(&mut self) -> VecDeque<M> {
        std::mem::take(&mut self.messages)
    }
}
