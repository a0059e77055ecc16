//! What a processor does about the orders of its cluster's handles, between two fibres.
//!
//! A processor that has to end with fibres left leaves everything that these, or those who
//! wake them, may still touch: their blocks and stacks, its own timers, its ready queue with
//! the domain. No fibre is ever dropped or unwound from outside.

use super::Processor;
use crate::cancellable::Cancelling;
use crate::domain::LeftFibre;
use crate::fibre::{ControlBlock, Roster, RosterRef};
use std::sync::Arc;
use std::time::Instant;

impl Processor {
    /// Does what is ordered; stands still for as long as that is. `false`: it is to end.
    #[cold]
    pub(super) fn obey(&self) -> bool {
        let orders = &self.domain.orders;
        if orders.stand_still(self.index) {
            while !orders.may_move(self.index) && !orders.are_to_abandon() {
                self.ready.stand();
            }
            self.last_service.set(Instant::now());
        }
        if orders.are_to_cancel() && !self.cancelled.replace(true) {
            self.cancel_all();
        }
        self.leaving.set(orders.are_to_abandon());
        !self.leaving.get()
    }

    /// Cancels the fibres of its roster.
    fn cancel_all(&self) {
        if let Some(shared) = &self.domain.roster {
            let roster = shared.lock();
            let mut cancelling = Cancelling::new();
            roster.for_each(|hook| {
                // SAFETY: fibres in the roster have their runtime's reference, and leave it under the lock.
                unsafe { cancelling.cancel(ControlBlock::from_hook(hook)) };
            });
            // Its second step is done before the lock is given back.
            drop(cancelling);
        } else {
            self.roster.for_each(|hook| {
                // SAFETY: as above; and who waits, waits here, so nobody has to be made to see anything.
                unsafe {
                    let fibre = ControlBlock::from_hook(hook);
                    if ControlBlock::begin_cancel(fibre) {
                        ControlBlock::end_cancel(fibre);
                    }
                }
            });
        }
    }

    /// Lets others look at the fibres that have started here while the processor stands still.
    pub(super) fn show_roster(&self) {
        if self.domain.roster.is_none() {
            let roster = RosterRef::new(&self.roster);
            self.domain.rosters.lock().push((self.index, roster));
        }
    }

    /// Undoes [`show_roster`](Self::show_roster), before it ends.
    pub(super) fn hide_roster(&self) {
        let mut rosters = self.domain.rosters.lock();
        rosters.retain(|(processor, _)| *processor != self.index);
    }

    /// Looks at the fibres that have started: here, or anywhere if they may move.
    fn with_roster<R>(&self, f: impl FnOnce(&Roster) -> R) -> R {
        match &self.domain.roster {
            None => f(&self.roster),
            Some(shared) => f(&shared.lock()),
        }
    }

    /// Leaves all fibres where they are, tells who waits for their ends, and notes which
    /// they are. `true`: there were none. They never run again.
    #[cold]
    pub(super) fn leave_fibres(&self) -> bool {
        // SAFETY: this thread is the processor; it is about to end, and so are the others.
        let unstarted = unsafe { self.domain.take_unstarted(self.index) };
        let mut left: Vec<_> = unstarted.into_iter().map(|it| (it, false)).collect();
        // Those that move are not ours to tell of; who stops the cluster does.
        if self.domain.roster.is_none() {
            self.roster.for_each(|hook| {
                // SAFETY: made of a fibre.
                left.push((unsafe { ControlBlock::from_hook(hook) }, true));
            });
        }
        let clean = left.is_empty() && self.with_roster(Roster::is_empty);
        if !clean {
            std::mem::forget(Arc::clone(&self.domain));
        }
        for (fibre, started) in left {
            // SAFETY: alive for ever, as nobody will run it and give up its reference.
            let block = unsafe { fibre.as_ref() };
            self.domain.left.lock().push(LeftFibre::new(block, started));
            // SAFETY: it never runs again.
            unsafe { (block.body().abandon)(fibre) };
        }
        clean
    }
}
