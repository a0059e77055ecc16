//! What a fibre does at its end, besides giving its result.

use crate::fibre::ControlBlock;
use crate::park::scoped::end_inherited;
use crate::processor::{Processor, end_of_fibre};
use crate::stack::{end_of_thread, end_thread_locals};
use crate::sys::fork;
use crate::sys::unusual;
use std::ptr::NonNull;

/// Ends what the calling fibre has of a thread, before others can see that it has ended: the
/// destructors of its thread-locals run, if they are its own. They may block the fibre. In a forked
/// child, which is about to do `what`, ends the process.
#[inline(always)]
pub(crate) fn end_thread(what: &str) {
    if unusual::is() {
        end_thread_unusually(what);
    }
}

/// Ends the values of the calling fibre, before others can see that it has ended. Their destructors
/// may block the fibre.
#[inline(always)]
pub(crate) fn end_values(fibre: &ControlBlock) {
    if !fibre.locals.is_empty() {
        end_values_there(fibre);
    }
}

/// [`end_values`] of a fibre that has some.
#[cold]
#[inline(never)]
fn end_values_there(fibre: &ControlBlock) {
    end_inherited();
    fibre.end_locals();
}

/// [`end_thread`] where there is something to do.
#[cold]
#[inline(never)]
fn end_thread_unusually(what: &str) {
    fork::die_if_forked(what);
    if let Some(fibre) = caller_as_thread() {
        // SAFETY: the processors of such a cluster give each fibre a block. The calling one is
        // about to end, and not before this returns.
        unsafe {
            let fibre = fibre.as_ref();
            if !fibre.locals.is_empty() {
                // It may use thread-locals.
                end_inherited();
            }
            end_of_fibre(fibre);
            if !fibre.locals.is_empty() {
                fibre.end_locals();
                // Their destructors may have used thread-locals.
                end_of_fibre(fibre);
            }
        }
    }
}

/// The calling fibre, if it has thread-locals of its own.
#[inline(never)]
fn caller_as_thread() -> Option<NonNull<ControlBlock>> {
    let own = |here: &Processor| {
        let is_thread = here.domain().settings.own_thread_locals;
        here.running().filter(|_| is_thread)
    };
    Processor::here(own).flatten()
}

/// Whether the caller is a fibre with thread-locals of its own.
///
/// ```
/// let plain = fibre::spawn(fibre_core::internal::has_own_thread_locals);
/// assert!(!plain.join().unwrap());
/// ```
#[inline]
#[must_use]
pub fn has_own_thread_locals() -> bool {
    unusual::is() && caller_as_thread().is_some()
}

/// Calls the destructors of the calling fibre's thread-locals, if they are its own, as the end of a
/// thread begins; blocks for as long as they block. For layers above that end fibres in ways of
/// their own: a destructor may leave this call for ever, and it may be called again for the others.
///
/// # Safety
///
/// The caller is in no call that keeps a reference to one of its thread-locals, or never goes on
/// with it.
///
/// ```compile_fail,E0133
/// fibre_core::internal::end_own_thread_locals();
/// ```
pub unsafe fn end_own_thread_locals() {
    if has_own_thread_locals() {
        // SAFETY: the caller's promise; it has a block.
        unsafe { end_thread_locals() };
    }
}

/// The same, and then ends the calling fibre's values of the C library's own keys, in rounds.
///
/// # Safety
///
/// As for [`end_own_thread_locals`]; and it comes back to none of these values.
///
/// ```compile_fail,E0133
/// fibre_core::internal::end_own_thread();
/// ```
pub unsafe fn end_own_thread() {
    if has_own_thread_locals() {
        // SAFETY: the caller's promise; it has a block.
        unsafe { end_of_thread() };
    }
}
