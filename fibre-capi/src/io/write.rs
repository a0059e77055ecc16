//! Writing bytes, to whatever it is: how is said in [`fibre_io::posix::write`].
//!
//! On a socket, nothing here raises SIGPIPE. On a pipe, the kernel raises it; processors block it,
//! so the call raises it once more at its end ([`self_signal`]).

use super::entry::{is_ours, or_leave, vector, waits_on};
use super::send::send_on_thread;
use crate::self_signal;
use crate::sigmask::holds;
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::posix::vector::{Vector, buffer};
use fibre_io::posix::write::{write as write_by, write_at};
use fibre_io::raw::{Failure, Known, known};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// `write`: all bytes, unless the descriptor is non-blocking; waits until there is room. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    let call = syscall!(SYS_write, fd, bytes, count);
    or_leave(|| write(fd, Vector::of(&buffer(bytes, count)), call))
}

/// `writev`: [`fibre_write`] from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_writev(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
) -> isize {
    let call = syscall!(SYS_writev, fd, buffers, count);
    // SAFETY: the caller's buffers.
    or_leave(|| write(fd, unsafe { vector(buffers, count) }?, call))
}

/// `pwrite`: to a place of a file, whose position stays. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwrite(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    offset: libc::off_t,
) -> isize {
    let call = syscall!(SYS_pwrite64, fd, bytes, count, offset);
    waits_on(fd, call, |call| write_at(fd, count, offset, call, Freely))
}

/// `pwritev`: [`fibre_pwrite`] from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwritev(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
    offset: libc::off_t,
) -> isize {
    let call = syscall!(SYS_pwritev, fd, buffers, count, offset);
    waits_on(fd, call, |call| {
        // SAFETY: the caller's buffers.
        let total = unsafe { vector(buffers, count) }?.total();
        write_at(fd, total, offset, call, Freely)
    })
}

/// Writes in a fibre, or on a plain thread, where sockets raise no SIGPIPE either.
#[inline]
fn write(fd: c_int, from: Vector<'_>, as_called: Syscall) -> Result<usize, Failure> {
    if is_ours(fd) {
        return write_in_fibre(fd, from, as_called);
    }
    let is_socket = fd >= 0 && known(borrow(fd)).has(Known::SOCKET);
    match is_socket.then(|| send_on_thread(fd, from)) {
        None | Some(Err(Errno::NOTSOCK)) => Ok(as_called.here()?),
        Some(sent) => Ok(sent?),
    }
}

/// Writes all bytes.
#[inline]
fn write_in_fibre(fd: c_int, from: Vector<'_>, as_called: Syscall) -> Result<usize, Failure> {
    let pipe_failed = |failure| signal_if_broken(fd, failure);
    write_by(fd, from, as_called, Freely, pipe_failed)
}

/// Raises SIGPIPE if a fibre's write has failed because a pipe has no reader.
#[cold]
pub fn signal_if_broken(fd: c_int, failure: Failure) {
    let is_pipe =
        || fstat(borrow(fd)).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Fifo);
    if failure == Failure::Errno(Errno::PIPE) && is_pipe() {
        if holds(libc::SIGPIPE) {
            // The kernel has sent one to this thread.
            self_signal::take_back(libc::SIGPIPE);
        } else {
            self_signal::raise(libc::SIGPIPE);
        }
    }
}
