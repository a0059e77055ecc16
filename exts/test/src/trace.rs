//! What a run has done so far, in one number.
//!
//! Two runs with the same number have made the same choices among the same fibres, which left their
//! stacks for the same reasons, at the same times. Fibres are known by the order of their
//! appearance, as their own numbers are the process's.

use crate::random::mix;
use std::collections::HashMap;

/// The trace of a run.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: u64,
    /// The fibres that have been ready so far.
    places: HashMap<u64, usize>,
}

impl Trace {
    /// The place of the fibre with this number in the order of their appearance.
    pub(crate) fn place_of(&mut self, fibre: u64) -> usize {
        let next = self.places.len();
        *self.places.entry(fibre).or_insert(next)
    }

    /// Whether the fibre with this number has been ready.
    pub(crate) fn knows(&self, fibre: u64) -> bool {
        self.places.contains_key(&fibre)
    }

    /// Notes an event: its kind, and what belongs to it.
    pub(crate) fn note(&mut self, kind: Event, data: u64) {
        let data = mix(data ^ mix(kind as u64));
        self.hash = mix(self.hash.rotate_left(5) ^ data);
    }

    /// The number.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}

/// What is noted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// So many fibres were ready.
    Ready = 1,
    /// This one goes on.
    Chosen = 2,
    /// It has left its stack, for a reason with this number.
    Left = 3,
    /// So many nanoseconds have passed since the beginning.
    Time = 4,
    /// The runtime has drawn this number.
    Drawn = 5,
    /// Something has happened in the network.
    Network = 6,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_events_matters_and_the_numbers_of_fibres_do_not() {
        let hash = |numbers: [u64; 2], events: [(Event, u64); 2]| {
            let mut trace = Trace::default();
            for number in numbers {
                let place = trace.place_of(number);
                trace.note(Event::Chosen, place as u64);
            }
            events
                .iter()
                .for_each(|&(kind, data)| trace.note(kind, data));
            trace.hash()
        };
        let events = [(Event::Ready, 1), (Event::Left, 2)];
        assert_eq!(hash([10, 20], events), hash([7, 3], events));
        assert_ne!(hash([10, 20], events), hash([10, 10], events));
        let [one, other] = events;
        assert_ne!(hash([1, 2], events), hash([1, 2], [other, one]));
        assert_ne!(hash([1, 2], events), hash([1, 2], [one, (Event::Left, 3)]));
    }
}
