//! What becomes of numbers: closing, duplicating, pipes, flags.

use super::entry::{at_once, borrow, enduring, opened, or_leave};
use super::socket::both_made;
use super::syscall::{Syscall, syscall};
use crate::cancel::fibre_testcancel;
use crate::memory::fetch;
use fibre_core::{in_fibre, is_forked_child};
use fibre_io::posix::nonblock_emulation::{
    flags, hide_duplicate, is_known_socket, set_flags, set_nonblocking,
};
use fibre_io::raw::{Known, add_known, close, find, made, patiently, renewed};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::{c_int, c_ulong};

/// `close`: calls that wait for the descriptor fail with `EBADF`. A cancellation point before it
/// begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_close(fd: c_int) -> c_int {
    or_leave(|| Ok(close_by(fd, syscall!(SYS_close, fd))?))
}

/// Closes a descriptor by a call, or puts another one into its place. A forked child has nobody to
/// tell.
fn close_by(fd: c_int, call: Syscall) -> Result<usize, Errno> {
    if is_forked_child() {
        return call.here();
    }
    // SAFETY: the program closes what is its own.
    unsafe { close(fd, || call.here()) }
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

/// Puts a duplicate in the place of a number, unless there is nothing to duplicate.
fn replaced(fd: c_int, place: c_int, call: Syscall) -> Result<usize, Errno> {
    syscall!(SYS_fcntl, fd, libc::F_GETFD).here()?;
    duplicated(fd, close_by(place, call)?)
}

/// Notes what is known of a descriptor and its new duplicate, which it returns.
fn duplicated(fd: c_int, duplicate: usize) -> Result<usize, Errno> {
    let (fd, new) = (borrow(fd), opened(duplicate));
    if is_forked_child() {
        return Ok(duplicate);
    }
    let it = find(fd)?;
    add_known(fd, Known::SHARED);
    // What was found may be something else by now: what is known of it is not known of the
    // duplicate.
    if it.has(Known::RAW) && !it.has(Known::FOUND) {
        let every = Known::SOCKET | Known::FILE | Known::DRAINS | Known::TIMED;
        made(new, it.and(every) | Known::SHARED);
        hide_duplicate(fd, new);
    } else {
        renewed(new);
    }
    Ok(duplicate)
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
/// `F_OFD_SETLKW`) blocks the fibre, and is a cancellation point before it begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    if matches!(command, libc::F_SETLKW | libc::F_OFD_SETLKW) {
        fibre_testcancel();
    }
    enduring(|| {
        // A number takes the lower half of its register, and the rest says nothing.
        let number = argument as c_int;
        let call = syscall!(SYS_fcntl, fd, command, argument as usize);
        match command {
            libc::F_GETFL if fd >= 0 => Ok(flags(borrow(fd))?.bits() as usize),
            libc::F_SETFL if fd >= 0 => {
                let flags = OFlags::from_bits_retain(number.cast_unsigned());
                set_flags(borrow(fd), flags).map(|()| 0)
            }
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicated(fd, call.with(2, number).here()?),
            libc::F_SETLKW | libc::F_OFD_SETLKW if in_fibre() => patiently(|| call.here()),
            _ => call.here(),
        }
    })
}

/// `ioctl`, whose third argument may be a number or a pointer. Blocks the thread if the device
/// does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_ioctl(fd: c_int, request: c_ulong, argument: c_ulong) -> c_int {
    at_once(|| {
        if request == libc::FIONBIO && fd >= 0 && is_known_socket(borrow(fd)) {
            // SAFETY: null, or the caller's number, which this request reads.
            let wanted = unsafe { fetch(argument as *const c_int) }?;
            return set_nonblocking(borrow(fd), wanted != 0).map(|()| 0);
        }
        syscall!(SYS_ioctl, fd, request as usize, argument as usize).here()
    })
}
