//! Sending to sockets. Nothing here raises SIGPIPE, as if all flags had `MSG_NOSIGNAL`: a server
//! shall not end because a client has.

use super::entry::{is_ours, or_leave};
use crate::memory::{Asked, fetch};
use fibre_io::posix::boundary::Returned;
use fibre_io::posix::flags::wish_to_send;
use fibre_io::posix::send::{self, ALWAYS, send_all_by};
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::posix::vector::{Vector, buffer, message};
use fibre_io::raw::{Call, Direction, Failure};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

/// `send`: [`fibre_sendto`] to the peer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_send(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's buffer.
    unsafe { fibre_sendto(fd, bytes, count, flags, ptr::null(), 0) }
}

/// `sendto`: a message, or all bytes of a stream unless the socket or the call is non-blocking;
/// waits until there is room. `EPIPE` without SIGPIPE. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sendto(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> isize {
    let call = |flags: c_int| syscall!(SYS_sendto, fd, bytes, count, flags, address, length);
    sends(fd, flags, call, |socket, send| {
        let whole = buffer(bytes, count);
        let whole = Vector::of(&whole);
        // SAFETY: the caller's address.
        let is_told = !unsafe { is_unix(address, length) }?;
        send_all_by(fd, socket, whole, flags, is_told, || send.here())
    })
}

/// `sendmsg`: [`fibre_sendto`] from several buffers, with what goes along.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sendmsg(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> isize {
    let call = |flags: c_int| syscall!(SYS_sendmsg, fd, message, flags);
    // SAFETY: the caller's message.
    sends(fd, flags, call, |socket, _| unsafe {
        send_message(fd, socket, message, flags)
    })
}

/// `sendmmsg`: several messages; says how many were sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let call = |flags: c_int| syscall!(SYS_sendmmsg, fd, messages, count, flags);
    sends(fd, flags, call, |socket, _| {
        for sent in 0..count as usize {
            let one = messages.wrapping_add(sent);
            // SAFETY: the caller's messages, of which there are so many.
            match unsafe { send_message(fd, socket, &raw const (*one).msg_hdr, flags) } {
                // The kernel has a field of 32 bits for it, too.
                // SAFETY: it has just been read.
                Ok(bytes) => unsafe { (*one).msg_len = bytes as u32 },
                Err(_) if sent > 0 => return Ok(sent),
                Err(failure) => return Err(failure),
            }
        }
        Ok(count as usize)
    })
}

/// Makes a call that sends with these flags: a fibre by `f`, which is given the call that does not
/// wait; a plain thread as it is.
#[inline]
fn sends<T: Returned>(
    fd: c_int,
    flags: c_int,
    call: impl Fn(c_int) -> Syscall,
    f: impl FnOnce(&mut Call<'_>, Syscall) -> Result<usize, Failure>,
) -> T {
    or_leave(|| {
        if !is_ours(fd) {
            return Ok(call(flags | libc::MSG_NOSIGNAL).here()?);
        }
        let mut socket = Call::new(borrow(fd), Direction::Write, wish_to_send(flags))?;
        f(&mut socket, call(flags | ALWAYS))
    })
}

/// Whether it is the address of a Unix socket: nothing tells a sender that is not connected to it
/// of its room.
///
/// # Safety
///
/// It is null, or what can be read there is so long.
///
/// # Errors
///
/// `EFAULT` if it is not there.
unsafe fn is_unix(address: *const libc::sockaddr, length: libc::socklen_t) -> Result<bool, Errno> {
    if address.is_null() || (length as usize) < size_of::<libc::sa_family_t>() {
        return Ok(false);
    }
    // SAFETY: the caller's promise; an address begins with its family.
    let family = unsafe { fetch(address.cast::<libc::sa_family_t>()) }?;
    Ok(send::is_unix(family))
}

/// Sends a message whose parts are where it says.
///
/// # Safety
///
/// As the caller of `sendmsg` promises.
unsafe fn send_message(
    fd: c_int,
    call: &mut Call<'_>,
    message: *const libc::msghdr,
    flags: c_int,
) -> Result<usize, Failure> {
    // SAFETY: null, or the caller's message.
    let whole = unsafe { Vector::of_message::<Asked>(message) }?;
    // SAFETY: it is there, which has been found out; the caller's address.
    let is_told = !unsafe { is_unix((*message).msg_name.cast(), (*message).msg_namelen) }?;
    let send = syscall!(SYS_sendmsg, fd, message, flags | ALWAYS);
    send_all_by(fd, call, whole, flags, is_told, || send.here())
}

/// Writes on a plain thread. Blocks the thread.
pub fn send_on_thread(fd: c_int, from: Vector<'_>) -> Result<usize, Errno> {
    let message = message(from);
    syscall!(SYS_sendmsg, fd, &raw const message, libc::MSG_NOSIGNAL).here()
}
