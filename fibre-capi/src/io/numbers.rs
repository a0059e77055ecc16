//! What becomes of numbers: closing, duplicating, pipes, flags.

use super::entry::{at_once, enduring, or_leave, waits};
use crate::memory::Asked;
use fibre_io::posix::numbers::{close_by, control, device_control, duplicated, replaced};
use fibre_io::posix::socket::both_made;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::raw::Known;
use rustix::io::Errno;
use std::ffi::{c_int, c_ulong};

/// `close`: calls that wait for the descriptor fail with `EBADF`. A cancellation point before it
/// begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_close(fd: c_int) -> c_int {
    or_leave(|| Ok(close_by(fd, syscall!(SYS_close, fd))?))
}

/// `dup`.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_dup(fd: c_int) -> c_int {
    at_once(|| duplicated(fd, syscall!(SYS_dup, fd).here()?))
}

/// `dup2`: [`fibre_dup3`] without flags, that leaves equal numbers as they are.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_dup2(fd: c_int, place: c_int) -> c_int {
    at_once(|| match fd == place {
        true => syscall!(SYS_dup2, fd, place).here(),
        false => replaced(fd, place, syscall!(SYS_dup2, fd, place)),
    })
}

/// `dup3`: a duplicate with this number, which is closed before as by [`fibre_close`].
#[unsafe(no_mangle)]
pub extern "C" fn fibre_dup3(fd: c_int, place: c_int, flags: c_int) -> c_int {
    at_once(|| {
        if fd == place || flags & !libc::O_CLOEXEC != 0 {
            return Err(Errno::INVAL);
        }
        replaced(fd, place, syscall!(SYS_dup3, fd, place, flags))
    })
}

/// `pipe`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the caller's two numbers.
    unsafe { fibre_pipe2(ends, 0) }
}

/// `pipe2`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    at_once(|| {
        let done = syscall!(SYS_pipe2, ends, flags).here()?;
        // SAFETY: the caller's two numbers, which the kernel has written.
        unsafe { both_made(ends, Known::NOTHING) };
        Ok(done)
    })
}

/// `fcntl`, whose third argument may be a number or a pointer. Waiting for a lock (`F_SETLKW`,
/// `F_OFD_SETLKW`) blocks the fibre, and is a cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    if matches!(command, libc::F_SETLKW | libc::F_OFD_SETLKW) {
        let call = syscall!(SYS_fcntl, fd, command, argument as usize);
        return waits(call, Syscall::until_cancelled);
    }
    enduring(|| control(fd, command, argument))
}

/// `ioctl`, whose third argument may be a number or a pointer. Blocks the thread if the device
/// does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_ioctl(fd: c_int, request: c_ulong, argument: c_ulong) -> c_int {
    at_once(|| {
        // SAFETY: the caller's argument.
        unsafe { device_control::<Asked>(fd, request, argument) }
    })
}
