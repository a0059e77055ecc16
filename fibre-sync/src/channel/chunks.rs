//! The ring of a [`broadcast`](super::broadcast()) channel, in chunks.
//!
//! Each value has a fixed place in the sequence of all sent values. Places wrap around in a number
//! of slots that is a power of two. The slots lie in chunks, which are allocated when their first
//! value comes, and stay. So no value moves. A table holds the chunks. It doubles when all of them
//! are in use, up to the capacity, and then its pointers move.
//!
//! The ring is used under a short lock. So it neither allocates nor frees: its user allocates what
//! [is missing](Chunks::lacks) and drops what comes back, both without the lock.

use std::sync::Arc;

/// How many slots a chunk has at most.
const CHUNK: usize = 1024;

/// How many chunks the first table has at most.
const TABLE: usize = 16;

/// A value on its way.
pub(super) struct Slot<T> {
    /// The value.
    pub(super) value: Arc<T>,
    /// How many receivers have not had it.
    pub(super) awaited_by: usize,
}

/// Slots that lie together. Those of places that are not in the ring are empty.
type Chunk<T> = Box<[Option<Slot<T>>]>;

/// The chunks, as far as they have been allocated: that of a place at its number, modulo the
/// length.
type Table<T> = Box<[Option<Chunk<T>>]>;

/// The ring of chunks.
pub(super) struct Chunks<T> {
    table: Table<T>,
    /// The place of the oldest value.
    first: u64,
    /// The place of the next value.
    end: u64,
    /// Of how many slots a chunk is: the exponent of two.
    width: u32,
    /// How many chunks there are at most; a power of two.
    most: usize,
}

/// What is missing.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// A chunk of so many slots.
    Chunk(usize),
    /// A table of so many chunks.
    Table(usize),
}

/// What was missing, made without the lock.
pub(super) enum Supply<T> {
    Chunk(Chunk<T>),
    Table(Table<T>),
}

impl Lack {
    /// Makes it. Allocates.
    pub(super) fn make<T>(self) -> Supply<T> {
        match self {
            Self::Chunk(slots) => Supply::Chunk(empty(slots)),
            Self::Table(chunks) => Supply::Table(empty(chunks)),
        }
    }
}

/// So many empty places. Allocates.
fn empty<V>(places: usize) -> Box<[Option<V>]> {
    std::iter::repeat_with(|| None).take(places).collect()
}

impl<T> Chunks<T> {
    /// An empty ring for so many values. Allocates.
    pub(super) fn new(capacity: usize) -> Self {
        let slots = capacity.min(CHUNK).next_power_of_two();
        // The highest power of two there is has room for all that fits into memory.
        let chunks = capacity.div_ceil(slots).checked_next_power_of_two();
        let most = chunks.unwrap_or(1 << (usize::BITS - 1));
        Self {
            table: empty(most.min(TABLE)),
            first: 0,
            end: 0,
            width: slots.trailing_zeros(),
            most,
        }
    }

    /// The place of the oldest value.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The place of the next value.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How many values there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// The number of a place's chunk.
    #[inline]
    fn number(&self, place: u64) -> u64 {
        place >> self.width
    }

    /// The chunk of a place, and where it is there.
    #[inline]
    fn spot(&self, place: u64) -> (usize, usize) {
        let chunk = self.number(place) as usize & (self.table.len() - 1);
        (chunk, place as usize & ((1 << self.width) - 1))
    }

    /// What has to be [brought](Self::bring) before a value can be put in, if anything.
    #[inline]
    pub(super) fn lacks(&self) -> Option<Lack> {
        let used = self.number(self.end) - self.number(self.first);
        if used >= self.table.len() as u64 && self.table.len() < self.most {
            return Some(Lack::Table(2 * self.table.len()));
        }
        let (chunk, _) = self.spot(self.end);
        self.table[chunk]
            .is_none()
            .then_some(Lack::Chunk(1 << self.width))
    }

    /// Takes what is missing. Returns what is to be dropped without the lock.
    #[must_use = "it would be dropped under the lock"]
    pub(super) fn bring(&mut self, supply: Supply<T>) -> Option<Supply<T>> {
        match (self.lacks(), supply) {
            (Some(Lack::Chunk(_)), Supply::Chunk(chunk)) => {
                let (missing, _) = self.spot(self.end);
                self.table[missing] = Some(chunk);
                None
            }
            (Some(Lack::Table(chunks)), Supply::Table(mut table)) if table.len() == chunks => {
                let first = self.number(self.first);
                for number in first..first + self.table.len() as u64 {
                    let before = number as usize & (self.table.len() - 1);
                    table[number as usize & (chunks - 1)] = self.table[before].take();
                }
                Some(Supply::Table(std::mem::replace(&mut self.table, table)))
            }
            // Another sender was faster.
            (_, supply) => Some(supply),
        }
    }

    /// The value at a place, if it is in the ring.
    #[inline]
    pub(super) fn get_mut(&mut self, place: u64) -> Option<&mut Slot<T>> {
        if place < self.first || place >= self.end {
            return None;
        }
        let (chunk, at) = self.spot(place);
        self.table[chunk].as_mut()?[at].as_mut()
    }

    /// Puts a value in: there is a chunk and room for it.
    #[inline]
    pub(super) fn push_last(&mut self, slot: Slot<T>) {
        let (chunk, at) = self.spot(self.end);
        if let Some(chunk) = &mut self.table[chunk] {
            debug_assert!(chunk[at].is_none(), "a value would be lost");
            chunk[at] = Some(slot);
            self.end += 1;
        }
    }

    /// Takes the oldest value out.
    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<Slot<T>> {
        let (chunk, at) = self.spot(self.first);
        let slot = self.table[chunk].as_mut()?[at].take();
        self.first += u64::from(slot.is_some());
        slot
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Puts a value in, as senders do.
    fn push(ring: &mut Chunks<u64>, value: u64) {
        while let Some(lack) = ring.lacks() {
            let back = ring.bring(lack.make());
            assert_eq!(back.is_some(), matches!(lack, Lack::Table(_)));
        }
        ring.push_last(Slot {
            value: Arc::new(value),
            awaited_by: 1,
        });
    }

    #[test]
    fn values_keep_their_places_all_around() {
        for capacity in [1, 2, 3, 1000, 1024, 1025, 5000, 40 * CHUNK] {
            let mut ring = Chunks::new(capacity);
            assert_eq!(ring.len(), 0);
            let rounds = 3 * capacity as u64 + 7;
            for value in 0..rounds {
                if ring.len() == capacity {
                    assert_eq!(*ring.pop_first().unwrap().value, value - capacity as u64);
                }
                push(&mut ring, value);
                assert_eq!(
                    (ring.end(), ring.end() - ring.first()),
                    (value + 1, ring.len() as u64)
                );
                assert_eq!(*ring.get_mut(value).unwrap().value, value);
                let first = ring.first();
                assert_eq!(*ring.get_mut(first).unwrap().value, first);
            }
            let first = ring.first();
            assert!(ring.get_mut(rounds).is_none());
            assert!(first == 0 || ring.get_mut(first - 1).is_none());
            while ring.pop_first().is_some() {}
            assert_eq!((ring.len(), ring.first()), (0, rounds));
        }
    }

    #[test]
    fn chunks_come_when_they_are_needed_and_stay() {
        let mut ring = Chunks::new(3 * CHUNK);
        let there = |ring: &Chunks<u64>| ring.table.iter().flatten().count();
        assert_eq!(there(&ring), 0);
        (0..CHUNK as u64).for_each(|value| push(&mut ring, value));
        assert_eq!(there(&ring), 1);
        push(&mut ring, 0);
        assert_eq!(there(&ring), 2);
        for lack in [Lack::Chunk(CHUNK), Lack::Table(8)] {
            assert!(
                ring.bring(lack.make()).is_some(),
                "another sender was faster"
            );
        }
        while ring.pop_first().is_some() {}
        assert_eq!(there(&ring), 2);
    }

    #[test]
    fn a_table_doubles_from_any_place() {
        for begin in [0, 1, CHUNK as u64 - 1, 5 * CHUNK as u64 + 7] {
            let mut ring = Chunks::new(usize::MAX);
            assert_eq!(ring.table.len(), TABLE);
            for value in 0..begin {
                push(&mut ring, value);
                ring.pop_first();
            }
            let end = begin + 3 * (TABLE * CHUNK) as u64;
            (begin..end).for_each(|value| push(&mut ring, value));
            assert_eq!(ring.table.len(), 4 * TABLE);
            assert!((begin..end).all(|value| *ring.get_mut(value).unwrap().value == value));
            assert!((begin..end).all(|value| *ring.pop_first().unwrap().value == value));
        }
    }
}
