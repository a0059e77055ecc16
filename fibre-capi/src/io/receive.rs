//! Receiving from sockets.

use super::entry::{taken, waits_on};
use crate::memory::{Asked, duration, fetch_any};
use fibre_io::posix::boundary::check;
use fibre_io::posix::flags::wish_to_receive;
use fibre_io::posix::receive::{receive_from, receive_message, run};
use fibre_io::posix::rest_errors::has_error;
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::syscall;
use fibre_io::posix::vector::{Vector, buffer};
use fibre_io::raw::Failure;
use fibre_io::raw::{Call, Direction, Left};
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
        let whole = buffer(bytes, count);
        let received = receive_from(fd, Vector::of(&whole), flags, call, Freely)?;
        received_by(fd, flags, received)
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
        // SAFETY: null, or the caller's message.
        let whole = unsafe { Vector::of_message::<Asked>(message) }?;
        // SAFETY: it is there, which has been found out.
        let is_alone = unsafe { (*message).msg_control }.is_null();
        let received = receive_message(fd, whole, is_alone, flags, call, Freely)?;
        received_by(fd, flags, received)
    })
}

/// What has been received. What the kernel says of errors comes without bytes, and is taken.
fn received_by(fd: c_int, flags: c_int, count: usize) -> Result<usize, Failure> {
    match flags & libc::MSG_ERRQUEUE {
        0 => taken(fd, count),
        _ => Ok(count),
    }
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
        // At the end of a stream each message is empty.
        // SAFETY: the caller's messages. The kernel has written the first one.
        if received > 0 && unsafe { (*messages).msg_len } == 0 {
            received_by(fd, flags, 0)?;
        }
        Ok(received)
    })
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
