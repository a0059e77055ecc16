//! Receiving from sockets.

use super::flags::{ASIDE, left, wish_to_receive};
use super::rest_errors::is_at_error;
use super::switching::{Switching, borrow};
use super::syscall::{Syscall, syscall};
use super::vector::{Vector, go_on, message};
use crate::raw::{Call, Direction, Failure, Known, Left, known};
use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};
use std::ffi::c_int;

/// `recvfrom`: a message, or what there is of a stream, or all that was asked for with
/// `MSG_WAITALL`. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
pub fn receive_from(
    fd: c_int,
    whole: Vector<'_>,
    flags: c_int,
    as_called: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    let now = as_called.with(3, flags | libc::MSG_DONTWAIT);
    let mut socket = switching.call(borrow(fd), Direction::Read, wish_to_receive(flags))?;
    let drains = drains(socket.known(), flags);
    let received = run(fd, &mut socket, flags, || {
        let received = now.here()?;
        Ok((received, left(drains, received, whole.total())))
    })?;
    receive_rest(fd, &mut socket, whole, received, flags)
}

/// `recvmsg`: [`receive_from`] into several buffers, with what comes along, unless the caller is
/// `alone` and asks for nothing of that. Blocks the fibre.
///
/// # Errors
///
/// As [`receive_from`].
pub fn receive_message(
    fd: c_int,
    whole: Vector<'_>,
    alone: bool,
    flags: c_int,
    as_called: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    let now = as_called.with(2, flags | libc::MSG_DONTWAIT);
    let mut socket = switching.call(borrow(fd), Direction::Read, wish_to_receive(flags))?;
    // What comes along ends a read before the bytes end: a short one says nothing.
    let received = run(fd, &mut socket, flags, || {
        let received = now.here()?;
        let drains = alone && drains(known(borrow(fd)), flags);
        Ok((received, left(drains, received, whole.total())))
    })?;
    receive_rest(fd, &mut socket, whole, received, flags)
}

/// Receives by `operation`. Where the gate tells of something else than these flags ask for, what
/// is found proves nothing about it.
///
/// # Errors
///
/// As [`Call::run`].
#[inline]
pub fn run<T>(
    fd: c_int,
    call: &mut Call<'_>,
    flags: c_int,
    mut operation: impl FnMut() -> Result<(T, Left), Errno>,
) -> Result<T, Failure> {
    if flags & (ASIDE | libc::MSG_PEEK) != 0 && is_aside(fd, flags) {
        return call.run_untold(|| Ok(operation()?.0));
    }
    call.run(operation)
}

/// Whether errors or urgent data are asked for, or what comes after what has been looked at before
/// (`SO_PEEK_OFF`).
#[cold]
fn is_aside(fd: c_int, flags: c_int) -> bool {
    if flags & ASIDE != 0 {
        return true;
    }
    let mut offset: c_int = -1;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEEK_OFF);
    let (place, room) = (&raw mut offset, &raw mut length);
    let asked = syscall!(SYS_getsockopt, fd, level, option, place, room).here();
    asked.is_ok() && offset >= 0
}

/// Receives the rest of what `MSG_WAITALL` asks for, if the call waits. An error is for the next
/// call then.
#[inline]
fn receive_rest(
    fd: c_int,
    call: &mut Call<'_>,
    whole: Vector<'_>,
    received: usize,
    flags: c_int,
) -> Result<usize, Failure> {
    let wants_all = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0;
    if !wants_all || received == 0 || received >= whole.total() {
        return Ok(received);
    }
    receive_all(fd, call, whole, received)
}

/// The waiting part of [`receive_rest`].
#[cold]
fn receive_all(
    fd: c_int,
    call: &mut Call<'_>,
    whole: Vector<'_>,
    received: usize,
) -> Result<usize, Failure> {
    if sockopt::socket_type(borrow(fd))? != SocketType::STREAM {
        return Ok(received);
    }
    go_on(call, whole, received, |rest| {
        if is_at_error(fd)? {
            return Ok((0, Left::More));
        }
        let into = message(rest);
        let now = syscall!(SYS_recvmsg, fd, &raw const into, libc::MSG_DONTWAIT);
        Ok((now.here()?, Left::More))
    })
}

/// Whether a short read says that nothing is left, of a socket with this known.
#[inline]
fn drains(known: Known, flags: c_int) -> bool {
    known.has(Known::DRAINS) && flags & libc::MSG_PEEK == 0
}
