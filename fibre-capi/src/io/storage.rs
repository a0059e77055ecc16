//! Other calls that wait for files and pipes: room, the way to the disk, copies inside the kernel,
//! locks of parts.

use super::entry::{endures, taken_if_any, waits};
use super::library::elsewhere;
use super::numbers::fibre_fcntl;
use super::read::{fibre_preadv, fibre_readv};
use super::write::{fibre_pwritev, fibre_writev};
use crate::cancel::fibre_testcancel;
use fibre_core::{blocking, in_fibre};
use fibre_io::posix::boundary::Returned;
use fibre_io::posix::read::{HERE, NOWAIT};
use fibre_io::posix::syscall::{Syscall, syscall};
use std::ffi::{c_int, c_uint, c_ulong, c_void};

/// `lockf`: waits for the lock of a part of a file (`F_LOCK`) by a thread of its own. Then a
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_lockf(fd: c_int, operation: c_int, length: libc::off_t) -> c_int {
    if operation != libc::F_LOCK || !in_fibre() {
        // SAFETY: plain numbers.
        return unsafe { libc::lockf(fd, operation, length) };
    }
    let part = libc::flock {
        l_type: libc::F_WRLCK as i16,
        l_whence: libc::SEEK_CUR as i16,
        l_start: 0,
        l_len: length,
        l_pid: 0,
    };
    // SAFETY: it is read before this returns.
    unsafe { fibre_fcntl(fd, libc::F_SETLKW, (&raw const part).addr() as c_ulong) }
}

/// `preadv2`: [`fibre_preadv`] with flags; from the descriptor's own position if the offset is -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_preadv2(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
    offset: libc::off_t,
    flags: c_int,
) -> isize {
    match (flags, offset) {
        // SAFETY: the caller's buffers.
        (0, HERE) => unsafe { fibre_readv(fd, buffers, count) },
        // SAFETY: the caller's buffers.
        (0, _) => unsafe { fibre_preadv(fd, buffers, count, offset) },
        _ => {
            let call = syscall!(SYS_preadv2, fd, buffers, count, offset, 0, flags);
            flagged(call, offset, flags)
        }
    }
}

/// `pwritev2`: [`fibre_pwritev`] with flags; to the descriptor's own position if the offset is -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pwritev2(
    fd: c_int,
    buffers: *const libc::iovec,
    count: c_int,
    offset: libc::off_t,
    flags: c_int,
) -> isize {
    match (flags, offset) {
        // SAFETY: the caller's buffers.
        (0, HERE) => unsafe { fibre_writev(fd, buffers, count) },
        // SAFETY: the caller's buffers.
        (0, _) => unsafe { fibre_pwritev(fd, buffers, count, offset) },
        _ => {
            let call = syscall!(SYS_pwritev2, fd, buffers, count, offset, 0, flags);
            flagged(call, offset, flags)
        }
    }
}

/// A call with flags, of which one says that it does not wait. Only files have offsets.
fn flagged(call: Syscall, offset: libc::off_t, flags: c_int) -> isize {
    waits(call, |call| match offset {
        _ if flags & NOWAIT != 0 => Ok(call.here()?),
        HERE => call.patiently().and_then(taken_if_any),
        _ => call.elsewhere().and_then(taken_if_any),
    })
}

/// A call that waits for files, and is no cancellation point.
fn awaits_file<T: Returned>(call: Syscall) -> T {
    endures(call, |call| blocking(|| call.endure()))
}

/// `fallocate`: room for a part of a file, or a hole in it. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_fallocate(
    fd: c_int,
    mode: c_int,
    offset: libc::off_t,
    length: libc::off_t,
) -> c_int {
    awaits_file(syscall!(SYS_fallocate, fd, mode, offset, length))
}

/// `posix_fallocate`: room for a part of a file; returns an error number. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_posix_fallocate(
    fd: c_int,
    offset: libc::off_t,
    length: libc::off_t,
) -> c_int {
    // SAFETY: plain numbers.
    elsewhere(|| unsafe { libc::posix_fallocate(fd, offset, length) })
}

/// `copy_file_range`: from file to file. Blocks the fibre.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_copy_file_range(
    from: c_int,
    from_offset: *mut i64,
    to: c_int,
    to_offset: *mut i64,
    count: usize,
    flags: c_uint,
) -> isize {
    let call = syscall!(
        SYS_copy_file_range,
        from,
        from_offset,
        to,
        to_offset,
        count,
        flags
    );
    awaits_file(call)
}

/// `sync`: all files of all file systems. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sync() {
    let _: c_int = awaits_file(syscall!(SYS_sync));
}

/// `syncfs`: all files of a file system. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_syncfs(fd: c_int) -> c_int {
    awaits_file(syscall!(SYS_syncfs, fd))
}

/// `sync_file_range`: a part of a file. Blocks the fibre.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sync_file_range(
    fd: c_int,
    offset: i64,
    length: i64,
    flags: c_uint,
) -> c_int {
    awaits_file(syscall!(SYS_sync_file_range, fd, offset, length, flags))
}

/// `msync`: mapped memory. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_msync(start: *mut c_void, length: usize, flags: c_int) -> c_int {
    fibre_testcancel();
    awaits_file(syscall!(SYS_msync, start, length, flags))
}

/// `tee`: copies what is in a pipe into another one; waits for both by a thread of its own. A
/// cancellation point before it begins.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_tee(from: c_int, to: c_int, count: usize, flags: c_uint) -> isize {
    waits(syscall!(SYS_tee, from, to, count, flags), |call| {
        call.until_cancelled().and_then(taken_if_any)
    })
}

/// `vmsplice`: memory into a pipe, whose room it waits for as [`fibre_tee`] does, or out of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_vmsplice(
    fd: c_int,
    buffers: *const libc::iovec,
    count: usize,
    flags: c_uint,
) -> isize {
    waits(
        syscall!(SYS_vmsplice, fd, buffers, count, flags),
        Syscall::until_cancelled,
    )
}
