//! A table with numbered places, under the lock of its owner.
//!
//! Adding and removing take the same few instructions however many there are, and neither allocates
//! nor frees memory: whoever adds brings room, which was made without the lock.

use std::mem;

/// The least room that is made.
const LEAST: usize = 4;

/// The table.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    /// The first free slot; as many as there are slots if none is free.
    free: u32,
}

/// One place.
#[derive(Debug)]
enum Slot<T> {
    /// A free slot, and the next one.
    Free(u32),
    /// What has been put in.
    Taken(T),
}

/// Room for a table, or what a table has left in its place: to be dropped without the lock.
#[derive(Debug)]
pub(crate) struct Room<T>(Vec<Slot<T>>);

impl<T> Room<T> {
    /// No room.
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Makes room for so many. Allocates.
    pub(crate) fn make(&mut self, places: usize) {
        self.0 = Vec::with_capacity(places);
    }
}

impl<T> Slots<T> {
    /// An empty table without memory.
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: 0,
        }
    }

    /// For how many places room has to be made before one is put in, if there is neither a free one
    /// nor enough in `room`, which is taken otherwise.
    pub(crate) fn lacks_room(&mut self, room: &mut Room<T>) -> Option<usize> {
        let is_full =
            self.free as usize == self.slots.len() && self.slots.len() == self.slots.capacity();
        if !is_full {
            return None;
        }
        if room.0.capacity() <= self.slots.len() {
            return Some((2 * self.slots.len()).max(LEAST));
        }
        room.0.append(&mut self.slots);
        mem::swap(&mut room.0, &mut self.slots);
        None
    }

    /// Puts something in. There is room for it. Returns its place.
    pub(crate) fn put(&mut self, value: T) -> u32 {
        let index = self.free;
        match self.slots.get_mut(index as usize) {
            Some(slot) => {
                if let Slot::Free(next) = mem::replace(slot, Slot::Taken(value)) {
                    self.free = next;
                }
            }
            None => {
                self.slots.push(Slot::Taken(value));
                self.free = index + 1;
            }
        }
        index
    }

    /// What is at a place.
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        match self.slots.get(index as usize)? {
            Slot::Taken(value) => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// Takes out what is at a place.
    pub(crate) fn take(&mut self, index: u32) -> Option<T> {
        self.get(index)?;
        let free = Slot::Free(self.free);
        let slot = mem::replace(self.slots.get_mut(index as usize)?, free);
        self.free = index;
        match slot {
            Slot::Taken(value) => Some(value),
            Slot::Free(_) => None,
        }
    }

    /// Up to `most` places from one on, free ones included.
    pub(crate) fn stretch(
        &self,
        from: usize,
        most: usize,
    ) -> impl ExactSizeIterator<Item = Option<&T>> {
        let stretch = self.slots.iter().skip(from).take(most);
        stretch.map(|slot| match slot {
            Slot::Taken(value) => Some(value),
            Slot::Free(_) => None,
        })
    }

    /// All that is in, in the order of places.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().filter_map(|slot| match slot {
            Slot::Taken(value) => Some(value),
            Slot::Free(_) => None,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Puts something in, and brings room.
    fn put(slots: &mut Slots<u32>, value: u32) -> u32 {
        let mut room = Room::none();
        while let Some(places) = slots.lacks_room(&mut room) {
            room.make(places);
        }
        slots.put(value)
    }

    #[test]
    fn places_are_used_again() {
        let mut slots = Slots::new();
        let places: Vec<_> = (0..100).map(|value| put(&mut slots, value)).collect();
        for place in places.iter().skip(1).step_by(2) {
            assert_eq!(slots.get(*place), Some(place));
            assert_eq!(slots.take(*place), Some(*place));
            assert_eq!((slots.take(*place), slots.get(*place)), (None, None));
        }
        for value in 100..150 {
            assert!(put(&mut slots, value) < 100);
        }
        assert_eq!(slots.stretch(90, 64).len(), 10);
        let mut values: Vec<_> = slots.into_values().collect();
        values.sort_unstable();
        assert!(values.into_iter().eq((0..100).step_by(2).chain(100..150)));
    }
}
