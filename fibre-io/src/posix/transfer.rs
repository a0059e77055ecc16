//! Bytes from one descriptor to another.

use super::memory::Memory;
use super::switching::{Switching, borrow};
use super::syscall::{Syscall, syscall};
use super::vector::{Vector, buffer};
use super::write::write;
use crate::raw::{Failure, look, wait};
use crate::readiness::Readiness;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, seek, tell};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint};

/// Bytes that [`sendfile`] moves at once.
const PIECE: usize = 64 << 10;

/// `sendfile`: from a file to anything. It waits for room there, unless that is non-blocking. The
/// bytes go through a buffer of 64 KiB. `pipe_failed` is for [`write()`]. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
///
/// # Safety
///
/// `offset` is null, or the caller's.
pub unsafe fn sendfile<M: Memory>(
    out: c_int,
    file: c_int,
    offset: *mut libc::off_t,
    count: usize,
    call: Syscall,
    switching: Switching,
    pipe_failed: impl Fn(Failure),
) -> Result<usize, Failure> {
    if file < 0 || !blocks(out)? {
        return Ok(call.here()?);
    }
    // SAFETY: null, or the caller's place for it.
    let from = match unsafe { M::fetch_any(offset) }? {
        Some(offset) => offset,
        None => position(file)?,
    };
    let sent = send_pieces(out, file, from, count, switching, pipe_failed)?;
    // At most what was asked for, from a place in the file.
    let next = from.saturating_add_unsigned(sent as u64);
    if offset.is_null() {
        seek(borrow(file), SeekFrom::Start(next.cast_unsigned()))?;
    } else {
        M::writable(offset, 1)?;
        // SAFETY: the caller's place.
        unsafe { offset.write_unaligned(next) };
    }
    Ok(sent)
}

/// Where the next read of a file begins.
fn position(file: c_int) -> Result<i64, Errno> {
    match tell(borrow(file)) {
        Ok(position) => i64::try_from(position).map_err(|_| Errno::OVERFLOW),
        Err(Errno::SPIPE) => Err(Errno::INVAL),
        Err(error) => Err(error),
    }
}

/// Whether a descriptor is blocking.
fn blocks(fd: c_int) -> Result<bool, Errno> {
    Ok(!fcntl_getfl(borrow(fd))?.contains(OFlags::NONBLOCK))
}

/// Sends a part of a file, piece by piece. What was sent is told of before an error.
fn send_pieces(
    out: c_int,
    file: c_int,
    from: i64,
    count: usize,
    switching: Switching,
    pipe_failed: impl Fn(Failure),
) -> Result<usize, Failure> {
    let mut room = vec![0_u8; PIECE.min(count)];
    let mut sent = 0;
    while sent < count {
        let wanted = room.len().min(count - sent);
        let place = from.saturating_add_unsigned(sent as u64);
        let read = syscall!(SYS_pread64, file, room.as_mut_ptr(), wanted, place);
        let piece = match switching.make_bounded(read) {
            Ok(0) => break,
            Ok(length) => buffer(room.as_ptr().cast(), length),
            Err(_) if sent > 0 => break,
            Err(failure) => return Err(failure),
        };
        match write_all_to(out, Vector::of(&piece), switching, &pipe_failed) {
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

/// Writes all of a buffer.
fn write_all_to(
    fd: c_int,
    from: Vector<'_>,
    switching: Switching,
    pipe_failed: impl Fn(Failure),
) -> Result<usize, Failure> {
    let call = syscall!(SYS_writev, fd, from.start(), from.count());
    write(fd, from, call, switching, pipe_failed)
}

/// `splice`: waits for the end that is not ready, then makes the call on another thread, as no flag
/// keeps it from waiting for a socket. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
pub fn splice(from: c_int, to: c_int, flags: c_uint, call: Syscall) -> Result<usize, Failure> {
    if to < 0 || flags & libc::SPLICE_F_NONBLOCK != 0 {
        return Ok(call.here()?);
    }
    for (fd, interest) in [(from, Readiness::READ), (to, Readiness::WRITE)] {
        if look(borrow(fd), interest)?.is_empty() && blocks(fd)? {
            wait(borrow(fd), interest, None)?;
        }
    }
    call.patiently()
}
