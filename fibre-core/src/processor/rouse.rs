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
//! The processor does not rouse fibres of C, nor those that are in a shield or an initialiser, that
//! panic, or that are in a closed wait, since others use the frames below. Nor does it rouse fibres
//! of such a fibre's scopes.

use super::order::Order;
use super::{Next, Processor};
use crate::fibre::ControlBlock;
use crate::queue::Runnable;

impl Processor {
    /// Begins to rouse the fibres that have started here.
    pub(super) fn begin_rousing(&self) {
        self.fibre_list.begin_walk();
    }

    /// Whether there are fibres left to look at.
    pub(super) fn has_to_rouse(&self) -> bool {
        self.fibre_list.is_walked()
    }

    /// The next fibre to be roused, which is to run now. Between two fibres.
    #[cold]
    pub(super) fn rouse_next(&self) -> Option<Runnable> {
        while let Some(fibre) = self.fibre_list.walk_to_fibre() {
            // SAFETY: a fibre in the fibre list is alive.
            let block = unsafe { fibre.as_ref() };
            if block.wait_slot.is_in_open_wait() && block.may_be_unwound() {
                block.link().rouse();
                // SAFETY: it has left its stack here, and runs nowhere else. Whoever has another
                // runnable of it has it in a queue of this processor, or is about to put it there;
                // and the fibre leaves that to its turn.
                return Some(unsafe { ControlBlock::runnable(fibre) });
            }
        }
        None
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
