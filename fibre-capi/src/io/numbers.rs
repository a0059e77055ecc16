//! What becomes of numbers: closing, duplicating, pipes, flags.

use super::entry::{at_once, borrow, enduring, nothing, or_leave, small};
use super::hidden::{flags, hide_duplicate, is_known_socket, set_flags};
use super::plain::plain;
use super::system::system;
use crate::cancel::fibre_testcancel;
use crate::memory::fetch;
use fibre_core::{in_fibre, is_forked_child};
use fibre_io::raw::{Known, add_known, close, find, made, patiently, renewed};
use rustix::io::Errno;
use std::ffi::{c_int, c_ulong};

/// `close`: calls that wait for the descriptor fail with `EBADF`. A cancellation point before it
/// begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_close(fd: c_int) -> c_int {
    or_leave(|| Ok(close_here(fd)?))
}

/// Closes a descriptor, whether or not the caller has been cancelled.
///
/// # Errors
///
/// The kernel's.
pub fn close_here(fd: c_int) -> Result<(), Errno> {
    let call = || system!(SYS_close, fd);
    if is_forked_child() {
        return nothing(call());
    }
    // SAFETY: the program closes what is its own.
    nothing(unsafe { close(fd, call) })
}

/// `dup`.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_dup(fd: c_int) -> c_int {
    at_once(|| duplicated(fd, || system!(SYS_dup, fd)))
}

/// `dup2`: [`fibre_dup3`] without flags, that leaves equal numbers as they are.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_dup2(fd: c_int, place: c_int) -> c_int {
    at_once(|| {
        if fd == place {
            nothing(system!(SYS_fcntl, fd, libc::F_GETFD))?;
            return Ok(fd);
        }
        replaced(fd, place, || system!(SYS_dup2, fd, place))
    })
}

/// `dup3`: a duplicate with this number, which is closed before as by [`fibre_close`].
#[unsafe(no_mangle)]
pub extern "C" fn fibre_dup3(fd: c_int, place: c_int, flags: c_int) -> c_int {
    at_once(|| {
        if fd == place || flags & !libc::O_CLOEXEC != 0 {
            return Err(Errno::INVAL);
        }
        replaced(fd, place, || system!(SYS_dup3, fd, place, flags))
    })
}

/// Puts a duplicate in the place of a number, unless there is nothing to duplicate.
fn replaced(
    fd: c_int,
    place: c_int,
    call: impl FnOnce() -> Result<usize, Errno>,
) -> Result<c_int, Errno> {
    nothing(system!(SYS_fcntl, fd, libc::F_GETFD))?;
    if is_forked_child() {
        return call().map(small);
    }
    // SAFETY: the program closes what is its own.
    duplicated(fd, || unsafe { close(place, call) })
}

/// Duplicates a descriptor, and notes what is known of both.
fn duplicated(fd: c_int, call: impl FnOnce() -> Result<usize, Errno>) -> Result<c_int, Errno> {
    let new = small(call()?);
    if is_forked_child() {
        return Ok(new);
    }
    let it = find(borrow(fd))?;
    add_known(borrow(fd), Known::SHARED);
    // What was found may be something else by now: what is known of it is not known of the
    // duplicate.
    if it.has(Known::RAW) && !it.has(Known::FOUND) {
        let every = Known::SOCKET | Known::FILE | Known::DRAINS | Known::TIMED;
        made(borrow(new), it.and(every) | Known::SHARED);
        hide_duplicate(fd, new);
    } else {
        renewed(borrow(new));
    }
    Ok(new)
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
        nothing(system!(SYS_pipe2, ends, flags))?;
        // SAFETY: the caller's two numbers, which the kernel has written.
        let [reader, writer] = unsafe { ends.cast::<[c_int; 2]>().read() };
        made(borrow(reader), Known::NOTHING);
        made(borrow(writer), Known::NOTHING);
        Ok(())
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
        match command {
            libc::F_GETFL => flags(fd),
            libc::F_SETFL => set_flags(fd, number),
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
                duplicated(fd, || system!(SYS_fcntl, fd, command, number))
            }
            libc::F_SETLKW | libc::F_OFD_SETLKW if in_fibre() => {
                let as_called = plain!(SYS_fcntl, fd, command, argument as usize);
                patiently(|| as_called.here()).map(small)
            }
            _ => system!(SYS_fcntl, fd, command, argument as usize).map(small),
        }
    })
}

/// `ioctl`, whose third argument may be a number or a pointer. Blocks the thread if the device
/// does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_ioctl(fd: c_int, request: c_ulong, argument: c_ulong) -> c_int {
    at_once(|| {
        if request == libc::FIONBIO && is_known_socket(fd) {
            // SAFETY: null, or the caller's number, which this request reads.
            let wanted = unsafe { fetch(argument as *const c_int) }?;
            let flag = if wanted == 0 { 0 } else { libc::O_NONBLOCK };
            return set_flags(fd, flags(fd)? & !libc::O_NONBLOCK | flag);
        }
        system!(SYS_ioctl, fd, request as usize, argument as usize).map(small)
    })
}
