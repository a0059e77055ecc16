//! Sending to sockets. Nothing here raises SIGPIPE, as if all flags had `MSG_NOSIGNAL`: a server
//! must not end because a client has.

use super::flags::room;
use super::rest_errors::has_broken;
use super::syscall::syscall;
use super::vector::{Vector, go_on, message};
use crate::raw::{Call, Failure, Left};
use rustix::io::Errno;
use std::ffi::c_int;

/// What is added to all flags.
pub const ALWAYS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// Whether this is the family of Unix sockets: no event tells an unconnected sender that an address
/// has room.
#[must_use]
pub fn is_unix(family: libc::sa_family_t) -> bool {
    c_int::from(family) == libc::AF_UNIX
}

/// Sends all of a stream's bytes, or a message. Blocks the fibre.
///
/// # Errors
///
/// Those of `send`; that the fibre has been cancelled.
#[inline]
pub fn send_all(
    fd: c_int,
    call: &mut Call<'_>,
    whole: Vector<'_>,
    flags: c_int,
) -> Result<usize, Failure> {
    let send = || send_now(fd, whole, flags | ALWAYS);
    send_all_by(fd, call, whole, flags, true, send)
}

/// The same, with `send` for the first try. `is_told`: events tell of room.
///
/// # Errors
///
/// As [`send_all`].
#[inline]
pub fn send_all_by(
    fd: c_int,
    call: &mut Call<'_>,
    whole: Vector<'_>,
    flags: c_int,
    is_told: bool,
    mut send: impl FnMut() -> Result<usize, Errno>,
) -> Result<usize, Failure> {
    if !is_told {
        return call.run_untold(send);
    }
    let sent = call.run(|| {
        let sent = send()?;
        Ok((sent, room(sent, whole.total())))
    })?;
    go_on(call, whole, sent, |rest| {
        if has_broken(fd)? {
            return Ok((0, Left::More));
        }
        let more = send_now(fd, rest, flags | ALWAYS)?;
        Ok((more, room(more, rest.total())))
    })
}

/// Sends what there is room for.
#[inline]
fn send_now(fd: c_int, from: Vector<'_>, flags: c_int) -> Result<usize, Errno> {
    if let Some(only) = from.only() {
        let (start, length) = (only.iov_base, only.iov_len);
        return syscall!(SYS_sendto, fd, start, length, flags).here();
    }
    let message = message(from);
    syscall!(SYS_sendmsg, fd, &raw const message, flags).here()
}
