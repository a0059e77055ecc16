//! `pthread_once`. The C library's has no attempt, so the word is ours: all calls come here.

use crate::errno;
use fibre_sync::raw::{Once, OnceEntry};
use libc::pthread_once_t;
use std::ffi::c_int;

const _: () = assert!(
    size_of::<Once>() == size_of::<pthread_once_t>()
        && align_of::<Once>() == align_of::<pthread_once_t>()
);

/// Calls `routine`, unless that has been done, and returns when it has been done, by whomever. If
/// the one that does it ends in it, or throws an exception, the next one does it.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_once(
    once: *mut pthread_once_t,
    routine: unsafe extern "C-unwind" fn(),
) -> c_int {
    // SAFETY: the caller's word, which is used here only.
    let once = unsafe { &*once.cast::<Once>() };
    if once.is_complete() {
        return 0;
    }
    let number = errno::get();
    let mut entry = OnceEntry::new();
    // SAFETY: it stays in this frame until the end.
    let begun = unsafe { once.begin(&raw mut entry) };
    errno::set(number);
    match begun {
        Ok(true) => {}
        Ok(false) => return 0,
        Err(error) => return error.number(),
    }
    let mut finish = Finish { once, done: false };
    // SAFETY: the program has asked for the call.
    unsafe { routine() };
    finish.done = true;
    0
}

/// Ends what was begun, also if the stack unwinds.
struct Finish<'a> {
    /// What was begun.
    once: &'a Once,
    /// Whether the routine has returned.
    done: bool,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        // SAFETY: the caller that made this has begun, and not finished.
        unsafe { self.once.finish(self.done) };
    }
}
