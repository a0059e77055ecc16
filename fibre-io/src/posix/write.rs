//! Writing bytes to any descriptor: like [`super::read`], but a call that waits writes all it is
//! given.
//!
//! On a socket, nothing here raises SIGPIPE: a writer without a reader gets `EPIPE`, and a server
//! does not end because a client has. On a pipe, the kernel raises it; the library decides what
//! happens to a signal that processors block.

use super::read::{HERE, NOWAIT, unknown_if_refused};
use super::send::send_all;
use super::switching::{Switching, borrow};
use super::syscall::{Syscall, syscall};
use super::vector::{Vector, of_rest};
use crate::raw::{Call, Direction, Failure, Known, Left, Wish, find, is_file, remove_known};
use crate::readiness::Readiness;
use rustix::io::Errno;
use std::ffi::c_int;

/// `write` and `writev`: all bytes. `pipe_failed` is told of errors on what is like a pipe, also of
/// one after a part. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
#[inline]
pub fn write(
    fd: c_int,
    from: Vector<'_>,
    as_called: Syscall,
    switching: Switching,
    pipe_failed: impl Fn(Failure),
) -> Result<usize, Failure> {
    let mut call = switching.call(borrow(fd), Direction::Write, Wish::AsDescriptor)?;
    let known = call.known();
    if known.has(Known::SOCKET) {
        match send_all(fd, &mut call, from, 0) {
            // Another descriptor has got the number unseen.
            Err(Failure::Errno(Errno::NOTSOCK)) => remove_known(borrow(fd), Known::SOCKET),
            done => return done,
        }
    }
    if from.total() == 0 {
        Ok(as_called.here()?)
    } else if known.has(Known::FILE) && is_file(borrow(fd))? {
        switching.make_on_file(fd, from.total(), as_called)
    } else {
        let written = write_stream(fd, &mut call, from, as_called, switching, &pipe_failed);
        written.inspect_err(|failure| pipe_failed(*failure))
    }
}

/// `pwrite` and `pwritev`: to a place of a file, with so many bytes. The kernel refuses an invalid
/// offset, and what has no places. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
pub fn write_at(
    fd: c_int,
    total: usize,
    offset: i64,
    as_called: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    find(borrow(fd))?;
    if offset < 0 || total == 0 || !is_file(borrow(fd))? {
        return Ok(as_called.here()?);
    }
    switching.make_on_file(fd, total, as_called)
}

/// Writes to a pipe, or to what is like one.
fn write_stream(
    fd: c_int,
    call: &mut Call<'_>,
    from: Vector<'_>,
    as_called: Syscall,
    switching: Switching,
    pipe_failed: &impl Fn(Failure),
) -> Result<usize, Failure> {
    let mut done = 0;
    let mut rest = Vec::new();
    loop {
        let part = if done == 0 { from } else { of_rest(&rest) };
        let (start, count) = (part.start(), part.count());
        let written = call.run(|| {
            let written = syscall!(SYS_pwritev2, fd, start, count, HERE, 0, NOWAIT).here();
            Ok((written.map_err(unknown_if_refused)?, Left::More))
        });
        match written {
            Ok(written) => done += written,
            Err(Failure::Errno(Errno::OPNOTSUPP | Errno::NOSYS)) if done == 0 => {
                return switching.make_when_ready(as_called, Readiness::WRITE, call);
            }
            // It cannot be waited for.
            Err(Failure::Errno(Errno::PERM)) if done == 0 => {
                return switching.make_bounded(as_called);
            }
            Err(failure) if done == 0 => return Err(failure),
            Err(failure) => {
                pipe_failed(failure);
                return Ok(done);
            }
        }
        if done >= from.total() || !call.waits()? {
            return Ok(done);
        }
        rest = from.after(done);
    }
}
