//! Where fibres that are spawned here go.

use super::Processor;
use crate::queue::Runnable;
use crate::sync::Ordering;
use std::ptr;

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
        self.spawn_turn
            .spreader
            .set(self.running.load(Ordering::Relaxed));
    }

    /// Whether the running fibre has said so, which is then done with.
    #[inline]
    pub(super) fn spreads_next(&self) -> bool {
        let spreads = self.spawn_turn.spreader.get() == self.running.load(Ordering::Relaxed);
        if spreads {
            self.spawn_turn.spreader.set(ptr::dangling_mut());
        }
        spreads
    }

    /// Steps the round-robin of fibres spawned here.
    fn next_turn(&self) -> usize {
        let turn = self.spawn_turn.turn.get();
        let next = turn + 1;
        self.spawn_turn.turn.set(if next == self.domain.regular() {
            0
        } else {
            next
        });
        turn
    }
}
