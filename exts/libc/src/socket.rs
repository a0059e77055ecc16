//! Making, connecting and accepting sockets. What is made is noted, also by plain threads: fibres
//! may use it later.

use crate::entry::{
    cancellation_point, finish, is_noted, is_open, is_ours, note, on, plain, stand_in,
};
use fibre_io::posix::socket::{
    accept_in_fibre, accept_on_thread, both_made, connect as connect_to, inherited, is_timeout,
    known_of,
};
use fibre_io::posix::switching::Switching::OnlyToWait;
use fibre_io::posix::switching::{borrow, opened};
use fibre_io::posix::syscall::syscall;
use fibre_io::raw::{Direction, Known, add_known, known, made, try_again};
use std::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let fd = syscall!(SYS_socket, domain, kind, protocol).here();
    if let Ok(fd) = fd
        && is_open()
    {
        note(|| made(opened(fd), known_of(domain, kind, protocol)));
    }
    finish(fd)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    let done = syscall!(SYS_socketpair, domain, kind, protocol, pair).here();
    if done.is_ok() && is_open() {
        // SAFETY: the caller's two numbers, which the kernel has written.
        note(|| unsafe { both_made(pair, Known::SOCKET) });
    }
    finish(done)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept(
    fd: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    // SAFETY: the caller's address.
    unsafe { accept4(fd, address, length, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
    flags: c_int,
) -> c_int {
    let call = syscall!(SYS_accept4, fd, address, length, flags);
    if !is_noted(fd) {
        return plain(call);
    }
    cancellation_point();
    let listener = note(|| known(borrow(fd)));
    let accepted = if is_ours(fd) {
        stand_in(|| accept_in_fibre(fd, call, OnlyToWait))
    } else {
        stand_in(|| accept_on_thread(fd, call))
    };
    if accepted >= 0 {
        note(|| made(borrow(accepted), inherited(listener)));
    }
    accepted
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn connect(
    fd: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    let call = syscall!(SYS_connect, fd, address, length);
    on(fd, call, move |call| connect_to(fd, call))
}

#[unsafe(no_mangle)]
extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let done = syscall!(SYS_shutdown, fd, how).here();
    // The kernel tells of most ends, but not of the sending end of a Unix stream without room.
    if done.is_ok() && how != libc::SHUT_RD && is_noted(fd) {
        note(|| try_again(borrow(fd), Direction::Write));
    }
    finish(done)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: libc::socklen_t,
) -> c_int {
    let done = syscall!(SYS_setsockopt, fd, level, option, value, length).here();
    if done.is_ok() && level == libc::SOL_SOCKET && is_timeout(option) && is_noted(fd) {
        note(|| add_known(borrow(fd), Known::TIMED));
    }
    finish(done)
}
