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

use super::entry::{borrow, check, is_ours, or_leave};
use super::flags::left;
use super::plain::{Plain, plain};
use super::system::system;
use super::vector::{Vector, buffer, message, of_rest};
use fibre_io::poll::Readiness;
use fibre_io::raw::{Call, Direction, Failure, Known, Left, Wish, is_file, remove_known};
use rustix::fs::fstat;
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// The most bytes that are copied in place: about 30 µs of copying.
const MOST: usize = 256 << 10;

/// Bytes that the kernel caches together.
const PAGE: u64 = 4096;

/// The offset that stands for a descriptor's own position, or for none.
pub const HERE: i64 = -1;

/// `RWF_NOWAIT`.
pub const NOWAIT: c_int = 8;

/// `read`: as many bytes as there are, at least one unless it is the end; waits for these. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_read(fd: c_int, bytes: *mut c_void, count: usize) -> isize {
    or_leave(|| {
        let whole = buffer(bytes, count);
        read(
            fd,
            Vector::of(&whole),
            HERE,
            plain!(SYS_read, fd, bytes, count),
        )
    })
}

/// `readv`: [`fibre_read`] into several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_readv(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
) -> isize {
    or_leave(|| {
        // SAFETY: the caller's buffers.
        let vector = unsafe { Vector::new(buffers, count) }?;
        read(fd, vector, HERE, plain!(SYS_readv, fd, buffers, count))
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
    or_leave(|| {
        let whole = buffer(bytes, count);
        let as_called = plain!(SYS_pread64, fd, bytes, count, offset);
        read(fd, Vector::of(&whole), offset, as_called)
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
    or_leave(|| {
        // SAFETY: the caller's buffers.
        let vector = unsafe { Vector::new(buffers, count) }?;
        let as_called = plain!(SYS_preadv, fd, buffers, count, offset);
        read(fd, vector, offset, as_called)
    })
}

/// The common part.
#[inline]
fn read(fd: c_int, into: Vector, offset: i64, as_called: Plain) -> Result<usize, Failure> {
    if !is_ours(fd) || into.total() == 0 || is_nowhere(as_called, offset) {
        return Ok(as_called.here()?);
    }
    let mut call = Call::new(borrow(fd), Direction::Read, Wish::AsDescriptor)?;
    let known = call.known();
    if known.has(Known::SOCKET) && offset == HERE {
        let total = into.total();
        let drains = known.has(Known::DRAINS);
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
    if offset != HERE || known.has(Known::FILE) && is_file(borrow(fd))? {
        return read_file(fd, into, offset, as_called);
    }
    let done = call.run(|| Ok((read_now(fd, into, HERE)?, Left::More)));
    match done {
        Err(Failure::Errno(Errno::OPNOTSUPP | Errno::NOSYS)) => {
            as_called.when_ready(Readiness::READ, &mut call)
        }
        // It cannot be waited for.
        Err(Failure::Errno(Errno::PERM)) => as_called.elsewhere(),
        done => done,
    }
}

/// Whether a call that takes an offset was given one that is none. The kernel says so; to others,
/// it may be [`HERE`].
#[inline]
pub fn is_nowhere(call: Plain, offset: i64) -> bool {
    let takes_none = [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
    ];
    offset < 0 && !takes_none.contains(&call.number)
}

/// Receives what there is.
#[inline]
fn receive(fd: c_int, into: Vector) -> Result<usize, Errno> {
    if let Some(only) = into.only() {
        let (start, length) = (only.iov_base, only.iov_len);
        return system!(
            SYS_recvfrom,
            fd,
            start,
            length,
            libc::MSG_DONTWAIT,
            0_usize,
            0_usize
        );
    }
    let whole = message(into);
    system!(SYS_recvmsg, fd, &raw const whole, libc::MSG_DONTWAIT)
}

/// Reads what there is without waiting.
fn read_now(fd: c_int, into: Vector, offset: i64) -> Result<usize, Errno> {
    // The kernel takes an offset in two words, of which the second is for smaller ones.
    system!(
        SYS_preadv2,
        fd,
        into.start(),
        into.count(),
        offset,
        0_usize,
        NOWAIT
    )
}

/// Reads from where a file's position is, by one system call: between two calls, another caller's
/// would take what is in the middle.
///
/// A call that takes no more than what is cached takes a part of it, and the position goes on. So
/// it is looked at first.
fn read_next(fd: c_int, into: Vector, as_called: Plain) -> Result<usize, Failure> {
    if is_cached(fd, into.total()) {
        match as_called.here() {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
    as_called.elsewhere()
}

/// Whether the first and the last of the bytes that a file has next are in memory, as those between
/// mostly are then. If not, reading these blocks the thread as using mapped memory may.
fn is_cached(fd: c_int, count: usize) -> bool {
    let has = |at: u64| {
        let mut byte = 0_u8;
        let one = buffer((&raw mut byte).cast(), 1);
        read_now(fd, Vector::of(&one), at.cast_signed())
    };
    let Ok(position) = system!(SYS_lseek, fd, 0, libc::SEEK_CUR) else {
        return false;
    };
    let first = position as u64;
    match has(first) {
        Ok(0) => return true,
        Ok(_) => {}
        Err(_) => return false,
    }
    let end = first.saturating_add(count as u64);
    if first / PAGE == (end - 1) / PAGE {
        return true;
    }
    match has(end - 1) {
        Ok(0) => size(fd).is_some_and(|size| has(size.saturating_sub(1)) == Ok(1)),
        last => last.is_ok(),
    }
}

/// The bytes that a file has.
fn size(fd: c_int) -> Option<u64> {
    let status = fstat(borrow(fd)).ok()?;
    u64::try_from(status.st_size).ok()
}

/// Reads from a file: all that was asked for, unless it ends before.
fn read_file(fd: c_int, into: Vector, offset: i64, as_called: Plain) -> Result<usize, Failure> {
    if into.total() > MOST {
        return as_called.elsewhere();
    }
    fibre_core::internal::yield_point_cancellable()?;
    if offset == HERE {
        return read_next(fd, into, as_called);
    }
    let done = match read_now(fd, into, offset) {
        Ok(done) if done == 0 || done == into.total() => return Ok(done),
        Ok(done) => done,
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => {
            return as_called.elsewhere();
        }
        Err(error) => return Err(error.into()),
    };
    // The rest is not cached, or the file ends here.
    let rest = into.after(done);
    let rest = of_rest(&rest);
    let next = offset.saturating_add_unsigned(done as u64);
    if let Ok(more) = read_now(fd, rest, next) {
        return Ok(done + more);
    }
    let waits = plain!(
        SYS_preadv2,
        fd,
        rest.start(),
        rest.count(),
        next,
        0_usize,
        0_usize
    );
    // The call first returns what it has read.
    Ok(done + waits.elsewhere().unwrap_or(0))
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
