//! The values in a channel, first in, first out.
//!
//! The buffer is a chain of rings, empty at first. Values are taken from the first ring and put
//! into the last ring that has values. A bounded channel has one ring with room for all its values.
//! In an unbounded channel, when the last ring is full, a ring twice as large is put behind it, and
//! rings that run empty are freed. So a channel that has been busy for a while has one large enough
//! ring, and allocates no more. Values are never copied from ring to ring.
//!
//! A bounded channel of more than [`LARGEST`] values grows by rings of [`PIECE`], since it may
//! never be full. Rings that run empty become spare rings at the end of its chain. A channel that
//! has been full must never need memory again, since a receiver moves a waiting sender's value into
//! the room it has made, under the lock. So the channel needs one ring more than its values fill:
//! until it has that many, no value is put in without a spare ring. As many consecutive values are
//! never on more rings than that. And if a value is taken before another one is put in, the first
//! ring is left when the last one is full.
//!
//! A value that is given back goes before all others, in an *extra* ring of its own. It takes no
//! room from others, so only senders can fill a channel.
//!
//! The buffer is used under a lock that is held for a few instructions only. So it neither
//! allocates nor frees memory: its user does, outside of the lock.

use std::mem::{MaybeUninit, needs_drop};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

/// The room of the first ring of an unbounded channel, in values.
const SMALLEST: usize = 16;

/// The largest room of a ring of an unbounded channel.
const LARGEST: usize = 1 << 14;

/// The room of each ring of a bounded channel with more room than that.
const PIECE: usize = 1 << 10;

/// A block of memory with room for some values, used as a ring.
pub(crate) struct Ring<T> {
    slots: Box<[MaybeUninit<T>]>,
    /// The index of the oldest value, if there is one.
    head: usize,
    /// How many values there are.
    length: usize,
    /// Whether it is one that the buffer does not keep.
    extra: bool,
    /// The ring behind this one.
    next: Option<NonNull<Ring<T>>>,
}

impl<T> Ring<T> {
    /// An empty ring. Allocates.
    pub(crate) fn new(room: usize) -> Box<Self> {
        Box::new(Self {
            slots: Box::new_uninit_slice(room),
            head: 0,
            length: 0,
            extra: false,
            next: None,
        })
    }

    /// A ring for one value that is put before all others. Allocates.
    pub(crate) fn extra() -> Box<Self> {
        let mut ring = Self::new(1);
        ring.extra = true;
        ring
    }

    /// Whether the ring is full.
    fn is_full(&self) -> bool {
        self.length == self.slots.len()
    }

    /// Puts a value in. There is room for it.
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
        let slot = &mut self.slots[self.head];
        // SAFETY: the first of the values, which is never taken again.
        let value = unsafe { slot.assume_init_read() };
        if needs_drop::<T>() {
            // A search for stuck fibres would follow its references until another value comes.
            *slot = MaybeUninit::zeroed();
        }
        self.head += 1;
        if self.head == self.slots.len() {
            self.head = 0;
        }
        Some(value)
    }
}

/// The buffer.
pub(crate) struct Buffer<T> {
    /// The ring that values are taken from. The buffer owns the chain from here on.
    first: Option<NonNull<Ring<T>>>,
    /// The ring that values are put into.
    last: Option<NonNull<Ring<T>>>,
    /// The end of the chain: behind `last` come spare rings.
    end: Option<NonNull<Ring<T>>>,
    /// How many values there are, without those in extra rings.
    length: usize,
    /// How many values are in extra rings, which come first.
    given_back: usize,
    /// The room of a ring of a bounded channel.
    piece: usize,
    /// How many rings there are.
    rings: usize,
    /// How many rings are kept; none in an unbounded channel.
    kept: usize,
}

// SAFETY: the buffer owns the rings.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T> Buffer<T> {
    /// An empty buffer without memory, for at most `capacity` values; `usize::MAX` is any number.
    pub(crate) const fn new(capacity: usize) -> Self {
        match capacity {
            usize::MAX => Self::of(0, 0),
            0..=LARGEST => Self::of(capacity, 1),
            _ => Self::of(PIECE, capacity.div_ceil(PIECE) + 1),
        }
    }

    /// An empty buffer with rings of this room, that keeps so many of them.
    const fn of(piece: usize, kept: usize) -> Self {
        Self {
            first: None,
            last: None,
            end: None,
            length: 0,
            given_back: 0,
            piece,
            rings: 0,
            kept,
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.length + self.given_back
    }

    /// How many values take room: all but those that were put before others.
    pub(crate) fn filled(&self) -> usize {
        self.length
    }

    /// Whether a ring must be [added](Self::add) before a value is put in.
    pub(crate) fn needs_ring(&self) -> bool {
        // The ring that the value would go into.
        let place = match ring(self.last) {
            Some(last) if last.is_full() => ring(last.next),
            last => last,
        };
        place.is_none_or(|place| place.next.is_none() && self.rings < self.kept)
    }

    /// Puts a value in.
    ///
    /// # Panics
    ///
    /// If there is no room.
    pub(crate) fn push(&mut self, value: T) {
        let full = ring(self.last).is_none_or(|last| last.is_full());
        if full {
            self.last = ring(self.last).and_then(|last| last.next);
        }
        let Some(last) = ring(self.last) else {
            unreachable!("the caller has looked for room")
        };
        last.push(value);
        self.length += 1;
    }

    /// Puts a value before all others, in an extra ring: it takes no room from values that are put
    /// in, so that a chain that has been full still needs no memory.
    pub(crate) fn push_front(&mut self, value: T, mut extra: Box<Ring<T>>) {
        extra.push(value);
        extra.next = self.first;
        self.first = Some(NonNull::from(Box::leak(extra)));
        self.given_back += 1;
    }

    /// How many values the next ring should have room for.
    pub(crate) fn next_room(&self) -> usize {
        if self.kept > 0 {
            return self.piece;
        }
        let last = ring(self.last).map(|last| last.slots.len());
        last.map_or(SMALLEST, |room| (2 * room).min(LARGEST))
    }

    /// Puts a ring behind the others, if one is needed; gives it back if not.
    pub(crate) fn add(&mut self, added: Box<Ring<T>>) -> Option<Box<Ring<T>>> {
        if !self.needs_ring() {
            return Some(added);
        }
        self.append(added);
        None
    }

    /// Puts an empty ring at the end of the chain.
    fn append(&mut self, added: Box<Ring<T>>) {
        let added = Some(NonNull::from(Box::leak(added)));
        match ring(self.end) {
            Some(end) => end.next = added,
            None => {
                // There may be extra rings.
                match self.last_extra() {
                    Some(extra) => extra.next = added,
                    None => self.first = added,
                }
                self.last = added;
            }
        }
        self.end = added;
        self.rings += 1;
    }

    /// The last of the extra rings, if there are any.
    #[cold]
    fn last_extra(&mut self) -> Option<&mut Ring<T>> {
        let mut extra = ring(self.first)?;
        while let Some(next) = ring(extra.next) {
            extra = next;
        }
        Some(extra)
    }

    /// Takes the oldest value, and perhaps a ring that is no longer used. Drop the ring without the
    /// lock.
    pub(crate) fn pop(&mut self) -> Option<(T, Option<Box<Ring<T>>>)> {
        let first = ring(self.first)?;
        let value = first.pop()?;
        if first.length > 0 || self.first == self.last {
            self.length -= 1;
            return Some((value, None));
        }
        let extra = first.extra;
        let used_up = own(std::mem::replace(&mut self.first, first.next.take()));
        if extra {
            self.given_back -= 1;
            return Some((value, used_up));
        }
        self.length -= 1;
        self.rings -= 1;
        if self.rings < self.kept
            && let Some(mut used_up) = used_up
        {
            used_up.head = 0;
            self.append(used_up);
            return Some((value, None));
        }
        Some((value, used_up))
    }
}

/// A ring of the chain, for the buffer only.
fn ring<'a, T>(link: Option<NonNull<Ring<T>>>) -> Option<&'a mut Ring<T>> {
    // SAFETY: it is in the chain, hence alive, and callers have one reference at a time.
    link.map(|mut ring| unsafe { ring.as_mut() })
}

/// A ring that has been taken out of the chain.
fn own<T>(link: Option<NonNull<Ring<T>>>) -> Option<Box<Ring<T>>> {
    // SAFETY: it was a box that was leaked into the chain, and no link leads to it any more.
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
                    // The destructor of the payload is not trusted either.
                    std::mem::forget(payload);
                }
            }
        }
        while let Some(mut ring) = own(self.first) {
            self.first = ring.next.take();
        }
        if let Some(payload) = panic
            && !std::thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Puts a value in, as a channel does.
    fn push<T>(buffer: &mut Buffer<T>, value: T) {
        while buffer.needs_ring() {
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
        let mut buffer = Buffer::new(3);
        assert!(buffer.needs_ring());
        buffer.add(Ring::new(3));
        for round in 0..10 {
            for i in 0..3 {
                buffer.push(3 * round + i);
            }
            assert_eq!((buffer.needs_ring(), buffer.len()), (true, 3));
            for i in 0..3 {
                assert_eq!(pop(&mut buffer), Some(3 * round + i));
            }
            assert_eq!(pop(&mut buffer), None);
        }
    }

    #[test]
    fn it_grows_and_keeps_the_order() {
        let mut buffer = Buffer::new(usize::MAX);
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
        let mut buffer = Buffer::new(usize::MAX);
        assert!(buffer.add(Ring::<u8>::new(1)).is_none());
        assert!(buffer.add(Ring::new(1)).is_some());
    }

    /// Once the chain has been full, it needs no memory again, in any order of puts and takes.
    #[test]
    fn a_chain_that_was_full_has_room_for_ever() {
        let mut random = 1_u64;
        for (capacity, piece) in [
            (1, 1),
            (2, 1),
            (5, 2),
            (6, 2),
            (7, 3),
            (16, 4),
            (17, 4),
            (50, 7),
        ] {
            let mut buffer = Buffer::of(piece, usize::div_ceil(capacity, piece) + 1);
            let (mut put, mut taken, mut was_full) = (0, 0, false);
            for _ in 0..20_000 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                // For a while mostly puts, for a while mostly takes, and pairs of both when it is
                // full.
                let wants_in = (random >> 33) % 8 < if put / 100 % 2 == 0 { 7 } else { 3 };
                if wants_in && buffer.len() == capacity {
                    was_full = true;
                    assert_eq!(pop(&mut buffer), Some(taken));
                    taken += 1;
                }
                if wants_in {
                    assert!(
                        !was_full || !buffer.needs_ring(),
                        "{capacity} {piece} {put} {taken}"
                    );
                    push(&mut buffer, put);
                    put += 1;
                } else if taken < put {
                    assert_eq!(pop(&mut buffer), Some(taken));
                    taken += 1;
                }
                assert_eq!(buffer.len(), put - taken);
            }
            assert!(
                was_full && buffer.rings == buffer.kept,
                "{capacity} {piece}"
            );
        }
    }

    /// Values that are put back come first, wherever there is room for them, and a chain that has
    /// been full still needs no memory.
    #[test]
    fn what_is_put_back_comes_first() {
        let mut random = 1_u64;
        for (capacity, piece) in [(1, 1), (2, 1), (5, 2), (7, 3), (16, 4)] {
            let mut buffer = Buffer::of(piece, usize::div_ceil(capacity, piece) + 1);
            let mut expected = std::collections::VecDeque::new();
            let mut was_full = false;
            for value in 0..20_000 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                match (random >> 33) % 8 {
                    0 if buffer.len() < capacity + 3 => {
                        buffer.push_front(value, Ring::extra());
                        expected.push_front(value);
                    }
                    1..=4 if buffer.filled() < capacity => {
                        assert!(!was_full || !buffer.needs_ring(), "{capacity} {piece}");
                        push(&mut buffer, value);
                        expected.push_back(value);
                    }
                    _ => assert_eq!(pop(&mut buffer), expected.pop_front()),
                }
                was_full |= buffer.filled() == capacity;
                assert_eq!(buffer.len(), expected.len());
            }
        }
        let mut rendezvous = Buffer::new(0);
        rendezvous.push_front(7, Ring::extra());
        assert_eq!((rendezvous.len(), rendezvous.filled()), (1, 0));
        assert_eq!(
            (pop(&mut rendezvous), pop(&mut rendezvous)),
            (Some(7), None)
        );
    }

    #[test]
    fn a_large_capacity_takes_no_memory_in_advance() {
        for capacity in [LARGEST + 1, 1 << 40, usize::MAX - 1] {
            let mut buffer = Buffer::<u64>::new(capacity);
            (0..3).for_each(|i| push(&mut buffer, i));
            assert_eq!(buffer.rings, 2, "{capacity}");
        }
    }

    #[test]
    fn it_settles_on_one_ring() {
        let mut buffer = Buffer::new(usize::MAX);
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
        let mut buffer = Buffer::new(usize::MAX);
        (0..50).for_each(|_| push(&mut buffer, Counted(&count)));
        let panicked = catch_unwind(AssertUnwindSafe(|| drop(buffer)));
        assert!(panicked.is_err());
        assert_eq!(count.get(), 50);
    }
}
