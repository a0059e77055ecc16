//! Receiving from sockets.

use super::entry::{borrow, check, waits_on};
use super::flags::{ASIDE, left, wish_to_receive};
use super::rest_errors::{has_error, is_at_error};
use super::syscall::syscall;
use super::vector::{Vector, buffer, go_on, message};
use crate::memory::{duration, fetch_any};
use fibre_io::raw::{Call, Direction, Failure, Known, Left, known};
use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::time::Instant;

/// `recv`: [`fibre_recvfrom`] that does not ask from whom.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_recv(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's buffer.
    unsafe { fibre_recvfrom(fd, bytes, count, flags, ptr::null_mut(), ptr::null_mut()) }
}

/// `recvfrom`: a message, or what there is of a stream, or all that was asked for with
/// `MSG_WAITALL`; waits for it unless the socket or the call is non-blocking. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_recvfrom(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    flags: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> isize {
    let call = syscall!(SYS_recvfrom, fd, bytes, count, flags, address, length);
    waits_on(fd, call, |call| {
        let now = call.with(3, flags | libc::MSG_DONTWAIT);
        let mut socket = Call::new(borrow(fd), Direction::Read, wish_to_receive(flags))?;
        let drains = drains(socket.known(), flags);
        let received = run(fd, &mut socket, flags, || {
            let received = now.here()?;
            Ok((received, left(drains, received, count)))
        })?;
        let whole = buffer(bytes, count);
        receive_rest(fd, &mut socket, Vector::of(&whole), received, flags)
    })
}

/// `recvmsg`: [`fibre_recvfrom`] into several buffers, with what comes along.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_recvmsg(
    fd: c_int,
    message: *mut libc::msghdr,
    flags: c_int,
) -> isize {
    waits_on(fd, syscall!(SYS_recvmsg, fd, message, flags), |call| {
        let now = call.with(2, flags | libc::MSG_DONTWAIT);
        let mut socket = Call::new(borrow(fd), Direction::Read, wish_to_receive(flags))?;
        // SAFETY: null, or the caller's message.
        let whole = unsafe { Vector::of_message(message) }?;
        // SAFETY: it is there, which has been found out.
        let is_alone = unsafe { (*message).msg_control }.is_null();
        // What comes along ends a read before the bytes end: a short one says nothing.
        let received = run(fd, &mut socket, flags, || {
            let received = now.here()?;
            let drains = is_alone && drains(known(borrow(fd)), flags);
            Ok((received, left(drains, received, whole.total())))
        })?;
        receive_rest(fd, &mut socket, whole, received, flags)
    })
}

/// `recvmmsg`: several messages, as many as were asked for unless time is over after one, or only
/// the first is waited for (`MSG_WAITFORONE`); says how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    let call = syscall!(SYS_recvmmsg, fd, messages, count, flags, timeout);
    waits_on(fd, call, |call| {
        let mut socket = Call::new(borrow(fd), Direction::Read, wish_to_receive(flags))?;
        // SAFETY: null, or the caller's time.
        let timeout = unsafe { fetch_any(timeout) }?;
        let timeout = timeout.as_ref().map(duration).transpose()?;
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let now = (flags | libc::MSG_DONTWAIT) & !libc::MSG_WAITFORONE;
        let now = call.with(3, now).with(4, 0);
        let mut received = 0;
        while received < count as usize {
            let rest = messages.wrapping_add(received);
            let now = now.with(1, rest).with(2, count as usize - received);
            let more = run(fd, &mut socket, flags, || {
                if received > 0 && has_error(fd)? {
                    return Ok((0, Left::More));
                }
                Ok((now.here()?, Left::More))
            });
            match more {
                Ok(0) => break,
                Ok(more) => received += more,
                Err(_) if received > 0 => break,
                Err(failure) => return Err(failure),
            }
            let is_over = end.is_some_and(|end| Instant::now() >= end);
            if is_over || flags & libc::MSG_WAITFORONE != 0 || !socket.waits()? {
                break;
            }
        }
        Ok(received)
    })
}

/// Receives by `operation`. Where the gate tells of something else than these flags ask for, what
/// is found proves nothing about it.
#[inline]
fn run<T>(
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
    whole: Vector,
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
    whole: Vector,
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

/// Whether a short read of a socket of which this is known says that nothing is left.
#[inline]
fn drains(known: Known, flags: c_int) -> bool {
    known.has(Known::DRAINS) && flags & libc::MSG_PEEK == 0
}

/// `recv` of a program that was built with `_FORTIFY_SOURCE`: ends the process if there is no room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_recv_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    room: usize,
    flags: c_int,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer.
    unsafe { fibre_recv(fd, bytes, count, flags) }
}

/// `recvfrom` of such a program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_recvfrom_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    room: usize,
    flags: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer.
    unsafe { fibre_recvfrom(fd, bytes, count, flags, address, length) }
}
