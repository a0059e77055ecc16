//! What a processor does about the orders of its cluster's handles, between two fibres.
//!
//! A processor that has to end with fibres left leaves everything that these, or those who
//! wake them, may still touch: their blocks and stacks, its own timers, its ready queue with
//! the domain. No fibre is ever dropped or unwound from outside.

use super::Processor;
use crate::domain::LeftFibre;
use crate::fibre::{ControlBlock, Roster};
use crate::queue::{Link, Popped};
use std::ptr::NonNull;
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
            self.with_roster(|roster| {
                roster.for_each(|hook| {
                    // SAFETY: fibres in the roster have their runtime's reference.
                    unsafe { ControlBlock::cancel(ControlBlock::from_hook(hook)) };
                });
            });
        }
        self.leaving.set(orders.are_to_abandon());
        !self.leaving.get()
    }

    /// Looks at the fibres that have started: here, or anywhere if they may move.
    fn with_roster<R>(&self, f: impl FnOnce(&Roster) -> R) -> R {
        match &self.domain.roster {
            None => f(&self.roster),
            Some(shared) => f(&shared.lock()),
        }
    }

    /// Takes any fibre that is ready here or for all.
    fn take_any(&self) -> Option<NonNull<Link>> {
        let commons = &self.domain.commons;
        let node = |popped| match popped {
            Popped::Node(node) => Some(node),
            _ => None,
        };
        self.ready
            .pop()
            .or_else(|| node(commons.pop_staged()))
            .or_else(|| node(commons.pop_background()))
    }

    /// Leaves all fibres where they are, tells who waits for their ends, and notes which
    /// they are. `true`: there were none. They never run again.
    #[cold]
    pub(super) fn leave_fibres(&self) -> bool {
        let mut left = Vec::new();
        while let Some(node) = self.take_any() {
            // SAFETY: ready queues hold fibres only, and this one is ours now.
            let fibre = unsafe { ControlBlock::from_node(node) };
            // SAFETY: as above.
            if unsafe { (*fibre.as_ref().context.get()).is_none() } {
                left.push((fibre, false));
            }
        }
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
