//! What one fibre leaves to its processor before the next one runs.

use crate::queue::{Runnable, Slot};
use crate::scheduler::domain::Domain;
use crate::stack::StackError;
use std::cell::Cell;
use std::sync::Arc;

/// What a fibre that has left its stack, or has got none, leaves to the processor.
#[derive(Default)]
pub(super) struct NextFibre {
    /// The fibre to run next, whatever is in the queue.
    pub(super) successor: Slot,
    /// Where a fibre that is about to leave the cluster goes, and whether it is still counted here.
    pub(super) destination: Cell<Option<(Arc<Domain>, bool)>>,
    /// Why the fibre that is about to run was refused the stack it wanted.
    pub(super) refusal: Cell<Option<StackError>>,
}

/// The fibre that a processor is about to run.
pub(super) struct NextRun {
    pub(super) fibre: Runnable,
    /// Whether the thread is the one that the fibre is to the language.
    pub(super) is_thread: bool,
}

impl NextRun {
    /// A fibre that the loop has found.
    #[inline(always)]
    pub(super) fn by_the_loop(fibre: Runnable) -> Self {
        Self {
            fibre,
            is_thread: false,
        }
    }
}
