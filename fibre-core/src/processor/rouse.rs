//! Makes fibres unwind that wait in calls that cannot fail, when their cluster is stopped.
//!
//! Only such a fibre's frame and its wakers know its waiter, and wakers may claim it without a
//! compare-and-swap. So only the fibre can end the wait: the processor *rouses* it. It goes to the
//! fibre's stack although no waker has resumed it, with a note in the fibre's link. The fibre finds
//! the note as its wait goes on, and takes its waiter out of its list, under the lock that wakers
//! claim it under:
//!
//! ```text
//!   roused ──► takes its waiter out ──► nobody has claimed it ──► unwinds
//!                     │
//!                     └─► claimed ──► leaves its stack again: its waker queues it, or has done so
//! ```
//!
//! A waker may queue the fibre at any moment meanwhile. So the fibre never goes through the ready
//! queue for this, and does not touch its link until it knows that it is in no queue. If others may
//! claim a fibre's waiter by a compare-and-swap, as a timer does, the fibre claims it itself
//! instead.
//!
//! Each processor goes through its fibre list once. Between two roused fibres others may run, end
//! and begin. Waits that begin after the request check for it (`park/bounds.rs`), so none is
//! missed.
//!
//! **Where started fibres move**, a fibre that has been woken may run elsewhere at once. So whoever
//! rouses it first holds it, as a canceller does (`fibre/state.rs`), then queues it as a waker
//! would, and the fibre parks once more if its waiter has been claimed. Each processor goes through
//! the cluster's list: a fibre that runs elsewhere meanwhile parks there, before that processor
//! goes through the list, or begins its wait after the request. The first processor may have fibres
//! that wait at home, since there was no other one when they began to wait. It rouses those as if
//! they stayed.
//!
//! The processor does not rouse fibres of C, nor those that are in a shield or an initialiser, that
//! panic, or that are in a closed wait, since others use the frames below. Nor does it rouse fibres
//! of such a fibre's scopes.

use super::order::Order;
use super::{Next, Processor};
use crate::fibre::{ControlBlock, FibreList, WaitSlot};
use crate::queue::Runnable;

impl Processor {
    /// Begins to rouse the fibres that have started here. Where they move, it rouses all of the
    /// cluster but those that wait at home.
    pub(super) fn begin_rousing(&self) {
        if let Some(shared) = &self.domain.fibre_lists.shared {
            let fibre_list = shared.lock();
            fibre_list.for_each_fibre(|fibre, _| {
                // SAFETY: fibres in the fibre list have their runtime's reference, and leave it
                // under the lock.
                unsafe { ControlBlock::rouse(fibre) };
            });
            if self.index == 0 {
                fibre_list.begin_walk();
            }
        } else {
            self.fibre_list.begin_walk();
        }
        self.obeyed.rousing.set(true);
    }

    /// Whether there may be fibres left to look at.
    pub(super) fn has_to_rouse(&self) -> bool {
        self.obeyed.rousing.get()
    }

    /// The next fibre to be roused, which is to run now. Between two fibres.
    #[cold]
    pub(super) fn rouse_next(&self) -> Option<Runnable> {
        let roused = match &self.domain.fibre_lists.shared {
            None => rouse_next_of(&self.fibre_list, |slot| slot.is_in_open_wait()),
            Some(_) if self.index != 0 => None,
            Some(shared) => rouse_next_of(&shared.lock(), |slot| slot.is_in_open_wait_at_home()),
        };
        self.obeyed.rousing.set(roused.is_some());
        roused
    }

    /// What the cluster's handles have asked for: the end, or a fibre that is roused, if there is
    /// one.
    #[cold]
    pub(super) fn find_by_order(&self, order: Order) -> Option<Next> {
        match order {
            Order::GoOn => None,
            Order::Rouse => self.rouse_next().map(Next::Run),
            Order::End => Some(Next::End),
        }
    }
}

/// The next fibre of a walk that is roused, if its slot says that it `waits` on this processor, and
/// nowhere else.
fn rouse_next_of(fibre_list: &FibreList, waits: impl Fn(&WaitSlot) -> bool) -> Option<Runnable> {
    while let Some(fibre) = fibre_list.walk_to_fibre() {
        // SAFETY: a fibre in the fibre list is alive.
        let block = unsafe { fibre.as_ref() };
        if waits(&block.wait_slot) && block.may_be_unwound() {
            block.link().rouse();
            // SAFETY: it has left its stack here, and runs nowhere else. Whoever has another
            // runnable of it has it in a queue of this processor, or is about to put it there; and
            // the fibre leaves that to its turn.
            return Some(unsafe { ControlBlock::runnable(fibre) });
        }
    }
    None
}
