//! All events of one processor, under its lock: by colour or by event, whichever the policy says.

use crate::by_colour::ByColour;
use crate::by_event::ByEvent;
use crate::policy::{Choice, Rules};
use crate::slab::{Chain, Slab};
use crate::slot::{Cell, Load, Phase, Slot, Spot};
use fibre_core::sync::planted;
use std::collections::VecDeque;
use std::sync::Arc;

/// The two forms of queues.
enum Form<E> {
    Colours(ByColour),
    Events(ByEvent<E>),
}

/// All of one colour, on its way from one processor to another.
pub(crate) struct Parcel<E> {
    pub(crate) cell: Arc<Cell>,
    pub(crate) events: VecDeque<E>,
    /// The weights of these events.
    pub(crate) left: u64,
}

/// All events of one processor.
pub(crate) struct CoreQueue<E> {
    slots: Slab<Slot<E>>,
    form: Form<E>,
    /// Colours without events, the longest without first.
    resting: Chain<0>,
    /// Events that are queued.
    total: usize,
    /// Colours that have such events, running ones included.
    colours: usize,
}

impl<E: Load> CoreQueue<E> {
    /// An empty queue.
    pub(crate) fn new(rules: &Rules) -> Self {
        Self {
            slots: Slab::new(),
            form: if rules.by_event {
                Form::Events(ByEvent::new())
            } else {
                Form::Colours(ByColour::new())
            },
            resting: Chain::new(),
            total: 0,
            colours: 0,
        }
    }

    /// How many events are queued.
    pub(crate) fn len(&self) -> usize {
        self.total
    }

    /// How many colours rest.
    pub(crate) fn resting(&self) -> usize {
        self.resting.len()
    }

    /// Whether an event could run now.
    pub(crate) fn has_work(&self) -> bool {
        match &self.form {
            Form::Colours(queue) => queue.has_work(),
            // Colours that run may have events here, so this looks at more than the total.
            Form::Events(queue) => self.total > 0 && queue.has_idle_colour(&self.slots),
        }
    }

    /// Gives a colour a slot, where it rests.
    pub(crate) fn adopt(&mut self, cell: Arc<Cell>) -> u32 {
        let number = Slot::adopt(&mut self.slots, cell);
        self.resting.push_back(&mut self.slots, number);
        number
    }

    /// Appends an event.
    pub(crate) fn push(&mut self, number: u32, event: E, rules: &Rules, cost: u64) {
        self.append(number, event);
        self.enqueue(number, rules, cost);
    }

    /// Appends an event without making its colour ready.
    fn append(&mut self, number: u32, event: E) {
        self.total += 1;
        self.colours += usize::from(self.slots.get(number).pending == 0);
        match &mut self.form {
            Form::Colours(queue) => queue.push(&mut self.slots, number, event),
            Form::Events(queue) => queue.push(&mut self.slots, number, event),
        }
    }

    /// Makes a colour ready that has events and does not run.
    fn enqueue(&mut self, number: u32, rules: &Rules, cost: u64) {
        let phase = self.slots.get(number).phase;
        if phase == Phase::Running && !planted(crate::faults::scheduler::TAKES_A_RUNNING_COLOUR) {
            return;
        }
        if phase == Phase::Resting {
            self.resting.remove(&mut self.slots, number);
        }
        match &mut self.form {
            Form::Colours(queue) => queue.enqueue(&mut self.slots, number, rules, cost),
            Form::Events(_) => self.slots.get_mut(number).phase = Phase::Ready,
        }
    }

    /// Takes a colour and some of its events to run.
    pub(crate) fn take(&mut self, rules: &Rules, taken: &mut VecDeque<E>) -> Option<Arc<Cell>> {
        let number = match &mut self.form {
            Form::Colours(queue) => queue.take(&mut self.slots, rules.batch, taken),
            Form::Events(queue) => queue.take(&mut self.slots, rules.few, taken),
        }?;
        let slot = self.slots.get(number);
        self.total -= taken.len();
        self.colours -= usize::from(slot.pending == 0);
        slot.cell.clone()
    }

    /// Puts events back that were taken and have not run, before the others of their colour, which
    /// still runs.
    pub(crate) fn put_back(&mut self, number: u32, events: &mut VecDeque<E>) {
        let Form::Colours(_) = self.form else {
            debug_assert!(events.is_empty(), "there is one event at a time");
            return;
        };
        if events.is_empty() {
            return;
        }
        let slot = self.slots.get_mut(number);
        self.total += events.len();
        self.colours += usize::from(slot.pending == 0);
        slot.pending += events.len();
        let weights = events.iter().map(Load::weight);
        slot.left = weights.fold(slot.left, u64::saturating_add);
        while let Some(event) = events.pop_back() {
            slot.events.push_front(event);
        }
    }

    /// Ends a colour's run: it is ready if it has events, else it rests.
    pub(crate) fn finish(&mut self, number: u32, rules: &Rules, cost: u64) {
        let slot = self.slots.get_mut(number);
        if slot.pending > 0 {
            // It is in no chain, as a resting one would be.
            slot.phase = Phase::Running;
            match &mut self.form {
                Form::Colours(queue) => queue.enqueue(&mut self.slots, number, rules, cost),
                Form::Events(_) => slot.phase = Phase::Ready,
            }
            return;
        }
        slot.phase = Phase::Resting;
        self.resting.push_back(&mut self.slots, number);
    }

    /// The colour that has rested for the longest time.
    pub(crate) fn longest_resting(&self) -> Option<Arc<Cell>> {
        let number = self.resting.first()?;
        self.slots.get(number).cell.clone()
    }

    /// Gives up a slot, if its colour rests.
    pub(crate) fn retire(&mut self, number: u32) -> bool {
        if self.slots.get(number).phase != Phase::Resting {
            return false;
        }
        self.resting.remove(&mut self.slots, number);
        if let Form::Events(queue) = &mut self.form {
            queue.forget(number);
        }
        Slot::vacate(&mut self.slots, number);
        true
    }

    /// Whether a thief would find something.
    pub(crate) fn can_be_stolen(&self, rules: &Rules) -> bool {
        self.choose(rules).is_some()
    }

    /// The colour that a thief would take.
    fn choose(&self, rules: &Rules) -> Option<u32> {
        match &self.form {
            _ if rules.choice == Choice::Nothing => None,
            Form::Colours(queue) => queue.choose(&self.slots, rules, self.total, self.colours),
            Form::Events(queue) => queue.choose(&self.slots, self.total, self.colours),
        }
    }

    /// Takes all of a colour out, for a thief.
    pub(crate) fn steal(&mut self, rules: &Rules) -> Option<Parcel<E>> {
        let number = self.choose(rules)?;
        let left = self.slots.get(number).left;
        let found = match &mut self.form {
            Form::Colours(queue) => {
                queue.remove(&mut self.slots, number);
                None
            }
            Form::Events(queue) => Some(queue.extract(&mut self.slots, number)),
        };
        let (cell, events) = Slot::vacate(&mut self.slots, number);
        let events = found.unwrap_or(events);
        self.total -= events.len();
        self.colours -= 1;
        cell.map(|cell| Parcel { cell, events, left })
    }

    /// Takes all events out: of colours that are ready, which rest then, and of those that run.
    pub(crate) fn take_all(&mut self, rules: &Rules, all: &mut Vec<E>) {
        let mut taken = VecDeque::new();
        while let Some(cell) = self.take(rules, &mut taken) {
            all.extend(taken.drain(..));
            if let Spot::At(number) = cell.spot() {
                self.finish(number, rules, 0);
            }
        }
        for number in self.slots.numbers() {
            let pending = self.slots.get(number).pending;
            if pending == 0 {
                continue;
            }
            let found = match &mut self.form {
                Form::Colours(_) => std::mem::take(&mut self.slots.get_mut(number).events),
                Form::Events(queue) => queue.extract(&mut self.slots, number),
            };
            all.extend(found);
            let slot = self.slots.get_mut(number);
            slot.pending = 0;
            slot.left = 0;
            self.total -= pending;
            self.colours -= 1;
        }
    }

    /// Brings in a colour that was taken from another processor. Returns its slot.
    pub(crate) fn migrate(&mut self, parcel: Parcel<E>, rules: &Rules, cost: u64) -> u32 {
        let number = Slot::adopt(&mut self.slots, parcel.cell);
        self.resting.push_back(&mut self.slots, number);
        for event in parcel.events {
            self.append(number, event);
        }
        if self.slots.get(number).pending > 0 {
            self.enqueue(number, rules, cost);
        }
        number
    }

    /// How many colours are ready to run.
    pub(crate) fn ready(&self) -> usize {
        match &self.form {
            Form::Colours(queue) => queue.ready(),
            Form::Events(_) => self.colours,
        }
    }
}
