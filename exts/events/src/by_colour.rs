//! A processor's queue after Mely (section IV): a list of the colours that have events.
//!
//! * The *core-queue* is a doubly linked list of colours that have events and do not run. The next
//!   event is the first of the first colour; a colour that has had its batch goes to the end.
//! * The *stealing-queue* has those of them that are worth a theft: with more time left than a
//!   theft costs. It has three intervals, in no order inside.
//!
//! A colour that runs is in neither, so a thief cannot take it.

use crate::policy::{Choice, Rules};
use crate::slab::{Chain, Slab};
use crate::slot::{Load, Phase, SCALE, Slot};
use std::collections::VecDeque;

/// How many intervals there are.
const INTERVALS: usize = 3;

/// The colours of one processor that have events.
#[derive(Debug)]
pub(crate) struct ByColour {
    core_queue: Chain<0>,
    stealing_queue: [Chain<1>; INTERVALS],
}

impl ByColour {
    /// A queue without colours.
    pub(crate) fn new() -> Self {
        Self {
            core_queue: Chain::new(),
            stealing_queue: [const { Chain::new() }; INTERVALS],
        }
    }

    /// Whether a colour waits for its turn.
    pub(crate) fn has_work(&self) -> bool {
        !self.core_queue.is_empty()
    }

    /// How many colours wait for their turns.
    pub(crate) fn ready(&self) -> usize {
        self.core_queue.len()
    }

    /// Appends an event of a colour.
    pub(crate) fn push<E: Load>(&mut self, slots: &mut Slab<Slot<E>>, number: u32, event: E) {
        let slot = slots.get_mut(number);
        slot.left = slot.left.saturating_add(event.weight());
        slot.pending += 1;
        slot.events.push_back(event);
    }

    /// Makes a colour ready that has events, or tells the intervals that it has more of them.
    pub(crate) fn enqueue<E>(
        &mut self,
        slots: &mut Slab<Slot<E>>,
        number: u32,
        rules: &Rules,
        cost: u64,
    ) {
        let slot = slots.get_mut(number);
        if slot.phase != Phase::Ready {
            slot.phase = Phase::Ready;
            self.core_queue.push_back(slots, number);
        }
        if rules.choice == Choice::TimeLeft {
            let interval = interval(slots.get(number).left, cost, rules.bounds);
            self.place(slots, number, interval);
        }
    }

    /// Puts a colour into an interval, out of the one that it is in.
    fn place<E>(&mut self, slots: &mut Slab<Slot<E>>, number: u32, interval: Option<u8>) {
        let before = std::mem::replace(&mut slots.get_mut(number).interval, interval);
        if before == interval {
            return;
        }
        if let Some(before) = before {
            self.stealing_queue[usize::from(before)].remove(slots, number);
        }
        if let Some(interval) = interval {
            self.stealing_queue[usize::from(interval)].push_back(slots, number);
        }
    }

    /// Takes the first colour and a batch of its events.
    pub(crate) fn take<E: Load>(
        &mut self,
        slots: &mut Slab<Slot<E>>,
        batch: usize,
        taken: &mut VecDeque<E>,
    ) -> Option<u32> {
        let number = self.core_queue.first()?;
        self.remove(slots, number);
        let slot = slots.get_mut(number);
        slot.phase = Phase::Running;
        if slot.pending <= batch {
            // Both keep the memory of the other.
            std::mem::swap(&mut slot.events, taken);
            slot.pending = 0;
            slot.left = 0;
        } else {
            for event in slot.events.drain(..batch) {
                slot.left = slot.left.saturating_sub(event.weight());
                taken.push_back(event);
            }
            slot.pending -= batch;
        }
        Some(number)
    }

    /// Takes a colour that is ready out of the core-queue and its interval.
    pub(crate) fn remove<E>(&mut self, slots: &mut Slab<Slot<E>>, number: u32) {
        self.core_queue.remove(slots, number);
        self.place(slots, number, None);
    }

    /// The colour that a thief would take; `total` and `colours` count all events and colours with
    /// events, running ones included.
    pub(crate) fn choose<E>(
        &self,
        slots: &Slab<Slot<E>>,
        rules: &Rules,
        total: usize,
        colours: usize,
    ) -> Option<u32> {
        match rules.choice {
            Choice::Nothing => None,
            Choice::Base if colours < 2 => None,
            Choice::Base => {
                let is_less_than_half = |number: &u32| 2 * slots.get(*number).pending < total;
                self.core_queue.iter(slots).find(is_less_than_half)
            }
            Choice::TimeLeft => self.stealing_queue.iter().rev().find_map(Chain::first),
        }
    }
}

/// The interval of a colour that has so much time left, where a theft costs so much: none if it is
/// not worth the theft.
fn interval(left: u64, cost: u64, bounds: [u32; 2]) -> Option<u8> {
    let cost = cost.saturating_mul(SCALE);
    let [low, high] = bounds.map(|bound| cost.saturating_mul(u64::from(bound)));
    match left {
        _ if left <= cost => None,
        _ if left <= low => Some(0),
        _ if left <= high => Some(1),
        _ => Some(2),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_open_below_and_closed_above() {
        let of = |nanoseconds: u64| interval(nanoseconds * SCALE, 100, [4, 16]);
        assert_eq!([of(0), of(100)], [None, None]);
        assert_eq!([of(101), of(400)], [Some(0), Some(0)]);
        assert_eq!([of(401), of(1600)], [Some(1), Some(1)]);
        assert_eq!([of(1601), of(1 << 40)], [Some(2), Some(2)]);
    }
}
