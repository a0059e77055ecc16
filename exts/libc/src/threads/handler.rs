//! A cleanup handler of C in its frame, as the C library's macro `pthread_cleanup_push` makes it.

use crate::arch::CONTEXT_WORDS;
use std::ffi::{c_int, c_void};

/// A handler in its frame: `__pthread_unwind_buf_t`.
#[repr(C)]
pub(super) struct Handler {
    /// Where to go back to.
    context: [u64; CONTEXT_WORDS],
    /// Whether a mask of signals goes with that: never.
    has_mask: c_int,
    /// The one that was listed before.
    pub(super) outer: *mut Handler,
    /// More room of the C library's.
    _rest: [*mut c_void; 3],
}

unsafe extern "C-unwind" {
    fn longjmp(context: *mut c_void, value: c_int) -> !;
}

/// Goes back to the innermost handler if a frame with this stack pointer lies above it, or in any
/// case if there is no frame. Else, or if there is no handler, returns.
///
/// # Safety
///
/// It is the calling thread's, and that thread's frames below may be left for ever.
pub(super) unsafe fn call_innermost(handler: *mut Handler, frame: Option<usize>) {
    if handler.is_null() || frame.is_some_and(|frame| frame <= handler.addr()) {
        return;
    }
    // SAFETY: the handler's frame is there until it is taken off the list.
    unsafe { longjmp(handler.cast(), 1) }
}
