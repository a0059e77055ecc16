//! How a processor carries out the requests of its cluster's handles, between two fibres.
//!
//! A processor may have to end while it still has fibres. Then it leaves in place everything that
//! these, or their wakers, may still touch: their blocks and stacks, its own timers, its ready
//! queue with the domain. It never drops or unwinds a fibre from outside, but asks it to unwind
//! itself (`rouse`).

use super::order::Order;
use super::{ExitState, Processor};
use crate::fibre::cancel_batch::{Cancellable, Cancelling};
use crate::fibre::{ControlBlock, FibreList, FibreListRef, IdleMemory};
use crate::queue::Runnable;
use crate::scheduler::domain::LeftFibre;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

impl Processor {
    /// Obeys the orders, and stands still for as long as they say so.
    #[cold]
    pub(super) fn obey(&self) -> Order {
        let control = &self.domain.control;
        if control.stand_still(self.index) {
            self.stand();
        }
        // The last order first: whoever sees that sees the earlier ones, too.
        let unwinds = control.must_unwind();
        let spares_nobody = control.must_spare_nobody();
        if control.must_cancel() && !self.obeyed.cancelled.replace(true) {
            self.cancel_all();
        }
        if spares_nobody && !self.obeyed.spared_nobody.replace(true) {
            self.cancel_all();
        }
        if unwinds && !self.obeyed.unwound.replace(true) {
            self.begin_rousing();
        }
        if control.must_abandon() {
            self.obeyed.leaving.set(true);
            return Order::End;
        }
        Order::GoOn
    }

    /// Stands still, as others see, too, until it may move on.
    fn stand(&self) {
        let control = &self.domain.control;
        let stats = self.stats();
        let worked = stats.works_since().is_some();
        stats.set_idle();
        while !control.may_move(self.index) && !control.must_abandon() {
            self.own().stand();
        }
        let now = Instant::now();
        self.service.last.set(now);
        if worked {
            self.become_busy(now);
        } else {
            stats.set_looking();
        }
    }

    /// Cancels the fibres of its fibre list that are not spared.
    fn cancel_all(&self) {
        let is_spared = |fibre: &ControlBlock| self.domain.control.spares(fibre.link());
        if let Some(shared) = &self.domain.fibre_lists.shared {
            let fibre_list = shared.lock();
            let mut cancelling = Cancelling::new();
            fibre_list.for_each_fibre(|fibre, block| {
                if !is_spared(block) {
                    // SAFETY: fibres in the fibre list have their runtime's reference, and leave it
                    // under the lock.
                    unsafe { cancelling.cancel(fibre) };
                }
            });
            // Its second step is done before the lock is given back.
            drop(cancelling);
        } else {
            self.fibre_list.for_each_fibre(|fibre, block| {
                if is_spared(block) {
                    return;
                }
                // SAFETY: as above; and the fibres that wait, wait here, so no other thread has to
                // be made to see anything.
                unsafe {
                    if ControlBlock::begin_cancel(fibre) {
                        ControlBlock::end_cancel(fibre);
                    }
                }
            });
        }
    }

    /// Lets others look at the fibres that have started here, and at the one that runs.
    pub(super) fn show_fibre_list(&self, unused: &IdleMemory) {
        // SAFETY: `hide_fibre_list` takes it back before the processor ends.
        let fibre_list =
            unsafe { FibreListRef::new(&self.fibre_list, &self.readers, &self.running) };
        let fibre_list = fibre_list.with_unused(unused);
        self.domain
            .fibre_lists
            .own
            .lock()
            .push((self.index, fibre_list));
        self.domain
            .record
            .set_fibre_list(self.index, &raw const self.fibre_list);
    }

    /// Undoes [`show_fibre_list`](Self::show_fibre_list), before it ends.
    pub(super) fn hide_fibre_list(&self) {
        let mut fibre_lists = self.domain.fibre_lists.own.lock();
        fibre_lists.retain(|(processor, _)| *processor != self.index);
        self.domain.record.set_fibre_list(self.index, ptr::null());
    }

    /// Looks at the fibres that have started: here, or anywhere if they may move.
    fn with_fibre_list<R>(&self, f: impl FnOnce(&FibreList) -> R) -> R {
        match &self.domain.fibre_lists.shared {
            None => f(&self.fibre_list),
            Some(shared) => f(&shared.lock()),
        }
    }

    /// Leaves all fibres where they are, wakes those that wait for their ends, and notes which they
    /// are. They never run again.
    #[cold]
    pub(super) fn leave_fibres(&self) -> ExitState {
        // SAFETY: this thread is the processor; it is about to end, and so are the others.
        let unstarted = unsafe { self.domain.take_unstarted(self.index) };
        let unstarted = unstarted.iter().map(Runnable::fibre);
        let mut left: Vec<_> = unstarted.map(|fibre| (fibre, false)).collect();
        // Fibres that move are not ours to report; the stopper of the cluster does.
        if self.domain.fibre_lists.shared.is_none() {
            self.fibre_list
                .for_each_fibre(|fibre, _| left.push((fibre, true)));
        }
        let exit_state = if !self.with_fibre_list(FibreList::is_empty) {
            ExitState::Started
        } else if left.is_empty() {
            ExitState::Nothing
        } else {
            ExitState::Unstarted
        };
        if exit_state != ExitState::Nothing {
            std::mem::forget(Arc::clone(&self.domain));
        }
        for (fibre, started) in left {
            // SAFETY: alive for ever, as no processor will run it and give up its reference.
            let block = unsafe { fibre.as_ref() };
            self.domain
                .left_behind
                .fibres
                .lock()
                .push(LeftFibre::new(block, started));
            // SAFETY: it never runs again.
            unsafe { (block.body().abandon)(fibre) };
        }
        exit_state
    }
}
