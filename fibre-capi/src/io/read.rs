//! Reading bytes, from whatever it is: how is said in [`fibre_io::posix::read`]. On a plain thread,
//! each call is the system's.

use super::entry::{taken, vector, waits_on};
use fibre_io::posix::boundary::check;
use fibre_io::posix::read::{read, read_at};
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::syscall::syscall;
use fibre_io::posix::vector::{Vector, buffer};
use std::ffi::{c_int, c_void};

/// `read`: as many bytes as there are, at least one unless it is the end; waits for these. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_read(fd: c_int, bytes: *mut c_void, count: usize) -> isize {
    waits_on(fd, syscall!(SYS_read, fd, bytes, count), |call| {
        read(fd, Vector::of(&buffer(bytes, count)), call, Freely).and_then(|count| taken(fd, count))
    })
}

/// `readv`: [`fibre_read`] into several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_readv(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
) -> isize {
    waits_on(fd, syscall!(SYS_readv, fd, buffers, count), |call| {
        // SAFETY: the caller's buffers.
        read(fd, unsafe { vector(buffers, count) }?, call, Freely)
            .and_then(|count| taken(fd, count))
    })
}

/// `pread`: from a place of a file, whose position stays. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pread(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    offset: libc::off_t,
) -> isize {
    let call = syscall!(SYS_pread64, fd, bytes, count, offset);
    waits_on(fd, call, |call| {
        read_at(fd, Vector::of(&buffer(bytes, count)), offset, call)
            .and_then(|count| taken(fd, count))
    })
}

/// `preadv`: [`fibre_pread`] into several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_preadv(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
    offset: libc::off_t,
) -> isize {
    let call = syscall!(SYS_preadv, fd, buffers, count, offset);
    waits_on(fd, call, |call| {
        // SAFETY: the caller's buffers.
        read_at(fd, unsafe { vector(buffers, count) }?, offset, call)
            .and_then(|count| taken(fd, count))
    })
}

/// `read` of a program that was built with `_FORTIFY_SOURCE`: ends the process if there is no room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_read_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    room: usize,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer.
    unsafe { fibre_read(fd, bytes, count) }
}

/// `pread` of such a program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pread_chk(
    fd: c_int,
    bytes: *mut c_void,
    count: usize,
    offset: libc::off_t,
    room: usize,
) -> isize {
    check(count, room);
    // SAFETY: the caller's buffer.
    unsafe { fibre_pread(fd, bytes, count, offset) }
}
