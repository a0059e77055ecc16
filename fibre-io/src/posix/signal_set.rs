//! Sets of signals as words, and the mask of a kernel thread.

use std::ffi::c_int;
use std::mem;
use std::ptr;

/// The last signal.
pub const LAST: c_int = 64;

/// The bit of a signal.
pub const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// The lowest of some signals.
pub const fn lowest(signals: u64) -> Option<c_int> {
    match signals {
        0 => None,
        // The lowest bit is that of signal 1.
        _ => Some(signals.trailing_zeros() as c_int + 1),
    }
}

/// The signals of a set.
///
/// # Safety
///
/// There is one.
pub unsafe fn read(set: *const libc::sigset_t) -> u64 {
    // SAFETY: a set begins with these bits.
    unsafe { set.cast::<u64>().read() }
}

/// Writes a set.
///
/// # Safety
///
/// There is room for one.
pub unsafe fn write(set: *mut libc::sigset_t, signals: u64) {
    // SAFETY: the caller's promise; a set begins with these bits.
    unsafe {
        libc::sigemptyset(set);
        set.cast::<u64>().write(signals);
    }
}

/// What the calling thread blocks.
pub fn blocked() -> u64 {
    // SAFETY: a set of our own; all zeros is one.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut set);
        read(&raw const set)
    }
}

/// Makes the calling thread block these signals, and no others.
pub fn block(signals: u64) {
    // SAFETY: a set of our own; all zeros is one.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        write(&raw mut set, signals);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
    }
}
