//! Reading bytes, from whatever it is.
//!
//! | descriptor | how |
//! |---|---|
//! | socket | `recv` that does not wait, else the fibre waits at its gate |
//! | pipe, counter, timer | the same with `RWF_NOWAIT` |
//! | file | what is cached, here; else on a thread of the pool |
//! | terminal, and what knows of none of this | when it is ready, on a thread that may block |
//!
//! These calls change no descriptor. On a plain thread, each call is the system's.

use super::entry::{borrow, check, waits_on};
use super::flags::left;
use super::syscall::{Syscall, syscall};
use super::vector::{Vector, buffer, message};
use fibre_io::poll::Readiness;
use fibre_io::posix::read_cached;
use fibre_io::raw::{Call, Direction, Failure, Known, Left, Wish, is_file, remove_known};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// The offset that stands for a descriptor's own position, or for none.
pub const HERE: i64 = -1;

/// `RWF_NOWAIT`.
pub const NOWAIT: c_int = 8;

/// `read`: as many bytes as there are, at least one unless it is the end; waits for these. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_read(fd: c_int, bytes: *mut c_void, count: usize) -> isize {
    waits_on(fd, syscall!(SYS_read, fd, bytes, count), |call| {
        read(fd, Vector::of(&buffer(bytes, count)), call)
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
        read(fd, unsafe { Vector::new(buffers, count) }?, call)
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
        let vector = unsafe { Vector::new(buffers, count) }?;
        read_at(fd, vector, offset, call)
    })
}

/// Reads from a place of a file. The kernel refuses an offset that is none.
fn read_at(fd: c_int, into: Vector, offset: i64, call: Syscall) -> Result<usize, Failure> {
    match u64::try_from(offset) {
        Ok(offset) if into.total() > 0 => read_file(fd, into, Some(offset), call),
        _ => Ok(call.here()?),
    }
}

/// Reads what there is.
#[inline]
fn read(fd: c_int, into: Vector, as_called: Syscall) -> Result<usize, Failure> {
    if into.total() == 0 {
        return Ok(as_called.here()?);
    }
    let mut call = Call::new(borrow(fd), Direction::Read, Wish::AsDescriptor)?;
    let known = call.known();
    if known.has(Known::SOCKET) {
        let (total, drains) = (into.total(), known.has(Known::DRAINS));
        let received = call.run(|| {
            let count = receive(fd, into)?;
            Ok((count, left(drains, count, total)))
        });
        match received {
            // Another descriptor has got the number unseen.
            Err(Failure::Errno(Errno::NOTSOCK)) => remove_known(borrow(fd), Known::SOCKET),
            done => return done,
        }
    }
    if known.has(Known::FILE) && is_file(borrow(fd))? {
        return read_file(fd, into, None, as_called);
    }
    match call.run(|| Ok((read_now(fd, into, HERE)?, Left::More))) {
        Err(Failure::Errno(Errno::OPNOTSUPP | Errno::NOSYS)) => {
            as_called.when_ready(Readiness::READ, &mut call)
        }
        // It cannot be waited for.
        Err(Failure::Errno(Errno::PERM)) => as_called.elsewhere(),
        done => done,
    }
}

/// Receives what there is.
#[inline]
fn receive(fd: c_int, into: Vector) -> Result<usize, Errno> {
    if let Some(only) = into.only() {
        let (start, length) = (only.iov_base, only.iov_len);
        return syscall!(SYS_recvfrom, fd, start, length, libc::MSG_DONTWAIT).here();
    }
    let whole = message(into);
    syscall!(SYS_recvmsg, fd, &raw const whole, libc::MSG_DONTWAIT).here()
}

/// Reads what there is without waiting.
fn read_now(fd: c_int, into: Vector, offset: i64) -> Result<usize, Errno> {
    let (start, count) = (into.start(), into.count());
    // The kernel takes an offset in two words, of which the second is for smaller ones.
    syscall!(SYS_preadv2, fd, start, count, offset, 0, NOWAIT).here()
}

/// Reads from a file: all that was asked for, unless it ends before.
fn read_file(
    fd: c_int,
    into: Vector,
    offset: Option<u64>,
    call: Syscall,
) -> Result<usize, Failure> {
    fibre_core::internal::yield_point_cancellable()?;
    let now = |offset: u64| read_now(fd, into, offset.cast_signed());
    match read_cached(borrow(fd), into.total(), offset, now, || call.here()) {
        Some(done) => Ok(done?),
        None => call.elsewhere(),
    }
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
