//! Sockets: the calls that make, connect and accept them. How they wait is said in
//! [`fibre_io::posix::socket`].

use super::entry::{at_once, is_ours, or_leave, waits_on};
use fibre_io::posix::socket::{
    accept_in_fibre, accept_on_thread, both_made, connect, inherited, is_timeout, known_of,
};
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::switching::{borrow, opened};
use fibre_io::posix::syscall::syscall;
use fibre_io::raw::{Direction, Known, add_known, known, made, try_again};
use std::ffi::{c_int, c_void};

/// `socket`.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    at_once(|| {
        let fd = syscall!(SYS_socket, domain, kind, protocol).here()?;
        made(opened(fd), known_of(domain, kind, protocol));
        Ok(fd)
    })
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
            accept_in_fibre(fd, as_called, Freely)?
        } else {
            accept_on_thread(fd, as_called)?
        };
        made(opened(accepted), inherited(known(borrow(fd))));
        Ok(accepted)
    })
}

/// `connect`: to an address; waits for the peer, unless the socket is non-blocking. A cancellation
/// point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_connect(
    fd: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    let call = syscall!(SYS_connect, fd, address, length);
    waits_on(fd, call, |call| connect(fd, call))
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
        if level == libc::SOL_SOCKET && is_timeout(option) {
            add_known(borrow(fd), Known::TIMED);
        }
        Ok(done)
    })
}
