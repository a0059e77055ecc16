//! Files: the calls that open them, and those that block for long.
//!
//! A file system lets its callers wait for disks and servers, so its calls are made on threads of
//! the pool. Calls that wait for other programs (locks, named pipes) have threads of their own.

use super::entry::{at_once, endures, or_leave, taken, waits, waits_on};
use super::write::signal_if_broken;
use crate::memory::Asked;
use fibre_core::{blocking, in_fibre};
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::switching::opened;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::posix::transfer::{sendfile, splice};
use fibre_io::raw::{Known, close, made, patiently, renewed};
use std::ffi::{c_char, c_int, c_uint};

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
    let call = syscall!(SYS_openat, directory, path, flags | libc::O_LARGEFILE, mode);
    let may_wait = flags & (libc::O_NONBLOCK | libc::O_PATH) == 0;
    or_leave(|| {
        let fd = if !in_fibre() {
            call.here()?
        } else if may_wait && is_named_pipe(call) {
            call.patiently()?
        } else {
            call.elsewhere()?
        };
        renewed(opened(fd));
        Ok(fd)
    })
}

/// Whether a call is to open a named pipe.
fn is_named_pipe(call: Syscall) -> bool {
    blocking(|| {
        // SAFETY: all zeros is a valid value.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        let look = call.of_kind(libc::SYS_newfstatat);
        let found = look.with(2, &raw mut status).with(3, 0).here();
        found.is_ok() && status.st_mode & libc::S_IFMT == libc::S_IFIFO
    })
}

/// `fsync`. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_fsync(fd: c_int) -> c_int {
    waits(syscall!(SYS_fsync, fd), Syscall::elsewhere)
}

/// `fdatasync`. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_fdatasync(fd: c_int) -> c_int {
    waits(syscall!(SYS_fdatasync, fd), Syscall::elsewhere)
}

/// `flock`: waits for the lock of a file, unless `LOCK_NB` says otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_flock(fd: c_int, operation: c_int) -> c_int {
    let may_wait = operation & (libc::LOCK_NB | libc::LOCK_UN) == 0;
    endures(syscall!(SYS_flock, fd, operation), |call| match may_wait {
        true => patiently(|| call.here()),
        false => call.here(),
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
    waits_on(
        out,
        syscall!(SYS_sendfile, out, file, offset, count),
        |call| {
            // SAFETY: the caller's place.
            unsafe {
                let pipe_failed = |failure| signal_if_broken(out, failure);
                sendfile::<Asked>(out, file, offset, count, call, Freely, pipe_failed)
            }
        },
    )
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
    let call = syscall!(SYS_splice, from, from_offset, to, to_offset, count, flags);
    waits_on(from, call, |call| {
        splice(from, to, flags, call).and_then(|count| taken(from, count))
    })
}

/// Makes a descriptor of which nothing is known.
fn make(call: Syscall) -> c_int {
    at_once(|| {
        let fd = call.here()?;
        made(opened(fd), Known::NOTHING);
        Ok(fd)
    })
}

/// `eventfd`: a counter.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_eventfd(count: c_uint, flags: c_int) -> c_int {
    make(syscall!(SYS_eventfd2, count, flags))
}

/// `timerfd_create`: a timer.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_timerfd_create(clock: c_int, flags: c_int) -> c_int {
    make(syscall!(SYS_timerfd_create, clock, flags))
}
