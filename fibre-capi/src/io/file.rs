//! Files: the calls that open them, and those that block for long.
//!
//! A file system lets its callers wait for disks and servers, so its calls are made on threads of
//! the pool. Calls that wait for other programs (locks, named pipes) have threads of their own.

use super::entry::{at_once, borrow, enduring, is_ours, nothing, or_leave, small};
use super::plain::{Plain, plain};
use super::system::system;
use super::vector::{Vector, buffer};
use super::write::write_all_to;
use crate::memory::{fetch_any, writable};
use fibre_core::{blocking, in_fibre};
use fibre_io::poll::Readiness;
use fibre_io::raw::{Failure, close, look, patiently, renewed, wait};
use rustix::io::Errno;
use std::ffi::{c_char, c_int, c_uint};

/// Bytes that [`fibre_sendfile`] moves at once.
const PIECE: usize = 64 << 10;

/// `open`: [`fibre_openat`] from the current directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's path.
    unsafe { fibre_openat(libc::AT_FDCWD, path, flags, mode) }
}

/// `creat`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_creat(path: *const c_char, mode: c_uint) -> c_int {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
    // SAFETY: the caller's path.
    unsafe { fibre_openat(libc::AT_FDCWD, path, flags, mode) }
}

/// `openat`. Opening a named pipe waits for its other end, unless that is to be non-blocking. A
/// cancellation point before it begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_openat(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    or_leave(|| {
        let as_called = plain!(SYS_openat, directory, path, flags | libc::O_LARGEFILE, mode);
        let opened = if !in_fibre() {
            as_called.here()?
        } else if flags & (libc::O_NONBLOCK | libc::O_PATH) == 0 && is_named_pipe(directory, path) {
            as_called.patiently()?
        } else {
            as_called.elsewhere()?
        };
        let opened = small(opened);
        renewed(borrow(opened));
        Ok(opened)
    })
}

/// Whether there is a pipe of this name.
fn is_named_pipe(directory: c_int, path: *const c_char) -> bool {
    let path = path.addr();
    blocking(|| {
        // SAFETY: all zeros is a valid value.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        let found = system!(SYS_newfstatat, directory, path, &raw mut status, 0);
        found.is_ok() && status.st_mode & libc::S_IFMT == libc::S_IFIFO
    })
}

/// A call on a file that blocks for a foreseeable time.
fn on_file(as_called: Plain) -> Result<c_int, Failure> {
    if in_fibre() {
        as_called.elsewhere().map(small)
    } else {
        Ok(small(as_called.here()?))
    }
}

/// `fsync`. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_fsync(fd: c_int) -> c_int {
    or_leave(|| on_file(plain!(SYS_fsync, fd)))
}

/// `fdatasync`. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_fdatasync(fd: c_int) -> c_int {
    or_leave(|| on_file(plain!(SYS_fdatasync, fd)))
}

/// `flock`: waits for the lock of a file, unless `LOCK_NB` says otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_flock(fd: c_int, operation: c_int) -> c_int {
    enduring(|| {
        let as_called = plain!(SYS_flock, fd, operation);
        if !in_fibre() || operation & (libc::LOCK_NB | libc::LOCK_UN) != 0 {
            return nothing(as_called.here());
        }
        nothing(patiently(|| as_called.here()))
    })
}

/// `fclose`: as [`fibre_close`](super::numbers) for the descriptor. What has not been written yet
/// is written first, which blocks the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fclose(stream: *mut libc::FILE) -> c_int {
    // SAFETY: the caller's stream.
    let fd = unsafe { libc::fileno(stream) };
    if fd < 0 || fibre_core::is_forked_child() {
        // SAFETY: the caller's stream.
        return unsafe { libc::fclose(stream) };
    }
    // SAFETY: the program closes what is its own; no stack is left here, so `errno` is the
    // caller's.
    unsafe { close(fd, || Ok(libc::fclose(stream))) }.unwrap_or(libc::EOF)
}

/// `sendfile`: from a file to anything, whose room it waits for unless that is non-blocking. A
/// cancellation point.
///
/// In a fibre the bytes go through a buffer of 64 KiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sendfile(
    out: c_int,
    file: c_int,
    offset: *mut libc::off_t,
    count: usize,
) -> isize {
    or_leave(|| {
        let as_called = plain!(SYS_sendfile, out, file, offset, count);
        if !is_ours(out) || file < 0 || !blocks(out)? {
            return Ok(as_called.here()?);
        }
        // SAFETY: null, or the caller's place for it.
        let from = match unsafe { fetch_any(offset) }? {
            Some(offset) => offset,
            None => position(file)?,
        };
        let sent = send_pieces(out, file, from, count)?;
        // At most what was asked for, from a place in the file.
        let next = from.saturating_add_unsigned(sent as u64);
        if offset.is_null() {
            system!(SYS_lseek, file, next, libc::SEEK_SET)?;
        } else {
            writable(offset, 1)?;
            // SAFETY: the caller's place.
            unsafe { offset.write_unaligned(next) };
        }
        Ok(sent)
    })
}

/// Where the next read of a file begins.
fn position(file: c_int) -> Result<i64, Errno> {
    match system!(SYS_lseek, file, 0, libc::SEEK_CUR) {
        Ok(position) => i64::try_from(position).map_err(|_| Errno::OVERFLOW),
        Err(Errno::SPIPE) => Err(Errno::INVAL),
        Err(error) => Err(error),
    }
}

/// Whether a descriptor is blocking.
fn blocks(fd: c_int) -> Result<bool, Errno> {
    let flags = small(system!(SYS_fcntl, fd, libc::F_GETFL)?);
    Ok(flags & libc::O_NONBLOCK == 0)
}

/// Sends a part of a file, piece by piece. What was sent is told of before an error.
fn send_pieces(out: c_int, file: c_int, from: i64, count: usize) -> Result<usize, Failure> {
    let mut room = vec![0_u8; PIECE.min(count)];
    let mut sent = 0;
    while sent < count {
        let wanted = room.len().min(count - sent);
        let place = from.saturating_add_unsigned(sent as u64);
        let read = plain!(SYS_pread64, file, room.as_mut_ptr(), wanted, place);
        let piece = match read.elsewhere() {
            Ok(0) => break,
            Ok(length) => buffer(room.as_ptr().cast(), length),
            Err(_) if sent > 0 => break,
            Err(failure) => return Err(failure),
        };
        match write_all_to(out, Vector::of(&piece)) {
            Ok(length) => {
                sent += length;
                if length < piece.iov_len {
                    break;
                }
            }
            Err(_) if sent > 0 => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(sent)
}

/// `splice`: waits for the end that is not ready, then makes the call on another thread. A
/// cancellation point until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_splice(
    from: c_int,
    from_offset: *mut i64,
    to: c_int,
    to_offset: *mut i64,
    count: usize,
    flags: c_uint,
) -> isize {
    or_leave(|| {
        let as_called = plain!(SYS_splice, from, from_offset, to, to_offset, count, flags);
        if !is_ours(from) || to < 0 || flags & libc::SPLICE_F_NONBLOCK != 0 {
            return Ok(as_called.here()?);
        }
        if look(borrow(from), Readiness::READ)?.is_empty() && blocks(from)? {
            wait(borrow(from), Readiness::READ, None)?;
        }
        if look(borrow(to), Readiness::WRITE)?.is_empty() && blocks(to)? {
            wait(borrow(to), Readiness::WRITE, None)?;
        }
        as_called.patiently()
    })
}

/// `eventfd`: a counter.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_eventfd(count: c_uint, flags: c_int) -> c_int {
    at_once(|| {
        let fd = small(system!(SYS_eventfd2, count, flags)?);
        fibre_io::raw::made(borrow(fd), fibre_io::raw::Known::NOTHING);
        Ok(fd)
    })
}

/// `timerfd_create`: a timer.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_timerfd_create(clock: c_int, flags: c_int) -> c_int {
    at_once(|| {
        let fd = small(system!(SYS_timerfd_create, clock, flags)?);
        fibre_io::raw::made(borrow(fd), fibre_io::raw::Known::NOTHING);
        Ok(fd)
    })
}
