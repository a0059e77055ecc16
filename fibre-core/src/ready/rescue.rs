//! Takes movable fibres from an owner that one fibre keeps busy.
//!
//! Any processor may take what lies in `shared` at any time. `local` and `inbox` belong to the
//! owner alone. Still, two kinds of movable fibres lie there. The first kind was ready while there
//! was one processor. The second kind began to wait at home at that time: its waker queues it at
//! home once more, as the waker cannot tell whether the fibre has left its stack. The rescuer can
//! tell: the owner runs another fibre by now ([`OwnerGate`](crate::ready::owner_gate::OwnerGate)).

use super::ReadyQueue;
use crate::queue::{Fifo, LEVELS, Level, Link, Popped, Runnable};
use crate::sync::{AtomicPtr, HeavyBarrier};
use std::ptr::NonNull;

/// Access to all that belongs to an owner, until it is dropped.
#[derive(Debug)]
pub(crate) struct Rescuer<'a> {
    /// The owner's queue.
    queue: &'a ReadyQueue,
    /// The fibre that the owner runs, or ran when it came to the gate.
    keeps: NonNull<Link>,
}

impl ReadyQueue {
    /// Whether the queues that only the owner takes from may hold something; a hint.
    pub(crate) fn has_own(&self) -> bool {
        !self.inbox.is_empty() || self.local.iter().any(|local| !local.is_empty())
    }

    /// Takes access to what one fibre, which `running` names, keeps the owner from. `None`: the
    /// owner is not kept at this moment.
    ///
    /// One rescuer at a time; it keeps `running` alive.
    pub(crate) fn rescue(
        &self,
        running: &AtomicPtr<Link>,
        barrier: HeavyBarrier,
    ) -> Option<Rescuer<'_>> {
        if self.rules.moves_started {
            // What is queued meanwhile goes by the rules, and is found by them only.
            self.gate.end_single_level();
        }
        let keeps = self.gate.hold(running, barrier)?;
        Some(Rescuer { queue: self, keeps })
    }

    /// Takes the next fibre that any processor may run, whether thieves would leave it alone or
    /// not. Any thread.
    pub(crate) fn take_free(&self) -> Option<Runnable> {
        let next = self.pop_for_owner().node();
        next.or_else(|| self.take_next())
    }

    /// Gives a fibre that any processor may run to all. Any thread.
    fn give_to_all(&self, runnable: Runnable) {
        match runnable.link().level() {
            Level::Background => self.shared_queues.push_background(runnable),
            _ => self.shared_queues.stage(runnable),
        }
    }

    /// Gives the fibres that lie here, and that any processor may run, to all. Any thread. Returns
    /// how many there were.
    pub(crate) fn give_away(&self) -> u64 {
        let mut given = 0;
        while let Some(runnable) = self.take_free() {
            given += 1;
            self.give_to_all(runnable);
        }
        given
    }
}

impl Rescuer<'_> {
    /// Gives the fibres that may run elsewhere, as `may_go` says of each, to all processors, and
    /// leaves the rest in its order. The fibre that the owner runs may still be on its stack, and
    /// stays. Returns how many have gone.
    pub(crate) fn give_away(&self, may_go: impl Fn(&Runnable) -> bool) -> u64 {
        // The fibre that the owner runs may still be on its stack (invariant 4 of `Runnable`).
        let may_go = |runnable: &Runnable| runnable.node() != self.keeps && may_go(runnable);
        let rest: [Fifo; LEVELS] = std::array::from_fn(|_| Fifo::new());
        let mut given = 0;
        for (local, kept) in self.queue.local.iter().zip(&rest) {
            while let Some(runnable) = local.pop() {
                let goes = may_go(&runnable);
                given += u64::from(goes);
                self.sort(runnable, goes, kept);
            }
        }
        // SAFETY: the owner is out, so this is the only consumer.
        while let Popped::Node(runnable) = unsafe { self.queue.inbox.pop_alone() } {
            let (goes, level) = (may_go(&runnable), runnable.link().level());
            given += u64::from(goes);
            self.sort(runnable, goes, &rest[level as usize]);
        }
        for (local, kept) in self.queue.local.iter().zip(&rest) {
            while let Some(runnable) = kept.pop() {
                local.push(runnable);
            }
        }
        given
    }

    /// Gives a fibre to all, or keeps it.
    fn sort(&self, runnable: Runnable, goes: bool, kept: &Fifo) {
        let hurries = runnable.link().take_hurry();
        if goes {
            self.queue.give_to_all(runnable);
        } else if hurries {
            kept.push_front(runnable);
        } else {
            kept.push(runnable);
        }
    }
}

impl Drop for Rescuer<'_> {
    fn drop(&mut self) {
        self.queue.gate.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Settings;
    use crate::sync::heavy_barrier;
    use std::sync::Arc;

    /// A fibre that is to run before the others still does if it is left where it is, and is in a
    /// hurry no more.
    #[test]
    fn what_stays_keeps_its_order() {
        let Some(barrier) = heavy_barrier() else {
            return;
        };
        let settings = Settings::from_environment();
        let domain = crate::scheduler::domain::Domain::new(1, settings);
        let queue = &domain.queues()[0];
        let links: [Link; 4] = std::array::from_fn(|_| Link::new());
        let [keeper, first, second, hurried] = links.each_ref().map(NonNull::from);
        // SAFETY: the links are taken out before they go, and the queue is their home. It has no
        // owner, so this thread stands in for it.
        let owner = unsafe {
            ReadyQueue::push_woken(Arc::as_ptr(queue), Runnable::new(first), |_| 0);
            ReadyQueue::push_woken(Arc::as_ptr(queue), Runnable::new(second), |_| 0);
            ReadyQueue::push_woken_first(Arc::as_ptr(queue), Runnable::new(hurried), |_| 0);
            queue.as_owner()
        };
        let running = AtomicPtr::new(keeper.as_ptr());
        let rescuer = queue.rescue(&running, barrier);
        assert_eq!(rescuer.unwrap().give_away(|_| false), 0);
        // SAFETY: no fibre runs.
        let pop = |_| unsafe { owner.pop() }.map(|runnable| runnable.node());
        let order: [_; 4] = std::array::from_fn(pop);
        assert_eq!(order, [Some(hurried), Some(first), Some(second), None]);
        assert!(!links[3].take_hurry());
    }
}
