//! Closing and duplicating numbers, and their flags.

use super::memory::Memory;
use super::nonblock_emulation::{
    flags, hide_duplicate, is_known_socket, set_flags, set_nonblocking,
};
use super::switching::{borrow, opened};
use super::syscall::{Syscall, syscall};
use crate::raw::{Known, add_known, close, find, made, patiently, renewed};
use fibre_core::{in_fibre, is_forked_child};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::{c_int, c_ulong};

/// Closes a descriptor by a call, or replaces it by another one. A forked child has nobody to tell.
/// Blocks only as far as the call does.
///
/// # Errors
///
/// Those of the call.
pub fn close_by(fd: c_int, call: Syscall) -> Result<usize, Errno> {
    if is_forked_child() {
        return call.here();
    }
    // SAFETY: the program closes what is its own.
    unsafe { close(fd, || call.here()) }
}

/// Puts a duplicate in the place of a number, unless there is nothing to duplicate. Blocks nothing.
///
/// # Errors
///
/// Those of the call.
pub fn replaced(fd: c_int, place: c_int, call: Syscall) -> Result<usize, Errno> {
    syscall!(SYS_fcntl, fd, libc::F_GETFD).here()?;
    duplicated(fd, close_by(place, call)?)
}

/// `dup2` with equal numbers, which leaves the descriptor as it is.
///
/// # Errors
///
/// `EBADF` if there is none.
pub fn duplicated_in_place(fd: c_int) -> Result<usize, Errno> {
    syscall!(SYS_fcntl, fd, libc::F_GETFD).here()?;
    // An open descriptor's number is not negative.
    Ok(fd as usize)
}

/// Notes what is known of a descriptor and its new duplicate, which it returns.
///
/// # Errors
///
/// `EBADF` if the descriptor has been closed meanwhile.
pub fn duplicated(fd: c_int, duplicate: usize) -> Result<usize, Errno> {
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

/// `fcntl`. Its third argument may be a number or a pointer. Waiting for a lock (`F_SETLKW`,
/// `F_OFD_SETLKW`) blocks the fibre.
///
/// # Errors
///
/// Those of the call.
pub fn control(fd: c_int, command: c_int, argument: c_ulong) -> Result<usize, Errno> {
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
}

/// `ioctl`. Its third argument may be a number or a pointer. Blocks the thread if the device does.
///
/// # Errors
///
/// Those of the call.
///
/// # Safety
///
/// The argument is what the request takes.
pub unsafe fn device_control<M: Memory>(
    fd: c_int,
    request: c_ulong,
    argument: c_ulong,
) -> Result<usize, Errno> {
    if request == libc::FIONBIO && fd >= 0 && is_known_socket(borrow(fd)) {
        // SAFETY: null, or the caller's number, which this request reads.
        let wanted = unsafe { M::fetch(argument as *const c_int) }?;
        return set_nonblocking(borrow(fd), wanted != 0).map(|()| 0);
    }
    syscall!(SYS_ioctl, fd, request as usize, argument as usize).here()
}
