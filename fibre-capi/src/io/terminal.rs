//! Terminals: what waits until they have taken all that was written.

use super::entry::waits;
use super::library::patiently;
use fibre_io::posix::syscall::{Syscall, syscall};
use std::ffi::c_int;

/// `tcdrain`: waits until a terminal has taken all. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_tcdrain(fd: c_int) -> c_int {
    let call = syscall!(SYS_ioctl, fd, libc::TCSBRK as usize, 1);
    waits(call, Syscall::until_cancelled)
}

/// `tcsetattr`: waits as [`fibre_tcdrain`], unless that is to be `TCSANOW`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_tcsetattr(
    fd: c_int,
    when: c_int,
    settings: *const libc::termios,
) -> c_int {
    // SAFETY: the caller's settings, which stay valid.
    let set = || unsafe { libc::tcsetattr(fd, when, settings) };
    if when == libc::TCSANOW {
        set()
    } else {
        patiently(set)
    }
}
