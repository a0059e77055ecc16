//! The values in a channel, first in, first out.
//!
//! A chain of rings, at first without any. Values are taken from the first ring and put into
//! the last one. A bounded channel has one ring with room for all it may hold. In an
//! unbounded one, when the last ring is full, another one, twice as large, is put behind it,
//! and rings are let go of as they run empty. So a channel that has been busy for a while
//! has one ring which is large enough, and allocates no more. Nothing is ever copied from
//! ring to ring.
//!
//! The buffer is used under a lock that is held for a few instructions only. So it neither
//! allocates nor frees memory by itself: its user does, outside of the lock.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

/// Values in the first ring of an unbounded channel.
const SMALLEST: usize = 16;

/// Values in a ring of an unbounded channel, at most.
const LARGEST: usize = 1 << 14;

/// A block of memory with room for some values, used in a circle.
pub(crate) struct Ring<T> {
    slots: Box<[MaybeUninit<T>]>,
    /// Where the oldest value is, if there is one.
    head: usize,
    /// How many values there are.
    length: usize,
    /// The ring behind this one.
    next: Option<NonNull<Ring<T>>>,
}

impl<T> Ring<T> {
    /// An empty one. Allocates.
    pub(crate) fn new(room: usize) -> Box<Self> {
        Box::new(Self {
            slots: Box::new_uninit_slice(room),
            head: 0,
            length: 0,
            next: None,
        })
    }

    /// Whether no value fits in.
    fn is_full(&self) -> bool {
        self.length == self.slots.len()
    }

    /// Puts a value in, for which there is room.
    fn push(&mut self, value: T) {
        let place = self.head + self.length;
        let room = self.slots.len();
        let place = if place < room { place } else { place - room };
        self.slots[place].write(value);
        self.length += 1;
    }

    /// Takes the oldest value.
    fn pop(&mut self) -> Option<T> {
        self.length = self.length.checked_sub(1)?;
        // SAFETY: the first of the values, which nobody takes again.
        let value = unsafe { self.slots[self.head].assume_init_read() };
        self.head += 1;
        if self.head == self.slots.len() {
            self.head = 0;
        }
        Some(value)
    }
}

/// The buffer. See the module text.
pub(crate) struct Buffer<T> {
    /// Where values are taken from. The chain from here on is the buffer's own.
    first: Option<NonNull<Ring<T>>>,
    /// Where values are put: the end of the chain.
    last: Option<NonNull<Ring<T>>>,
    /// How many values there are in all.
    length: usize,
}

// SAFETY: the rings are the buffer's own.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T> Buffer<T> {
    /// An empty one without memory.
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            last: None,
            length: 0,
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether a value can be put in. If not, a ring is to be [added](Self::add).
    pub(crate) fn has_room(&self) -> bool {
        ring(self.last).is_some_and(|last| !last.is_full())
    }

    /// Puts a value in.
    ///
    /// # Panics
    ///
    /// If there is no room.
    pub(crate) fn push(&mut self, value: T) {
        let Some(last) = ring(self.last).filter(|last| !last.is_full()) else {
            unreachable!("the caller has looked for room")
        };
        last.push(value);
        self.length += 1;
    }

    /// How many values the next ring should have room for.
    pub(crate) fn next_room(&self) -> usize {
        let last = ring(self.last).map(|last| last.slots.len());
        last.map_or(SMALLEST, |room| (2 * room).min(LARGEST))
    }

    /// Puts a ring behind the others, if the last one is full; else it comes back.
    pub(crate) fn add(&mut self, added: Box<Ring<T>>) -> Option<Box<Ring<T>>> {
        let last = ring(self.last);
        if last.as_ref().is_some_and(|last| !last.is_full()) {
            return Some(added);
        }
        let added = Some(NonNull::from(Box::leak(added)));
        match last {
            Some(last) => last.next = added,
            None => self.first = added,
        }
        self.last = added;
        None
    }

    /// Takes the oldest value, and perhaps a ring that is used no more: to be dropped, without
    /// the lock.
    pub(crate) fn pop(&mut self) -> Option<(T, Option<Box<Ring<T>>>)> {
        let first = ring(self.first)?;
        let value = first.pop()?;
        self.length -= 1;
        if first.length > 0 || first.next.is_none() {
            return Some((value, None));
        }
        let used_up = std::mem::replace(&mut self.first, first.next);
        Some((value, own(used_up)))
    }
}

/// A ring of the chain, which only the buffer uses.
fn ring<'a, T>(link: Option<NonNull<Ring<T>>>) -> Option<&'a mut Ring<T>> {
    // SAFETY: it is in the chain, hence alive, and callers have one reference at a time.
    link.map(|mut ring| unsafe { ring.as_mut() })
}

/// A ring that has been taken out of the chain.
fn own<T>(link: Option<NonNull<Ring<T>>>) -> Option<Box<Ring<T>>> {
    // SAFETY: it was a box that was leaked into the chain, and nothing leads to it any more.
    link.map(|ring| unsafe { Box::from_raw(ring.as_ptr()) })
}

impl<T> Drop for Buffer<T> {
    /// Drops all values, also if dropping one of them panics; the first panic goes on.
    fn drop(&mut self) {
        let mut panic = None;
        while let Some((value, _ring)) = self.pop() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
                if panic.is_none() {
                    panic = Some(payload);
                } else {
                    // Its destructor is not trusted either.
                    std::mem::forget(payload);
                }
            }
        }
        drop(own(self.first));
        if let Some(payload) = panic
            && !std::thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Puts a value in, as a channel does.
    fn push<T>(buffer: &mut Buffer<T>, value: T) {
        if !buffer.has_room() {
            assert!(buffer.add(Ring::new(buffer.next_room())).is_none());
        }
        buffer.push(value);
    }

    /// Takes a value out.
    fn pop<T>(buffer: &mut Buffer<T>) -> Option<T> {
        buffer.pop().map(|(value, _ring)| value)
    }

    #[test]
    fn a_ring_of_fixed_size_goes_round() {
        let mut buffer = Buffer::new();
        assert!(!buffer.has_room());
        buffer.add(Ring::new(3));
        for round in 0..10 {
            for i in 0..3 {
                buffer.push(3 * round + i);
            }
            assert_eq!((buffer.has_room(), buffer.len()), (false, 3));
            for i in 0..3 {
                assert_eq!(pop(&mut buffer), Some(3 * round + i));
            }
            assert_eq!(pop(&mut buffer), None);
        }
    }

    #[test]
    fn it_grows_and_keeps_the_order() {
        let mut buffer = Buffer::new();
        let (mut put, mut taken) = (0, 0);
        for round in 0..200 {
            for _ in 0..round {
                push(&mut buffer, put);
                put += 1;
            }
            for _ in 0..round.min(buffer.len()) - round / 7 {
                assert_eq!(pop(&mut buffer), Some(taken));
                taken += 1;
            }
            assert_eq!(buffer.len(), put - taken);
        }
        while let Some(value) = pop(&mut buffer) {
            assert_eq!(value, taken);
            taken += 1;
        }
        assert_eq!(put, taken);
    }

    #[test]
    fn a_ring_comes_back_if_there_is_room_by_now() {
        let mut buffer = Buffer::new();
        assert!(buffer.add(Ring::<u8>::new(1)).is_none());
        assert!(buffer.add(Ring::new(1)).is_some());
    }

    #[test]
    fn it_settles_on_one_ring() {
        let mut buffer = Buffer::new();
        (0..100).for_each(|i| push(&mut buffer, i));
        (0..100).for_each(|_| drop(buffer.pop()));
        for i in 0..10_000 {
            buffer.push(i);
            let (_, ring) = buffer.pop().unwrap();
            assert!(ring.is_none());
        }
    }

    /// Counts its drops; the third one panics.
    #[derive(Debug)]
    struct Counted<'a>(&'a Cell<u32>);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert_ne!(self.0.get(), 3, "the third");
        }
    }

    #[test]
    fn a_value_whose_drop_panics_takes_no_other_along() {
        let count = Cell::new(0);
        let mut buffer = Buffer::new();
        (0..50).for_each(|_| push(&mut buffer, Counted(&count)));
        let panicked = catch_unwind(AssertUnwindSafe(|| drop(buffer)));
        assert!(panicked.is_err());
        assert_eq!(count.get(), 50);
    }
}
