//! The newest events of one writer. Any thread may read them at any time.
//!
//! ```text
//!     written = 10, 8 slots:   │ 8 │ 9 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │
//!                                        ▲ the next event goes here
//! ```
//!
//! The writer fills the slot of the oldest event, and then counts the new one. It waits for nobody
//! and notices no reader. A reader copies the slots, and then reads the count once more: it drops
//! the events that the writer may have begun to overwrite by then.
//!
//! Invariants:
//!
//! 1. One thread at a time writes. A second one would spoil events, not memory.
//! 2. While `written` is *n*, no slot has a word of an event after number *n*, and only of that one
//!    a slot may have one word and not the other.
//!
//! # Memory ordering
//!
//! The words of a slot are stored with release and loaded with acquire. A reader that has loaded a
//! word of event *n* sees, when it loads `written` afterwards, *n* or more, and leaves out the
//! event that was there before. The count is stored with release and first loaded with acquire, so
//! a counted event is whole. On x86-64 all of these are plain moves.

use crate::sync::{AtomicU64, Ordering, planted};

/// One event.
#[derive(Debug)]
struct Slot([AtomicU64; 2]);

/// The newest events of one writer.
#[derive(Debug)]
pub struct Ring {
    /// The events. A power of two.
    slots: Box<[Slot]>,
    /// How many events have been written.
    written: AtomicU64,
}

/// What was in a ring.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RingCopy {
    /// How many events came before these, and are lost.
    pub lost: u64,
    /// The events, in the order they were written.
    pub events: Vec<[u64; 2]>,
}

impl Ring {
    /// A ring with room for so many events, or up to twice as many. `None`: there is no memory.
    #[must_use]
    pub fn new(events: usize) -> Option<Self> {
        Some(Self {
            slots: empty(events.max(2).checked_next_power_of_two()?)?,
            written: AtomicU64::new(0),
        })
    }

    /// Writes an event over the oldest one. The writer only.
    #[inline]
    pub fn push(&self, event: [u64; 2]) {
        let number = self.written.load(Ordering::Relaxed);
        let Some(slot) = self.slots.get(self.place(number)) else {
            unreachable!("a place is one of the ring's")
        };
        let order = if planted("trace ring: words come before the count") {
            Ordering::Relaxed
        } else {
            Ordering::Release
        };
        for (word, value) in slot.0.iter().zip(event) {
            word.store(value, order);
        }
        self.written.store(number + 1, Ordering::Release);
    }

    /// The newest events. Any thread.
    #[must_use]
    pub fn copy(&self) -> RingCopy {
        let room = self.slots.len() as u64;
        let end = self.written.load(Ordering::Acquire);
        let begin = end.saturating_sub(room);
        let read = |number| {
            let slot = &self.slots[self.place(number)];
            [0, 1].map(|word| slot.0[word].load(Ordering::Acquire))
        };
        let mut events: Vec<_> = (begin..end).map(read).collect();
        let now = self.written.load(Ordering::Relaxed);
        let being_written = u64::from(!planted("trace ring: what is being overwritten is kept"));
        // The event with the number `now` may have been begun.
        let whole = (now + being_written).saturating_sub(room).clamp(begin, end);
        events.drain(..(whole - begin) as usize);
        RingCopy {
            lost: whole,
            events,
        }
    }

    /// How many events have been written. Any thread.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The place of an event.
    #[inline(always)]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.slots.len() - 1)
    }
}

/// So many empty slots, which cost memory only once they have been written to.
#[cfg(not(loom))]
fn empty(slots: usize) -> Option<Box<[Slot]>> {
    use std::alloc::{Layout, alloc_zeroed};
    let layout = Layout::array::<Slot>(slots).ok()?;
    // SAFETY: there are two slots at least.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<Slot>();
    if memory.is_null() {
        return None;
    }
    let slots = std::ptr::slice_from_raw_parts_mut(memory, slots);
    // SAFETY: just allocated for as many slots, and a slot may be all zeros.
    Some(unsafe { Box::from_raw(slots) })
}

/// So many empty slots.
#[cfg(loom)]
fn empty(slots: usize) -> Option<Box<[Slot]>> {
    let slot = |_| Slot([AtomicU64::new(0), AtomicU64::new(0)]);
    Some((0..slots).map(slot).collect())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn the_newest_events_are_kept_in_order() {
        let ring = Ring::new(5).unwrap();
        assert_eq!(ring.copy(), RingCopy::default());
        for number in 0..6 {
            ring.push([number, number + 100]);
        }
        let copied = ring.copy();
        assert_eq!(copied.lost, 0);
        assert_eq!(copied.events.first(), Some(&[0, 100]));
        for number in 6..30 {
            ring.push([number, number + 100]);
        }
        let copied = ring.copy();
        // One less than there are slots: the next event might be on its way.
        assert_eq!((copied.lost, copied.events.len()), (23, 7));
        let expected = (23..30).map(|number| [number, number + 100]);
        assert!(copied.events.into_iter().eq(expected));
        assert_eq!(ring.written(), 30);
    }

    #[test]
    fn a_reader_never_sees_half_an_event() {
        let (ring, stop) = (Ring::new(16).unwrap(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    ring.push([number, !number]);
                    number += 1;
                }
            });
            let mut last = 0;
            for _ in 0..20_000 {
                let copied = ring.copy();
                for (place, [first, second]) in copied.events.iter().enumerate() {
                    assert_eq!(*second, !first);
                    assert_eq!(*first, copied.lost + place as u64);
                }
                assert!(copied.lost >= last);
                last = copied.lost;
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
