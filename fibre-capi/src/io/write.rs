//! Writing bytes, to whatever it is: as [`super::read`], but a call that waits writes all it is
//! given.
//!
//! On a socket, nothing here raises SIGPIPE: a writer without a reader gets `EPIPE`, and a server
//! does not end because a client has. On a pipe, the kernel raises it; processors block it, so the
//! call raises it once more at its end ([`self_signal`]).

use super::entry::{borrow, is_ours, or_leave, waits_on};
use super::read::{HERE, NOWAIT};
use super::send::{send_all, send_on_thread};
use super::syscall::{Syscall, syscall};
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
    let call = syscall!(SYS_write, fd, bytes, count);
    or_leave(|| write(fd, Vector::of(&buffer(bytes, count)), call))
}

/// `writev`: [`fibre_write`] from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_writev(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
) -> isize {
    let call = syscall!(SYS_writev, fd, buffers, count);
    // SAFETY: the caller's buffers.
    or_leave(|| write(fd, unsafe { Vector::new(buffers, count) }?, call))
}

/// `pwrite`: to a place of a file, whose position stays. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwrite(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    offset: libc::off_t,
) -> isize {
    write_at(fd, offset, syscall!(SYS_pwrite64, fd, bytes, count, offset))
}

/// `pwritev`: [`fibre_pwrite`] from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwritev(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
    offset: libc::off_t,
) -> isize {
    write_at(
        fd,
        offset,
        syscall!(SYS_pwritev, fd, buffers, count, offset),
    )
}

/// Writes to a place of a file. The kernel refuses an offset that is none.
fn write_at(fd: c_int, offset: i64, call: Syscall) -> isize {
    waits_on(fd, call, |call| match offset {
        ..0 => Ok(call.here()?),
        _ => call.elsewhere(),
    })
}

/// Writes all of a buffer, for a call that has another name.
pub fn write_all_to(fd: c_int, from: Vector) -> Result<usize, Failure> {
    write_in_fibre(
        fd,
        from,
        syscall!(SYS_writev, fd, from.start(), from.count()),
    )
}

/// Writes in a fibre, or on a plain thread, where sockets raise no SIGPIPE either.
#[inline]
fn write(fd: c_int, from: Vector, as_called: Syscall) -> Result<usize, Failure> {
    if is_ours(fd) {
        return write_in_fibre(fd, from, as_called);
    }
    let is_socket = fd >= 0 && known(borrow(fd)).has(Known::SOCKET);
    match is_socket.then(|| send_on_thread(fd, from)) {
        None | Some(Err(Errno::NOTSOCK)) => Ok(as_called.here()?),
        Some(sent) => Ok(sent?),
    }
}

/// Writes all bytes.
#[inline]
fn write_in_fibre(fd: c_int, from: Vector, as_called: Syscall) -> Result<usize, Failure> {
    let mut call = Call::new(borrow(fd), Direction::Write, Wish::AsDescriptor)?;
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
        as_called.elsewhere()
    } else {
        let written = write_stream(fd, &mut call, from, as_called);
        written.inspect_err(|failure| signal_if_broken(fd, *failure))
    }
}

/// Writes to a pipe, or to what is like one.
fn write_stream(
    fd: c_int,
    call: &mut Call<'_>,
    from: Vector,
    as_called: Syscall,
) -> Result<usize, Failure> {
    let mut done = 0;
    let mut rest = Vec::new();
    loop {
        let part = if done == 0 { from } else { of_rest(&rest) };
        let (start, count) = (part.start(), part.count());
        let written = call.run(|| {
            let written = syscall!(SYS_pwritev2, fd, start, count, HERE, 0, NOWAIT).here()?;
            Ok((written, Left::More))
        });
        match written {
            Ok(written) => done += written,
            Err(Failure::Errno(Errno::OPNOTSUPP | Errno::NOSYS)) if done == 0 => {
                return as_called.when_ready(Readiness::WRITE, call);
            }
            // It cannot be waited for.
            Err(Failure::Errno(Errno::PERM)) if done == 0 => return as_called.elsewhere(),
            Err(failure) if done == 0 => return Err(failure),
            Err(failure) => {
                signal_if_broken(fd, failure);
                return Ok(done);
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
