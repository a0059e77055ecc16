//! Where a fibre goes that is spawned here.

use super::Processor;
use crate::queue::{Link, Runnable};
use crate::sync::Ordering;
use std::cell::Cell;
use std::ptr;

/// Where the next fibre goes that is spawned at a processor.
pub(super) struct Spawning {
    /// The processor that it goes to, unless something else is chosen.
    pub(super) turn: Cell<usize>,
    /// The fibre with a next spawn that goes where the fewest live, for comparison only.
    pub(super) spreader: Cell<*mut Link>,
}

impl Spawning {
    /// That of a processor that begins.
    pub(super) fn new() -> Self {
        Self {
            turn: Cell::new(0),
            spreader: Cell::new(ptr::dangling_mut()),
        }
    }
}

impl Processor {
    /// Places a fibre that is spawned here.
    #[inline(always)]
    pub(crate) fn place(&self, fibre: Runnable) {
        let ordinary = fibre.link().is_ordinary();
        if !(ordinary && self.domain.settings.pushes() && self.domain.processors() == 1) {
            return self.place_among_others(fibre, ordinary);
        }
        // There is nobody to steal it, so it need not be where thieves look.
        if let Err(fibre) = self.own().push_if_single_level(fibre) {
            self.own().push_local(fibre);
        }
    }

    /// The part of [`place`](Self::place) for fibres that are told where to run, and for clusters
    /// of several processors.
    #[inline(never)]
    fn place_among_others(&self, fibre: Runnable, ordinary: bool) {
        let spawner = Some(self.index);
        if !(ordinary && self.domain.settings.pushes()) {
            self.domain.place(fibre, spawner, self.next_turn());
        } else if self.spreads_next() {
            self.domain.spread(fibre, spawner, self.next_turn());
        } else {
            self.domain.push_out(fibre, spawner, self.next_turn());
        }
    }

    /// Places the running fibre's next spawn where the fewest live, if nothing else is chosen for
    /// it and no other fibre says the same here before.
    pub(super) fn spread_next(&self) {
        self.spawning
            .spreader
            .set(self.running.load(Ordering::Relaxed));
    }

    /// Whether the running fibre has said so, which is then done with.
    #[inline]
    pub(super) fn spreads_next(&self) -> bool {
        let spreads = self.spawning.spreader.get() == self.running.load(Ordering::Relaxed);
        if spreads {
            self.spawning.spreader.set(ptr::dangling_mut());
        }
        spreads
    }

    /// Steps the round-robin of fibres spawned here.
    fn next_turn(&self) -> usize {
        let turn = self.spawning.turn.get();
        let next = turn + 1;
        self.spawning.turn.set(if next == self.domain.regular() {
            0
        } else {
            next
        });
        turn
    }
}
