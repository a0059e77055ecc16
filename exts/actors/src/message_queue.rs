//! The messages of an unbounded mailbox: put in one by one, taken out all at once.
//!
//! Senders push into the buffer of a [`MessageQueue`], under the mailbox's lock. The actor takes
//! all there is in a few instructions, into its [`Backlog`], and leaves the buffer that it has
//! emptied before in its place. So the lock is taken once per message on one side only, and two
//! buffers go round.
//!
//! A buffer that is full is put aside, and a larger one goes on, so no message is ever copied from
//! buffer to buffer. Buffers are put aside newest first, and the actor turns their order round when
//! it has given the lock back.
//!
//! The queue is used under a lock that is held for a few instructions. So it neither allocates nor
//! frees: its user brings room, and drops what comes back.

use fibre_core::internal::drop_quietly;
use std::collections::VecDeque;
use std::fmt;
use std::mem;

/// The room of the first buffer, in messages.
const FIRST: usize = 4;

/// The room of a buffer at most, in bytes, if it is more than [`FIRST`] messages.
const LARGEST: usize = 32 << 10;

/// The room that an idle actor keeps at most, in bytes.
const KEPT: usize = 1 << 10;

/// A buffer that was put aside.
pub(crate) struct Aside<M> {
    messages: Vec<M>,
    /// The buffer that was put aside before this one; in a backlog, the one to be emptied after it.
    next: Option<Box<Aside<M>>>,
}

/// The messages that the actor has not taken.
pub(crate) struct MessageQueue<M> {
    /// The newest messages, and the room for more.
    filling: Vec<M>,
    /// The older ones, in full buffers, the newest first.
    full: Option<Box<Aside<M>>>,
}

/// Room for more messages, made without the lock.
pub(crate) struct Room<M>(Box<Aside<M>>);

/// What was taken out of a queue: the newest messages, and the older ones.
pub(crate) struct Taken<M>(Vec<M>, Option<Box<Aside<M>>>);

impl<M> MessageQueue<M> {
    /// An empty queue without memory.
    pub(crate) const fn new() -> Self {
        Self {
            filling: Vec::new(),
            full: None,
        }
    }

    /// Whether there are no messages.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.filling.is_empty() && self.full.is_none()
    }

    /// The number of messages that [`Room`] must be [brought](Self::bring) for before one is put
    /// in, if there is none left.
    #[inline]
    pub(crate) fn lacks_room(&self) -> Option<usize> {
        let full = self.filling.len() == self.filling.capacity();
        full.then(|| self.next_room())
    }

    /// The room of the next buffer.
    fn next_room(&self) -> usize {
        let largest = LARGEST / size_of::<M>().max(1);
        (2 * self.filling.capacity()).min(largest).max(FIRST)
    }

    /// Puts a message in. There is room for it.
    #[inline]
    pub(crate) fn put(&mut self, message: M) {
        debug_assert!(
            self.lacks_room().is_none(),
            "it would allocate under a lock"
        );
        self.filling.push(message);
    }

    /// Takes new room, if it is needed. What is returned is to be dropped without the lock.
    pub(crate) fn bring(&mut self, Room(mut room): Room<M>) -> Option<Room<M>> {
        if self.lacks_room().is_none() {
            return Some(Room(room));
        }
        mem::swap(&mut self.filling, &mut room.messages);
        if room.messages.is_empty() {
            return Some(Room(room));
        }
        room.next = self.full.take();
        self.full = Some(room);
        None
    }

    /// Takes all messages, and leaves an empty buffer in their place.
    #[inline]
    pub(crate) fn take(&mut self, empty: Vec<M>) -> Taken<M> {
        Taken(mem::replace(&mut self.filling, empty), self.full.take())
    }

    /// Keeps one of two empty buffers, the actor's and its own, if it is small enough for an idle
    /// actor. Returns the other one, to be dropped without the lock.
    pub(crate) fn keep_one(&mut self, mut empty: Vec<M>) -> Vec<M> {
        let is_small = |buffer: &Vec<M>| {
            let bytes = buffer.capacity().saturating_mul(size_of::<M>());
            buffer.capacity() > 0 && bytes <= KEPT
        };
        if !is_small(&self.filling) {
            mem::swap(&mut self.filling, &mut empty);
        }
        empty
    }
}

impl<M> Room<M> {
    /// Room for so many messages. Allocates.
    pub(crate) fn new(messages: usize) -> Self {
        Self(Box::new(Aside {
            messages: Vec::with_capacity(messages),
            next: None,
        }))
    }
}

/// The messages that the actor has taken and not handled yet.
pub struct Backlog<M> {
    /// The oldest messages.
    current: VecDeque<M>,
    /// The buffers behind it, the oldest first.
    later: Option<Box<Aside<M>>>,
}

impl<M> Backlog<M> {
    /// No messages.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            current: VecDeque::new(),
            later: None,
        }
    }

    /// Takes out the oldest message.
    #[inline]
    pub fn pop(&mut self) -> Option<M> {
        let message = self.current.pop_front();
        if message.is_some() || self.later.is_none() {
            return message;
        }
        self.go_on()
    }

    /// [`pop`](Self::pop) where the current buffer is empty.
    #[cold]
    fn go_on(&mut self) -> Option<M> {
        let next = self.later.take()?;
        self.current = next.messages.into();
        self.later = next.next;
        self.current.pop_front()
    }

    /// Whether all messages have been taken out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.current.is_empty() && self.later.is_none()
    }

    /// The buffer, which must be empty.
    #[inline]
    pub(crate) fn give_buffer(&mut self) -> Vec<M> {
        debug_assert!(self.current.is_empty(), "a message would go astray");
        mem::take(&mut self.current).into()
    }

    /// Adds what was taken out of a queue, to an empty backlog.
    #[inline]
    pub(crate) fn fill(&mut self, Taken(newest, full): Taken<M>) {
        if full.is_none() {
            self.current = newest.into();
        } else {
            self.fill_many(newest, full);
        }
    }

    /// [`fill`](Self::fill) for more than one buffer: turns their order round.
    #[cold]
    fn fill_many(&mut self, newest: Vec<M>, mut full: Option<Box<Aside<M>>>) {
        let mut chain = Some(Box::new(Aside {
            messages: newest,
            next: None,
        }));
        while let Some(mut older) = full {
            full = older.next.take();
            older.next = chain;
            chain = Some(older);
        }
        self.later = chain;
    }

    /// Adds one message, to an empty backlog.
    #[inline]
    pub(crate) fn fill_one(&mut self, message: M) {
        self.current.push_back(message);
    }

    /// Adds messages, to an empty backlog.
    pub(crate) fn fill_from(&mut self, messages: VecDeque<M>) {
        self.current = messages;
    }

    /// Drops all messages. Those with destructors that panic take no others along.
    pub fn clear(&mut self) {
        while let Some(message) = self.pop() {
            drop_quietly(message);
        }
    }
}

impl<M> Default for Backlog<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> fmt::Debug for Backlog<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backlog").finish_non_exhaustive()
    }
}

impl<M> Drop for Backlog<M> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<M> Drop for MessageQueue<M> {
    /// Drops what nobody has taken, buffer by buffer.
    fn drop(&mut self) {
        if !self.is_empty() {
            let mut rest = Backlog::new();
            rest.fill(self.take(Vec::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Puts a message in, as senders do.
    fn put<M>(message_queue: &mut MessageQueue<M>, message: M) {
        if let Some(room) = message_queue.lacks_room() {
            assert!(
                message_queue
                    .bring(Room::new(room))
                    .is_none_or(|room| room.0.messages.is_empty())
            );
        }
        message_queue.put(message);
    }

    /// Takes all messages, as the actor does.
    fn take<M>(message_queue: &mut MessageQueue<M>, backlog: &mut Backlog<M>) {
        let taken = message_queue.take(backlog.give_buffer());
        backlog.fill(taken);
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let (mut message_queue, mut backlog) = (MessageQueue::new(), Backlog::new());
        let (mut next, mut expected) = (0_u64, 0);
        for round in 0..40 {
            for _ in 0..round * round {
                put(&mut message_queue, next);
                next += 1;
            }
            assert_eq!(message_queue.is_empty(), round == 0);
            take(&mut message_queue, &mut backlog);
            assert!(message_queue.is_empty());
            while let Some(message) = backlog.pop() {
                assert_eq!(message, expected);
                expected += 1;
            }
            assert!(backlog.is_empty());
        }
        assert_eq!(expected, next);
    }

    #[test]
    fn two_buffers_go_round() {
        let (mut message_queue, mut backlog) = (MessageQueue::new(), Backlog::new());
        for _ in 0..2 {
            put(&mut message_queue, 1);
            take(&mut message_queue, &mut backlog);
            while backlog.pop().is_some() {}
        }
        for _ in 0..100 {
            assert_eq!(message_queue.lacks_room(), None);
            put(&mut message_queue, 1);
            take(&mut message_queue, &mut backlog);
            while backlog.pop().is_some() {}
        }
    }

    #[test]
    fn room_is_brought_by_several_and_used_once() {
        let mut message_queue = MessageQueue::new();
        assert!(
            message_queue
                .bring(Room::new(4))
                .is_some_and(|room| room.0.messages.capacity() == 0)
        );
        assert!(
            message_queue
                .bring(Room::new(8))
                .is_some_and(|room| room.0.messages.capacity() == 8)
        );
        (0..4).for_each(|number| message_queue.put(number));
        assert!(message_queue.bring(Room::new(8)).is_none());
        message_queue.put(4);
        let mut backlog = Backlog::new();
        take(&mut message_queue, &mut backlog);
        assert!(std::iter::from_fn(|| backlog.pop()).eq(0..5));
    }

    #[test]
    fn an_idle_actor_keeps_one_small_buffer() {
        let mut message_queue = MessageQueue::<[u8; 64]>::new();
        assert_eq!(message_queue.keep_one(Vec::with_capacity(4)).capacity(), 0);
        assert_eq!(message_queue.keep_one(Vec::with_capacity(8)).capacity(), 8);
        let mut message_queue = MessageQueue::<[u8; 64]>::new();
        let (empty, large) = (Vec::new(), Vec::with_capacity(1000));
        message_queue.take(large);
        assert_eq!(message_queue.keep_one(empty).capacity(), 1000);
        assert!(message_queue.lacks_room().is_some());
    }

    #[test]
    fn messages_without_a_size_need_no_memory() {
        let (mut message_queue, mut backlog) = (MessageQueue::new(), Backlog::new());
        (0..1000).for_each(|_| put(&mut message_queue, ()));
        take(&mut message_queue, &mut backlog);
        assert_eq!(std::iter::from_fn(|| backlog.pop()).count(), 1000);
    }

    /// Counts its drops; the third one panics.
    struct Counted<'a>(&'a Cell<u32>);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert_ne!(self.0.get(), 3, "the third");
        }
    }

    #[test]
    fn a_message_whose_drop_panics_takes_no_other_along() {
        let count = Cell::new(0);
        let mut message_queue = MessageQueue::new();
        (0..100).for_each(|_| put(&mut message_queue, Counted(&count)));
        drop(message_queue);
        assert_eq!(count.get(), 100);
    }
}
