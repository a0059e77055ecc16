//! Writing bytes, to whatever it is: as [`super::read`], but a call that waits writes all it is
//! given.
//!
//! On a socket, nothing here raises SIGPIPE: a writer without a reader gets `EPIPE`, and a server
//! does not end because a client has. On a pipe, the kernel raises it; processors block it, so the
//! call raises it once more at its end ([`self_signal`]).

use super::entry::{borrow, is_ours, or_leave};
use super::plain::{Plain, plain};
use super::read::{HERE, NOWAIT, is_nowhere};
use super::send::{send_all, send_on_thread};
use super::system::system;
use super::vector::{Vector, buffer, of_rest};
use crate::self_signal;
use crate::sigmask::holds;
use fibre_io::poll::Readiness;
use fibre_io::raw::{Call, Direction, Failure, Known, Left, Wish, is_file, known, remove_known};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};

/// `write`: all bytes, unless the descriptor is non-blocking; waits until there is room. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    or_leave(|| {
        let whole = buffer(bytes, count);
        write(
            fd,
            Vector::of(&whole),
            HERE,
            plain!(SYS_write, fd, bytes, count),
        )
    })
}

/// `writev`: [`fibre_write`] from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_writev(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
) -> isize {
    or_leave(|| {
        // SAFETY: the caller's buffers.
        let vector = unsafe { Vector::new(buffers, count) }?;
        write(fd, vector, HERE, plain!(SYS_writev, fd, buffers, count))
    })
}

/// `pwrite`: to a place of a file, whose position stays. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwrite(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    offset: libc::off_t,
) -> isize {
    or_leave(|| {
        let whole = buffer(bytes, count);
        let as_called = plain!(SYS_pwrite64, fd, bytes, count, offset);
        write(fd, Vector::of(&whole), offset, as_called)
    })
}

/// `pwritev`: [`fibre_pwrite`] from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwritev(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
    offset: libc::off_t,
) -> isize {
    or_leave(|| {
        // SAFETY: the caller's buffers.
        let vector = unsafe { Vector::new(buffers, count) }?;
        let as_called = plain!(SYS_pwritev, fd, buffers, count, offset);
        write(fd, vector, offset, as_called)
    })
}

/// Writes all of a buffer, for a call that has another name.
pub fn write_all_to(fd: c_int, from: Vector) -> Result<usize, Failure> {
    let as_called = plain!(SYS_writev, fd, from.start(), from.count());
    write(fd, from, HERE, as_called)
}

/// The common part.
#[inline]
fn write(fd: c_int, from: Vector, offset: i64, as_called: Plain) -> Result<usize, Failure> {
    if is_nowhere(as_called, offset) {
        return Ok(as_called.here()?);
    }
    if !is_ours(fd) {
        let is_socket = fd >= 0 && known(borrow(fd)).has(Known::SOCKET) && offset == HERE;
        return match is_socket.then(|| send_on_thread(fd, from)) {
            None | Some(Err(Errno::NOTSOCK)) => Ok(as_called.here()?),
            Some(sent) => Ok(sent?),
        };
    }
    let mut call = Call::new(borrow(fd), Direction::Write, Wish::AsDescriptor)?;
    let known = call.known();
    if known.has(Known::SOCKET) && offset == HERE {
        match send_all(fd, &mut call, from, 0) {
            // Another descriptor has got the number unseen.
            Err(Failure::Errno(Errno::NOTSOCK)) => remove_known(borrow(fd), Known::SOCKET),
            done => return done,
        }
    }
    if from.total() == 0 {
        return Ok(as_called.here()?);
    }
    if offset != HERE || known.has(Known::FILE) && is_file(borrow(fd))? {
        return as_called.elsewhere();
    }
    write_stream(fd, &mut call, from, as_called)
}

/// Writes to a pipe, or to what is like one.
fn write_stream(
    fd: c_int,
    call: &mut Call<'_>,
    from: Vector,
    as_called: Plain,
) -> Result<usize, Failure> {
    let mut done = 0;
    let mut rest = Vec::new();
    loop {
        let part = if done == 0 { from } else { of_rest(&rest) };
        let written = call.run(|| {
            let (start, count) = (part.start(), part.count());
            let written = system!(SYS_pwritev2, fd, start, count, HERE, 0_usize, NOWAIT)?;
            Ok((written, Left::More))
        });
        match written {
            Ok(written) => done += written,
            Err(Failure::Errno(Errno::OPNOTSUPP | Errno::NOSYS)) if done == 0 => {
                let written = as_called.when_ready(Readiness::WRITE, call);
                return written.inspect_err(|failure| signal_if_broken(fd, *failure));
            }
            // It cannot be waited for.
            Err(Failure::Errno(Errno::PERM)) if done == 0 => return as_called.elsewhere(),
            Err(failure) => {
                signal_if_broken(fd, failure);
                return if done > 0 { Ok(done) } else { Err(failure) };
            }
        }
        if done >= from.total() || !call.waits()? {
            return Ok(done);
        }
        rest = from.after(done);
    }
}

/// Raises SIGPIPE if a fibre's write has failed because a pipe has no reader.
#[cold]
fn signal_if_broken(fd: c_int, failure: Failure) {
    let is_pipe =
        || fstat(borrow(fd)).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Fifo);
    if failure == Failure::Errno(Errno::PIPE) && is_pipe() {
        if holds(libc::SIGPIPE) {
            // The kernel has sent one to this thread.
            self_signal::take_back(libc::SIGPIPE);
        } else {
            self_signal::raise(libc::SIGPIPE);
        }
    }
}
