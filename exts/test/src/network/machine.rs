//! The state of a network: its time, its chance, its events.

use super::events::{Change, Effects, Event, LinkKey, Note, SocketId, What};
use super::host::HostState;
use super::link::{LinkState, nanoseconds};
use super::socket::Socket;
use crate::random::{Random, mix};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::mem;
use std::ops::Range;
use std::time::Duration;

/// Separates the network's chance from other choices.
const CHANCE: u64 = 0x6e65_7477_6f72_6b73;

/// The network of a run.
#[derive(Debug)]
pub(crate) struct Network {
    /// The nanoseconds since the run began.
    pub(super) now: u64,
    /// What all chance follows from.
    seed: u64,
    /// The chance of the test's own draws.
    draws: Random,
    /// The chance of each link. It is a link's own: where a run is another one, and more or fewer
    /// pieces go over one link, it stays the same on all others.
    chance: BTreeMap<LinkKey, Random>,
    pub(super) hosts: Vec<HostState>,
    pub(super) links: BTreeMap<LinkKey, LinkState>,
    pub(super) sockets: BTreeMap<SocketId, Socket>,
    /// How many sockets there have been.
    pub(super) last_socket: u64,
    events: BinaryHeap<Reverse<Event>>,
    /// How many events there have been.
    last_event: u64,
    pub(super) effects: Effects,
}

impl Network {
    /// An empty one, with the chance that follows from this seed.
    pub(crate) fn new(seed: u64) -> Self {
        let seed = mix(seed ^ CHANCE);
        Self {
            now: 0,
            seed,
            draws: Random::new(seed),
            chance: BTreeMap::new(),
            hosts: Vec::new(),
            links: BTreeMap::new(),
            sockets: BTreeMap::new(),
            last_socket: 0,
            events: BinaryHeap::new(),
            last_event: 0,
            effects: Effects::default(),
        }
    }

    /// Says what time it is, before a call.
    pub(crate) fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// Takes what the last call has changed for others.
    pub(crate) fn take_effects(&mut self) -> Effects {
        mem::take(&mut self.effects)
    }

    /// When the next event happens.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.events.peek().map(|Reverse(event)| event.due)
    }

    /// Lets all events happen that are due: those of one moment find their fibres ready together,
    /// and the schedule chooses among these.
    pub(crate) fn fire(&mut self) {
        while self.next_due().is_some_and(|due| due <= self.now) {
            match self.events.pop().map(|Reverse(event)| event.what) {
                Some(What::Arrives(sender)) => self.arrives(sender),
                Some(What::ShakesHands(socket)) => self.shakes_hands(socket),
                Some(What::Datagram(datagram)) => self.datagram_arrives(datagram),
                Some(What::Changes(key, change)) => self.change(key, change),
                None => {}
            }
        }
    }

    /// Has something happen so many nanoseconds from now.
    pub(super) fn happens_in(&mut self, delay: u64, what: What) {
        self.last_event += 1;
        self.events.push(Reverse(Event {
            due: self.now.saturating_add(delay),
            number: self.last_event,
            what,
        }));
    }

    /// Changes a link so much later.
    pub(crate) fn change_after(&mut self, delay: Duration, key: LinkKey, change: Change) {
        self.happens_in(nanoseconds(delay), What::Changes(key, change));
    }

    /// Notes something for the trace.
    pub(super) fn note(&mut self, note: Note, data: u64) {
        let kind = mix(note as u64);
        self.effects.notes.push(mix(data).wrapping_add(kind));
    }

    /// The chance of a link.
    pub(super) fn chance(&mut self, key: LinkKey) -> &mut Random {
        let seed = self.seed;
        let chance = self.chance.entry(key);
        chance.or_insert_with(|| Random::new(key.mixed_with(seed)))
    }

    /// Whether something of this probability happens on a link. What cannot happen draws no number.
    pub(super) fn happens(&mut self, key: LinkKey, rate: f64) -> bool {
        // 53 bits are what a float holds.
        rate > 0.0 && (self.chance(key).next() >> 11) as f64 / (1_u64 << 53) as f64 <= rate
    }

    /// A number of these, for the test.
    pub(crate) fn draw_noted(&mut self, range: &Range<u64>) -> u64 {
        let drawn = draw(&mut self.draws, range);
        self.note(Note::Drawn, drawn);
        drawn
    }
}

/// A number of these. Where there is no choice, none is drawn.
pub(super) fn draw(random: &mut Random, range: &Range<u64>) -> u64 {
    let width = range.end.saturating_sub(range.start);
    match usize::try_from(width).unwrap_or(usize::MAX) {
        0 | 1 => range.start,
        width => range.start + random.below(width) as u64,
    }
}
