//! Sockets: making, connecting and accepting them.
//!
//! Calls that send and receive have a flag not to wait; accepting has none. So the first `accept`
//! makes a blocking listener non-blocking, unless others may have it (see
//! [`super::nonblock_emulation`]). If they may, another thread makes the call once there is a
//! connection. Connecting makes the socket non-blocking during two calls: the one that begins, and
//! the one that takes the outcome.

use super::nonblock_emulation::{AcceptWait, is_hidden, keep_hidden, prepare_to_accept};
use super::poll::wait_on_thread;
use super::switching::{Switching, borrow};
use super::syscall::Syscall;
use crate::raw::{
    Direction, Failure, Known, Left, Wish, find, is_shut_down, known, look, made, wait,
};
use crate::readiness::Readiness;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_error, socket_protocol, socket_timeout, socket_type};
use rustix::net::{SocketType, getpeername, ipproto};
use std::ffi::c_int;
use std::time::Instant;

/// What is known of a new socket.
#[must_use]
pub fn known_of(domain: c_int, kind: c_int, protocol: c_int) -> Known {
    let is_internet = domain == libc::AF_INET || domain == libc::AF_INET6;
    let is_stream = kind & 0xF == libc::SOCK_STREAM;
    let is_tcp = matches!(protocol, 0 | libc::IPPROTO_TCP | libc::IPPROTO_MPTCP);
    if is_internet && is_stream && is_tcp {
        Known::SOCKET | Known::DRAINS
    } else {
        Known::SOCKET
    }
}

/// Notes two descriptors that the kernel has just made.
///
/// # Safety
///
/// Their numbers are there.
pub unsafe fn both_made(pair: *const c_int, known: Known) {
    // SAFETY: the caller's promise.
    let pair = unsafe { pair.cast::<[c_int; 2]>().read() };
    pair.into_iter().for_each(|fd| made(borrow(fd), known));
}

/// What is known of an accepted socket, given this of its listener.
#[must_use]
pub fn inherited(listener: Known) -> Known {
    let own = listener.and(Known::SOCKET | Known::DRAINS | Known::TIMED) | Known::SOCKET;
    if listener.has(Known::SHARED) || !listener.has(Known::RAW) {
        // The listener's time-outs, which it inherits, may have been set by another number, or
        // before.
        own | Known::TIMED
    } else {
        own
    }
}

/// Accepts a connection. Blocks the fibre.
///
/// # Errors
///
/// Those of `accept4`; that the fibre has been cancelled.
pub fn accept_in_fibre(
    fd: c_int,
    as_called: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    let way = prepare_to_accept(borrow(fd))?;
    let mut call = switching.call(borrow(fd), Direction::Read, Wish::AsDescriptor)?;
    match way {
        AcceptWait::AtGate => call.run(|| {
            keep_hidden(borrow(fd));
            match as_called.here() {
                Err(Errno::AGAIN) if comes_to_nothing(fd) => Err(Errno::INVAL),
                done => Ok((done?, Left::More)),
            }
        }),
        AcceptWait::ForThread => as_called.when_ready(Readiness::READ, &mut call),
        AcceptWait::OnThread => as_called.patiently(),
    }
}

/// Whether a listener that has no client gets none: it was shut down, and the kernel would say so
/// if it were as blocking as its program believes. Of TCP the kernel says so by itself.
fn comes_to_nothing(fd: c_int) -> bool {
    let known = known(borrow(fd));
    known.has(Known::HIDDEN) && !known.has(Known::DRAINS) && is_shut_down(borrow(fd))
}

/// Accepts on a plain thread, which waits in the kernel where the listener does not. Blocks the
/// thread.
///
/// # Errors
///
/// Those of `accept4`.
pub fn accept_on_thread(fd: c_int, as_called: Syscall) -> Result<usize, Failure> {
    let mut end = None;
    loop {
        match as_called.here() {
            Err(Errno::AGAIN) if is_hidden(borrow(fd)) => {
                if comes_to_nothing(fd) {
                    return Err(Errno::INVAL.into());
                }
                if end.is_none() {
                    end = end_of_wait(fd, Timeout::Recv)?;
                }
                if wait_on_thread(fd, Readiness::READ.bits(), end)? == 0 {
                    return Err(Errno::AGAIN.into());
                }
            }
            done => return Ok(done?),
        }
    }
}

/// When a wait that begins now ends by a socket's time-out.
fn end_of_wait(fd: c_int, which: Timeout) -> Result<Option<Instant>, Errno> {
    let timeout = socket_timeout(borrow(fd), which)?;
    Ok(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
}

/// `connect`. Blocks the fibre until there is a connection, or none.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
pub fn connect(fd: c_int, call: Syscall) -> Result<usize, Failure> {
    let flags = fcntl_getfl(borrow(fd))?;
    if flags.contains(OFlags::NONBLOCK) || socket_type(borrow(fd))? == SocketType::DGRAM {
        return Ok(call.here()?);
    }
    find(borrow(fd))?;
    match without_waiting(fd, call) {
        // The second one if a call before has been given up, by a time-out or by cancellation.
        Err(begun @ (Errno::INPROGRESS | Errno::ALREADY)) => connected(fd, call, begun).map(|()| 0),
        // A Unix socket's queue is full, and nothing tells of room.
        Err(Errno::AGAIN) => call.patiently(),
        done => Ok(done?),
    }
}

/// Makes the call with the socket non-blocking for its moment.
fn without_waiting(fd: c_int, call: Syscall) -> Result<usize, Errno> {
    let flags = fcntl_getfl(borrow(fd))?;
    if flags.contains(OFlags::NONBLOCK) {
        // The program's own wish since the call began.
        return call.here();
    }
    fcntl_setfl(borrow(fd), flags | OFlags::NONBLOCK)?;
    let done = call.here();
    fcntl_setfl(borrow(fd), flags)?;
    done
}

/// Waits for the end of a connection's beginning, which the kernel has reported as `begun`, as does
/// this if the time is over.
fn connected(fd: c_int, call: Syscall, begun: Errno) -> Result<(), Failure> {
    let deadline = end_of_wait(fd, Timeout::Send)?;
    let keeps = keeps_outcome(fd);
    loop {
        if wait(borrow(fd), Readiness::WRITE, deadline)?.is_empty() {
            return Err(begun.into());
        }
        let ended = if keeps {
            repeated(fd, call)?
        } else {
            asked(fd)?
        };
        if ended {
            return Ok(());
        }
    }
}

/// Whether the kernel has a connection's outcome for the next `connect`: TCP, also over several
/// paths (MPTCP). Other protocols begin anew then.
fn keeps_outcome(fd: c_int) -> bool {
    let protocol = socket_protocol(borrow(fd));
    matches!(protocol, Ok(Some(ipproto::TCP | ipproto::MPTCP)))
}

/// Takes the outcome by making the call again; whether there is one. `SO_ERROR` would leave the
/// kernel's socket in the middle of connecting: after a refusal the program's next `connect` would
/// fail with `ECONNABORTED`, and after a success it would succeed once more.
fn repeated(fd: c_int, call: Syscall) -> Result<bool, Failure> {
    match without_waiting(fd, call) {
        // The second one if another call has seen the end.
        Ok(_) | Err(Errno::ISCONN) => Ok(true),
        // The event was an earlier one's; or another call has taken a refusal, and this one has
        // begun anew. A look uses the event up, unless the end comes just now.
        Err(Errno::ALREADY | Errno::INPROGRESS) => {
            look(borrow(fd), Readiness::WRITE)?;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes the outcome by asking for it; whether there is one.
fn asked(fd: c_int) -> Result<bool, Failure> {
    socket_error(borrow(fd))??;
    if getpeername(borrow(fd)).is_ok() {
        return Ok(true);
    }
    if !look(borrow(fd), Readiness::WRITE)?.is_empty() {
        // Another call has taken the error.
        return Err(Errno::NOTCONN.into());
    }
    Ok(false)
}

/// Whether an option of `SOL_SOCKET` is a time-out for waits.
#[must_use]
pub fn is_timeout(option: c_int) -> bool {
    matches!(option, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO | 66 | 67)
}
