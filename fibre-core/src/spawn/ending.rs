//! What a fibre does at its end, besides giving its result.

use crate::processor::{Processor, end_of_fibre};
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
    let own = |here: &Processor| {
        let is_thread = here.domain().settings.own_thread_locals;
        here.running().filter(|_| is_thread)
    };
    if let Some(fibre) = Processor::here(own).flatten() {
        // SAFETY: the processors of such a cluster give each fibre a block. The calling one is
        // about to end, and not before this returns.
        unsafe {
            let fibre = fibre.as_ref();
            end_of_fibre(fibre);
            if !fibre.locals.is_empty() {
                fibre.locals.end();
                // Their destructors may have used thread-locals.
                end_of_fibre(fibre);
            }
        }
    }
}
