//! The messages of an actor that handles the most urgent one first.
//!
//! Senders put messages in as into any mailbox without a bound, and know nothing of priorities. The
//! activation takes what has come before each message that it handles, and keeps it here, by
//! priority. So only such actors pay for them, and they belong to the activation alone.

use fibre_core::internal::drop_quietly;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;
use std::mem;

/// Messages by priority, and those of one priority in the order they came.
pub(crate) struct Waiting<T> {
    heap: BinaryHeap<Urgent<T>>,
    /// The number of the next message.
    next: u64,
}

/// A message that waits.
struct Urgent<T> {
    priority: u32,
    /// The older first.
    number: Reverse<u64>,
    message: T,
}

impl<T> Waiting<T> {
    /// No messages.
    pub(crate) const fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            next: 0,
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds a message behind those of the same priority.
    pub(crate) fn push(&mut self, priority: u32, message: T) {
        let number = Reverse(self.next);
        self.next += 1;
        self.heap.push(Urgent {
            priority,
            number,
            message,
        });
    }

    /// Takes out the oldest message of the highest priority.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.heap.pop().map(|urgent| urgent.message)
    }

    /// Drops all messages. Those with destructors that panic take no others along.
    pub(crate) fn clear(&mut self) {
        for urgent in mem::take(&mut self.heap).into_vec() {
            drop_quietly(urgent.message);
        }
    }
}

impl<T> Drop for Waiting<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("messages", &self.heap.len())
            .finish_non_exhaustive()
    }
}

impl<T> Urgent<T> {
    /// What the heap goes by.
    fn key(&self) -> (u32, Reverse<u64>) {
        (self.priority, self.number)
    }
}

impl<T> PartialEq for Urgent<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Urgent<T> {}

impl<T> PartialOrd for Urgent<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Urgent<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    #[test]
    fn the_most_urgent_is_first_and_equals_keep_their_order() {
        let mut waiting = Waiting::new();
        let all = [(1, 'a'), (3, 'b'), (1, 'c'), (3, 'd'), (0, 'e'), (2, 'f')];
        for (priority, message) in all {
            waiting.push(priority, message);
        }
        assert!(iter::from_fn(|| waiting.pop()).eq("bdface".chars()));
        assert!(waiting.is_empty());
    }
}
