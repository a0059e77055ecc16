//! The messages of a bounded mailbox, and the senders that wait for room in it.
//!
//! The actor takes its messages one by one, so that there is room exactly where one has been taken.
//! A sender that finds none waits, if the mailbox lets it, and shows its message: whoever makes
//! room moves the message in and resumes the sender, which has nothing left to do. So senders are
//! served in order of arrival, and nobody overtakes them.
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

/// The messages, and the waiting senders.
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

    /// The number of messages that memory must be [brought](Self::bring) for before one is put in,
    /// if there is none left.
    pub(crate) fn lacks_memory(&self) -> Option<usize> {
        let (length, memory) = (self.messages.len(), self.messages.capacity());
        let bound = match length > self.capacity {
            // What comes beyond the bound does not have all the others moved each time.
            true => length + length / 2,
            false => self.capacity,
        };
        // Messages without a size have memory without end.
        let wanted = memory.saturating_mul(2).max(4).min(bound).max(length + 1);
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

    /// Puts a message in. There is memory for it. `beyond`: it has no sender to wait or be told.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_without_a_size_lack_no_memory() {
        let mut ring = Ring::new(3, Overflow::Refuse);
        for _ in 0..3 {
            assert_eq!(ring.lacks_memory(), None);
            assert!(matches!(ring.put((), false), Put::In));
        }
        assert!(matches!(ring.put((), false), Put::Refused(())));
    }

    /// Puts a message in, as senders do, and says what became of it.
    fn put(ring: &mut Ring<u32>, message: u32, beyond: bool) -> (&'static str, u32) {
        if let Some(memory) = ring.lacks_memory() {
            let _old = ring.bring(VecDeque::with_capacity(memory));
        }
        match ring.put(message, beyond) {
            Put::In => ("in", message),
            Put::Instead(oldest) => ("instead", oldest),
            Put::Dropped(newest) => ("dropped", newest),
            Put::NoRoom(message) => ("no room", message),
            Put::Refused(message) => ("refused", message),
        }
    }

    #[test]
    fn what_is_too_much_goes_as_it_was_chosen() {
        for (when_full, expected, beyond) in [
            (Overflow::Block, ("no room", 3), ("in", 4)),
            (Overflow::Refuse, ("refused", 3), ("in", 4)),
            (Overflow::DropNewest, ("dropped", 3), ("dropped", 4)),
            (Overflow::DropOldest, ("instead", 0), ("instead", 1)),
        ] {
            let mut ring = Ring::new(3, when_full);
            for number in 0..3 {
                assert_eq!(put(&mut ring, number, false), ("in", number));
            }
            assert_eq!(put(&mut ring, 3, false), expected, "{when_full:?}");
            assert_eq!(put(&mut ring, 4, true), beyond, "{when_full:?}");
            let dropped = matches!(when_full, Overflow::DropNewest | Overflow::DropOldest);
            assert_eq!(ring.dropped(), 2 * u64::from(dropped));
            assert_eq!(ring.len(), if dropped { 3 } else { 4 });
        }
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let mut ring = Ring::new(5, Overflow::Refuse);
        let mut expected = 0;
        for number in 0..100 {
            assert_eq!(put(&mut ring, number, false).0, "in");
            if number % 7 > 2 || ring.len() == 5 {
                let (message, sender) = ring.take().unwrap();
                assert!(message == expected && sender.is_none());
                expected += 1;
            }
        }
        assert!(ring.take_all().into_iter().eq(expected..100));
        assert!(ring.take().is_none());
    }

    #[test]
    fn memory_grows_by_steps_beyond_the_bound() {
        let mut ring = Ring::new(10, Overflow::Refuse);
        let mut steps = 0;
        for number in 0..100_000 {
            steps += u32::from(ring.lacks_memory().is_some());
            assert_eq!(put(&mut ring, number, true).0, "in");
        }
        assert!(steps < 60, "{steps} steps");
    }

    #[test]
    fn memory_grows_with_what_is_there() {
        let mut ring = Ring::new(1 << 40, Overflow::Block);
        assert_eq!(ring.messages.capacity(), 0);
        (0..100).for_each(|number| assert_eq!(put(&mut ring, number, false).0, "in"));
        assert!(ring.messages.capacity() < 300);
        let late = ring.bring(VecDeque::with_capacity(7));
        assert_eq!(late.capacity(), 7, "it was not needed");
    }
}
