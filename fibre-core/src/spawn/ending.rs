//! What a fibre does at its end, besides giving its result.

use crate::processor::Processor;
use crate::stack::end_of_thread;
use crate::sys::fork;
use crate::sys::unusual;

/// Ends what the calling fibre has of a thread, before others can see that it has ended: the
/// destructors of its thread-locals run, if they are its own. They may block the fibre. In a forked
/// child, which is about to do `what`, ends the process.
#[inline(always)]
pub(crate) fn end_thread(what: &str) {
    if unusual::is() {
        end_thread_unusually(what);
    }
}

/// [`end_thread`] where there is something to do.
#[cold]
#[inline(never)]
fn end_thread_unusually(what: &str) {
    fork::die_if_forked(what);
    if Processor::here(|here| here.domain().settings.own_thread_locals) == Some(true) {
        // SAFETY: the processors of such a cluster give each fibre a block, and this one is about
        // to end.
        unsafe { end_of_thread() };
    }
}
