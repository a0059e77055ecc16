//! A processor's queue after libasync-smp (section 3, figure 5): one list of all events.
//!
//! Events that were posted (`cpucb`) lie before those of descriptors, timers and signals. The
//! scheduler looks at the first few for one of the colour that ran last, else takes the first. A
//! thief scans the list for a colour, and once more for its events.

use crate::slab::{Chain, NONE, Slab};
use crate::slot::{Load, Phase, Slot};
use std::collections::VecDeque;

/// An event in the list.
#[derive(Debug)]
struct Node<E> {
    /// `None` in nodes that are not used.
    event: Option<E>,
    /// The slot of its colour.
    slot: u32,
}

/// The events of one processor, in one list.
#[derive(Debug)]
pub(crate) struct ByEvent<E> {
    nodes: Slab<Node<E>>,
    /// Events that were posted: "cpucb Tail" is the end of this one.
    posted: Chain<0>,
    /// The others: "Queue Tail" is the end of this one.
    detected: Chain<0>,
    /// The slot of the colour that ran last.
    last: u32,
}

impl<E: Load> ByEvent<E> {
    /// A queue without events.
    pub(crate) fn new() -> Self {
        Self {
            nodes: Slab::new(),
            posted: Chain::new(),
            detected: Chain::new(),
            last: NONE,
        }
    }

    /// Appends an event of a colour, behind its kind.
    pub(crate) fn push(&mut self, slots: &mut Slab<Slot<E>>, number: u32, event: E) {
        let slot = slots.get_mut(number);
        slot.left = slot.left.saturating_add(event.weight());
        slot.pending += 1;
        let is_posted = event.is_posted();
        let with = (Some(event), number);
        let renew = |node: &mut Node<E>, (event, slot)| *node = Node { event, slot };
        let node = self
            .nodes
            .insert(with, renew, |(event, slot)| Node { event, slot });
        if is_posted {
            self.posted.push_back(&mut self.nodes, node);
        } else {
            self.detected.push_back(&mut self.nodes, node);
        }
    }

    /// All events, in order.
    fn iter(&self) -> impl Iterator<Item = u32> {
        let posted = self.posted.iter(&self.nodes);
        posted.chain(self.detected.iter(&self.nodes))
    }

    /// Whether there is an event of a colour that does not run.
    pub(crate) fn has_idle_colour(&self, slots: &Slab<Slot<E>>) -> bool {
        self.iter()
            .any(|node| slots.get(self.nodes.get(node).slot).phase != Phase::Running)
    }

    /// Takes one event, of a colour that does not run.
    pub(crate) fn take(
        &mut self,
        slots: &mut Slab<Slot<E>>,
        few: usize,
        taken: &mut VecDeque<E>,
    ) -> Option<u32> {
        let (mut first, mut same) = (None, None);
        for (looks, node) in self.iter().enumerate() {
            let slot = self.nodes.get(node).slot;
            let runs = slots.get(slot).phase == Phase::Running;
            if !runs && slot == self.last && looks < few {
                same = Some(node);
                break;
            }
            first = first.or(Some(node).filter(|_| !runs));
            if first.is_some() && looks + 1 >= few {
                break;
            }
        }
        let node = same.or(first)?;
        let (slot, event) = self.remove(node)?;
        self.last = slot;
        let entry = slots.get_mut(slot);
        entry.phase = Phase::Running;
        entry.pending -= 1;
        entry.left = entry.left.saturating_sub(event.weight());
        taken.push_back(event);
        Some(slot)
    }

    /// Takes out an event.
    fn remove(&mut self, node: u32) -> Option<(u32, E)> {
        let entry = self.nodes.get_mut(node);
        let (slot, event) = (entry.slot, entry.event.take()?);
        if event.is_posted() {
            self.posted.remove(&mut self.nodes, node);
        } else {
            self.detected.remove(&mut self.nodes, node);
        }
        self.nodes.free(node);
        Some((slot, event))
    }

    /// The first colour in the list that does not run and has less than half of the events.
    pub(crate) fn choose(
        &self,
        slots: &Slab<Slot<E>>,
        total: usize,
        colours: usize,
    ) -> Option<u32> {
        if colours < 2 {
            return None;
        }
        self.iter()
            .map(|node| self.nodes.get(node).slot)
            .find(|number| {
                let slot = slots.get(*number);
                slot.phase != Phase::Running && 2 * slot.pending < total
            })
    }

    /// Takes out all events of a colour.
    pub(crate) fn extract(&mut self, slots: &mut Slab<Slot<E>>, number: u32) -> VecDeque<E> {
        let pending = slots.get(number).pending;
        let mut found: Vec<u32> = Vec::with_capacity(pending);
        let of_colour = |node: &u32| self.nodes.get(*node).slot == number;
        // The count of the colour's events says where the scan may end.
        found.extend(self.iter().filter(of_colour).take(pending));
        if self.last == number {
            self.last = NONE;
        }
        let events = found.into_iter().filter_map(|node| self.remove(node));
        events.map(|(_, event)| event).collect()
    }

    /// Forgets that a colour ran last, as its slot is another's from now on.
    pub(crate) fn forget(&mut self, number: u32) {
        if self.last == number {
            self.last = NONE;
        }
    }
}
