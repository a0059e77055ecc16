//! `pthread_once`.

use crate::boundary::keep_errno;
use crate::exit::{fibre_cleanup_enter, fibre_cleanup_leave, fibre_cleanup_t};
use crate::sync::object::{at, object};
use fibre_sync::raw::{Once, OnceEntry};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// Whether something has happened: `pthread_once_t`. All zeros: it has not.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_once_t {
    /// The library's memory.
    word: c_int,
}

object!(fibre_once_t, Once, libc::pthread_once_t);

/// `pthread_once`: calls `routine`, unless that has been done, and returns when it has been done,
/// by whomever. If the one that does it ends in it, is cancelled, or throws an exception, it has
/// not been done, and the next one does it. `EDEADLK` if the caller is in it already.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_once(
    once: *mut fibre_once_t,
    routine: Option<unsafe extern "C-unwind" fn()>,
) -> c_int {
    // SAFETY: the caller's.
    let (Ok(begun), Some(routine)) = (unsafe { at(once) }, routine) else {
        return libc::EINVAL;
    };
    if begun.is_complete() {
        return 0;
    }
    let mut entry = OnceEntry::new();
    // SAFETY: it stays in this frame until the end, also if the frame is left for ever.
    match keep_errno(|| unsafe { begun.begin(&raw mut entry) }) {
        Ok(true) => {}
        Ok(false) => return 0,
        Err(error) => return error.number(),
    }
    let mut handler = MaybeUninit::<fibre_cleanup_t>::uninit();
    // SAFETY: popped when this frame ends.
    unsafe { fibre_cleanup_enter(handler.as_mut_ptr(), Some(leave_undone), once.cast()) };
    let mut finish = Finish {
        begun,
        handler: handler.as_mut_ptr(),
        done: false,
    };
    // SAFETY: the program has asked for the call.
    unsafe { routine() };
    finish.done = true;
    0
}

/// Ends what was begun, also if an exception passes. A frame that is left for ever does not drop
/// it: then the handler has been called.
struct Finish<'a> {
    /// What was begun.
    begun: &'a Once,
    /// In the frame that has this, too.
    handler: *mut fibre_cleanup_t,
    /// Whether the routine has returned.
    done: bool,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        // SAFETY: the caller that made this has pushed and begun, and has neither left nor finished
        // yet.
        unsafe {
            fibre_cleanup_leave(self.handler, 0);
            self.begun.finish(self.done);
        }
    }
}

/// The fibre or thread that ran the routine has ended within it.
unsafe extern "C-unwind" fn leave_undone(once: *mut c_void) {
    // SAFETY: the caller that has begun pushed it.
    if let Ok(begun) = unsafe { at(once.cast::<fibre_once_t>()) } {
        // SAFETY: the caller that has begun pushed it, and has ended.
        unsafe { begun.finish(false) };
    }
}
