//! Sets of signals as words, and the mask of a kernel thread.

use crate::posix::syscall::syscall;
use std::ffi::c_int;
use std::ptr;

/// The last signal.
pub const LAST: c_int = 64;

/// The signals that the C library has for itself, which it lets nobody block.
const LIBRARYS: u64 = bit(32) | bit(33);

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
    change(libc::SIG_BLOCK, None)
}

/// Makes the calling thread block these signals, and no others.
pub fn block(signals: u64) {
    change(libc::SIG_SETMASK, Some(signals & !LIBRARYS));
}

/// Changes what the calling kernel thread blocks; what it has blocked before. By instruction:
/// `fibre-libc` defines the C library's name, which may be about a mask of the fibre's.
fn change(how: c_int, signals: Option<u64>) -> u64 {
    let set: *const u64 = signals.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mut before = 0;
    let size = size_of::<u64>();
    // Sets of this frame: it cannot fail.
    let _ = syscall!(SYS_rt_sigprocmask, how, set, &raw mut before, size).here();
    before
}
