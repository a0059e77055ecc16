//! Sockets: the calls that make, connect and accept them.
//!
//! Calls that send and receive can be told not to wait; accepting cannot. So the first `accept`
//! makes a blocking listener non-blocking, unless others may have it, see
//! [`fibre_io::posix::nonblock_emulation`]. If they may, the call is made on another thread, once
//! there is a connection. Connecting makes the socket non-blocking for the moment of the call.

use super::entry::{at_once, borrow, is_ours, opened, or_leave, waits_on};
use super::poll::wait_on_thread;
use super::syscall::{Syscall, syscall};
use fibre_io::poll::Readiness;
use fibre_io::posix::nonblock_emulation::{AcceptWait, is_hidden, prepare_to_accept};
use fibre_io::raw::{
    Call, Direction, Failure, Known, Left, Wish, add_known, find, is_shut_down, known, look, made,
    try_again, wait,
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, socket_error, socket_timeout, socket_type};
use rustix::net::{SocketType, getpeername};
use std::ffi::{c_int, c_void};
use std::time::Instant;

/// `socket`.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    at_once(|| {
        let fd = syscall!(SYS_socket, domain, kind, protocol).here()?;
        made(opened(fd), known_of(domain, kind, protocol));
        Ok(fd)
    })
}

/// What is known of a new socket.
fn known_of(domain: c_int, kind: c_int, protocol: c_int) -> Known {
    let is_internet = domain == libc::AF_INET || domain == libc::AF_INET6;
    let is_stream = kind & 0xF == libc::SOCK_STREAM;
    let is_tcp = matches!(protocol, 0 | libc::IPPROTO_TCP | libc::IPPROTO_MPTCP);
    if is_internet && is_stream && is_tcp {
        Known::SOCKET | Known::DRAINS
    } else {
        Known::SOCKET
    }
}

/// `socketpair`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    at_once(|| {
        syscall!(SYS_socketpair, domain, kind, protocol, pair).here()?;
        // SAFETY: the caller's two numbers, which the kernel has written.
        unsafe { both_made(pair, Known::SOCKET) };
        Ok(0)
    })
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

/// `accept`: [`fibre_accept4`] without flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_accept(
    fd: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    // SAFETY: the caller's address.
    unsafe { fibre_accept4(fd, address, length, 0) }
}

/// `accept4`: the next connection; waits for it, unless the listener is non-blocking, as long as
/// its time-out for receiving says. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_accept4(
    fd: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
    flags: c_int,
) -> c_int {
    or_leave(|| {
        let as_called = syscall!(SYS_accept4, fd, address, length, flags);
        let accepted = if is_ours(fd) {
            accept_in_fibre(fd, as_called)?
        } else {
            accept_on_thread(fd, as_called)?
        };
        made(opened(accepted), inherited(known(borrow(fd))));
        Ok(accepted)
    })
}

/// What is known of a socket that a listener has accepted, of which this is known.
fn inherited(listener: Known) -> Known {
    let own = listener.and(Known::SOCKET | Known::DRAINS | Known::TIMED) | Known::SOCKET;
    if listener.has(Known::SHARED) || !listener.has(Known::RAW) {
        // The listener's time-outs, which it inherits, may have been set by another number, or
        // before.
        own | Known::TIMED
    } else {
        own
    }
}

/// Accepts in a fibre.
fn accept_in_fibre(fd: c_int, as_called: Syscall) -> Result<usize, Failure> {
    let way = prepare_to_accept(borrow(fd))?;
    let mut call = Call::new(borrow(fd), Direction::Read, Wish::AsDescriptor)?;
    match way {
        AcceptWait::AtGate => call.run(|| match as_called.here() {
            Err(Errno::AGAIN) if comes_to_nothing(fd) => Err(Errno::INVAL),
            done => Ok((done?, Left::More)),
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

/// Accepts on a plain thread, which waits in the kernel where the listener does not.
fn accept_on_thread(fd: c_int, as_called: Syscall) -> Result<usize, Failure> {
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

/// `connect`: to an address; waits for the peer, unless the socket is non-blocking. A cancellation
/// point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_connect(
    fd: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    waits_on(fd, syscall!(SYS_connect, fd, address, length), |call| {
        let flags = fcntl_getfl(borrow(fd))?;
        if flags.contains(OFlags::NONBLOCK) || socket_type(borrow(fd))? == SocketType::DGRAM {
            return Ok(call.here()?);
        }
        find(borrow(fd))?;
        fcntl_setfl(borrow(fd), flags | OFlags::NONBLOCK)?;
        let begun = call.here();
        fcntl_setfl(borrow(fd), flags)?;
        match begun {
            Err(Errno::INPROGRESS) => connected(fd).map(|()| 0),
            // A Unix socket's queue is full, and nothing tells of room.
            Err(Errno::AGAIN) => call.patiently(),
            done => Ok(done?),
        }
    })
}

/// Waits for the end of a connection's beginning.
fn connected(fd: c_int) -> Result<(), Failure> {
    let deadline = end_of_wait(fd, Timeout::Send)?;
    loop {
        if wait(borrow(fd), Readiness::WRITE, deadline)?.is_empty() {
            return Err(Errno::INPROGRESS.into());
        }
        socket_error(borrow(fd))??;
        if getpeername(borrow(fd)).is_ok() {
            return Ok(());
        }
        if !look(borrow(fd), Readiness::WRITE)?.is_empty() {
            // Another call has taken the error.
            return Err(Errno::NOTCONN.into());
        }
    }
}

/// `shutdown`: ends one direction or both; those who wait there see it.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_shutdown(fd: c_int, how: c_int) -> c_int {
    at_once(|| {
        let done = syscall!(SYS_shutdown, fd, how).here()?;
        // The kernel tells of most ends, but not of the sending end of a Unix stream without room.
        if how != libc::SHUT_RD {
            try_again(borrow(fd), Direction::Write);
        }
        Ok(done)
    })
}

/// `setsockopt`. Time-outs (`SO_RCVTIMEO`, `SO_SNDTIMEO`) end waits of fibres, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: libc::socklen_t,
) -> c_int {
    at_once(|| {
        let done = syscall!(SYS_setsockopt, fd, level, option, value, length).here()?;
        let is_timeout = matches!(option, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO | 66 | 67);
        if level == libc::SOL_SOCKET && is_timeout {
            add_known(borrow(fd), Known::TIMED);
        }
        Ok(done)
    })
}
