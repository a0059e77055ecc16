//! Reading, writing, receiving and sending. How a fibre waits is said in [`fibre_io::posix`].
//!
//! Nothing that a fibre writes to a socket raises SIGPIPE.

use crate::entry::on;
use fibre_io::posix::boundary::check;
use fibre_io::posix::flags::wish_to_send;
use fibre_io::posix::memory::{Memory, Trusted};
use fibre_io::posix::read::read as read_bytes;
use fibre_io::posix::receive::{receive_from, receive_message};
use fibre_io::posix::send::{ALWAYS, is_unix, send_all_by};
use fibre_io::posix::switching::Switching::OnlyToWait;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::posix::vector::{Vector, buffer};
use fibre_io::posix::write::write as write_bytes;
use fibre_io::raw::{Direction, Failure};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::ptr;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn read(fd: c_int, bytes: *mut c_void, count: usize) -> isize {
    on(fd, syscall!(SYS_read, fd, bytes, count), move |call| {
        read_bytes(fd, Vector::of(&buffer(bytes, count)), call, OnlyToWait)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn readv(fd: c_int, buffers: *const libc::iovec, count: c_int) -> isize {
    on(fd, syscall!(SYS_readv, fd, buffers, count), move |call| {
        // SAFETY: the caller's buffers.
        let vector = unsafe { Vector::new::<Trusted>(buffers, count) }?;
        read_bytes(fd, vector, call, OnlyToWait)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    on(fd, syscall!(SYS_write, fd, bytes, count), move |call| {
        let whole = buffer(bytes, count);
        write_bytes(fd, Vector::of(&whole), call, OnlyToWait, |_| ())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn writev(fd: c_int, buffers: *const libc::iovec, count: c_int) -> isize {
    on(fd, syscall!(SYS_writev, fd, buffers, count), move |call| {
        // SAFETY: the caller's buffers.
        let vector = unsafe { Vector::new::<Trusted>(buffers, count) }?;
        write_bytes(fd, vector, call, OnlyToWait, |_| ())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recv(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's buffer.
    unsafe { recvfrom(fd, bytes, count, flags, ptr::null_mut(), ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    flags: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> isize {
    let call = syscall!(SYS_recvfrom, fd, bytes, count, flags, address, length);
    on(fd, call, move |call| {
        let whole = buffer(bytes, count);
        receive_from(fd, Vector::of(&whole), flags, call, OnlyToWait)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    on(fd, syscall!(SYS_recvmsg, fd, message, flags), move |call| {
        // SAFETY: the caller's message.
        let whole = unsafe { Vector::of_message::<Trusted>(message) }?;
        // SAFETY: it has just been read.
        let is_alone = unsafe { (*message).msg_control }.is_null();
        receive_message(fd, whole, is_alone, flags, call, OnlyToWait)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn send(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's buffer.
    unsafe { sendto(fd, bytes, count, flags, ptr::null(), 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> isize {
    let call = syscall!(SYS_sendto, fd, bytes, count, flags, address, length);
    on(fd, call, move |call| {
        let whole = buffer(bytes, count);
        // SAFETY: the caller's address.
        let is_told = !unsafe { leads_to_unix(address, length) }?;
        send_by(
            fd,
            Vector::of(&whole),
            flags,
            is_told,
            call.with(3, flags | ALWAYS),
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> isize {
    on(fd, syscall!(SYS_sendmsg, fd, message, flags), move |call| {
        // SAFETY: the caller's message.
        let whole = unsafe { Vector::of_message::<Trusted>(message) }?;
        // SAFETY: it has just been read; the caller's address.
        let is_told =
            !unsafe { leads_to_unix((*message).msg_name.cast(), (*message).msg_namelen) }?;
        send_by(fd, whole, flags, is_told, call.with(2, flags | ALWAYS))
    })
}

/// Sends all bytes of a stream, or a message; first by this call.
fn send_by(
    fd: c_int,
    whole: Vector<'_>,
    flags: c_int,
    is_told: bool,
    first: Syscall,
) -> Result<usize, Failure> {
    let mut socket = OnlyToWait.call(borrow(fd), Direction::Write, wish_to_send(flags))?;
    send_all_by(fd, &mut socket, whole, flags, is_told, || first.here())
}

/// Whether it is the address of a Unix socket.
///
/// # Safety
///
/// It is null, or what can be read there is so long.
unsafe fn leads_to_unix(
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> Result<bool, Errno> {
    if address.is_null() || (length as usize) < size_of::<libc::sa_family_t>() {
        return Ok(false);
    }
    // SAFETY: the caller's promise; an address begins with its family.
    unsafe { Trusted::fetch(address.cast::<libc::sa_family_t>()) }.map(is_unix)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    room: usize,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer.
    unsafe { read(fd, bytes, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recv_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    room: usize,
    flags: c_int,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer.
    unsafe { recv(fd, bytes, count, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    room: usize,
    flags: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer and address.
    unsafe { recvfrom(fd, bytes, count, flags, address, length) }
}
