//! Signals that a fibre sends to itself: by `raise`, or by a write without a reader (SIGPIPE).
//!
//! Processors block the signals that may come at any time, as a handler must not run in the midst
//! of the runtime. These come when the fibre asks for them, and their handlers are to run before
//! its call returns. So such a signal goes to the kernel thread, where it is pending, and the call
//! lets it in at its end: by `ppoll`, which takes a mask for its own duration. The kernel puts the
//! thread's mask back when it has called the handler, or has seen that there is none. If the
//! handler waits, and the fibre goes on on another thread, neither keeps the signal unblocked.
//!
//! The caller has asked the fibre's own mask before, see `sigmask`.

use crate::errno;
use fibre_core::in_fibre;
use fibre_io::posix::signal_set::{bit, blocked, write};
use std::ffi::c_int;
use std::mem;
use std::ptr;

/// Sends a signal to the calling fibre or thread. A fibre's handler has run when this returns, and
/// so has a thread's unless that has the signal blocked. Returns an error number.
pub fn raise(signal: c_int) -> c_int {
    // SAFETY: this thread, and a number.
    let number = unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
    if number == 0 && signal != 0 && in_fibre() {
        let_in(signal);
    }
    number
}

/// Takes a signal back that is pending for this thread.
pub fn take_back(signal: c_int) {
    let kept = errno::get();
    // SAFETY: a set and a time of ours; all zeros are such.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut set, signal);
        libc::sigtimedwait(&raw const set, ptr::null_mut(), &mem::zeroed());
    }
    errno::set(kept);
}

/// Lets a signal in that is pending for this thread, or for the process.
pub fn let_in(signal: c_int) {
    let kept = errno::get();
    // SAFETY: a set and a time of ours, and no descriptors; all zeros are such.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        write(&raw mut mask, blocked() & !bit(signal));
        libc::ppoll(ptr::null_mut(), 0, &mem::zeroed(), &raw const mask);
    }
    errno::set(kept);
}
