//! Reading bytes, from whatever it is.
//!
//! | descriptor | how |
//! |---|---|
//! | socket | `recv` that does not wait, else the fibre waits at its gate |
//! | pipe, counter, timer | the same with `RWF_NOWAIT` |
//! | file | what is cached, or [is expected to be](super::quick), here; else on a thread of the pool |
//! | terminal, and what knows of none of this | when it is ready, on a thread that may block |
//!
//! These calls change no descriptor. [`Switching::OnlyToWait`] reads in place what is ready, and
//! files.

use super::flags::left;
use super::quick::make_here;
use super::switching::{Switching, borrow};
use super::syscall::{Syscall, syscall};
use super::vector::{Vector, message};
use crate::fs::in_place::read_cached;
use crate::raw::{Direction, Failure, Known, Left, Wish, is_file, remove_known};
use crate::readiness::Readiness;
use crate::ring::WaitingRead;
use crate::transfer::storage::is_local;
use fibre_core::cancellation_point;
use fibre_core::internal::yield_point_cancellable;
use rustix::io::Errno;
use std::ffi::c_int;

/// The offset that means a descriptor's own position, or no position.
pub const HERE: i64 = -1;

/// `RWF_NOWAIT`.
pub const NOWAIT: c_int = 8;

/// `read` and `readv`: what there is. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
#[inline]
pub fn read(
    fd: c_int,
    into: Vector<'_>,
    as_called: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    if into.total() == 0 {
        return Ok(as_called.here()?);
    }
    let mut call = switching.call(borrow(fd), Direction::Read, Wish::AsDescriptor)?;
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
        return match switching {
            Switching::Freely => read_file(fd, into, None, as_called),
            Switching::OnlyToWait => Ok(as_called.here()?),
        };
    }
    match call.run(|| Ok((read_now(fd, into, HERE)?, Left::More))) {
        Err(Failure::Errno(Errno::OPNOTSUPP | Errno::NOSYS)) => {
            switching.make_when_ready(as_called, Readiness::READ, &mut call)
        }
        // It cannot be waited for.
        Err(Failure::Errno(Errno::PERM)) => switching.make_bounded(as_called),
        done => done,
    }
}

/// `pread` and `preadv`: from a place of a file. The kernel refuses an invalid offset. Blocks the
/// fibre.
///
/// # Errors
///
/// As [`read`].
pub fn read_at(fd: c_int, into: Vector<'_>, offset: i64, call: Syscall) -> Result<usize, Failure> {
    match u64::try_from(offset) {
        Ok(offset) if into.total() > 0 => read_file(fd, into, Some(offset), call),
        _ => Ok(call.here()?),
    }
}

/// Receives what there is.
#[inline]
fn receive(fd: c_int, into: Vector<'_>) -> Result<usize, Errno> {
    if let Some(only) = into.only() {
        let (start, length) = (only.iov_base, only.iov_len);
        return syscall!(SYS_recvfrom, fd, start, length, libc::MSG_DONTWAIT).here();
    }
    let whole = message(into);
    syscall!(SYS_recvmsg, fd, &raw const whole, libc::MSG_DONTWAIT).here()
}

/// Reads what there is without waiting.
fn read_now(fd: c_int, into: Vector<'_>, offset: i64) -> Result<usize, Errno> {
    let (start, count) = (into.start(), into.count());
    // The kernel takes an offset in two words; the second is for smaller machines.
    let read = syscall!(SYS_preadv2, fd, start, count, offset, 0, NOWAIT).here();
    read.map_err(unknown_if_refused)
}

/// The error of a call that need not wait, as callers take it. A sandbox may refuse what it does
/// not know by `EPERM`, which would say of a wait that the descriptor cannot be waited for.
pub(super) fn unknown_if_refused(errno: Errno) -> Errno {
    match errno {
        Errno::PERM => Errno::NOSYS,
        errno => errno,
    }
}

/// Reads from a file: all that was asked for, unless it ends before.
fn read_file(
    fd: c_int,
    into: Vector<'_>,
    offset: Option<u64>,
    call: Syscall,
) -> Result<usize, Failure> {
    yield_point_cancellable()?;
    // With an offset the kernel says by itself whether it would wait.
    if offset.is_none()
        && let Some(done) = make_here(borrow(fd), into.total(), call)
    {
        return Ok(done?);
    }
    let now = |offset: u64| read_now(fd, into, offset.cast_signed());
    match read_cached(borrow(fd), into.total(), offset, now, || call.here()) {
        Some(done) => Ok(done?),
        None => read_and_wait(fd, into, offset, call),
    }
}

/// Reads what is not cached.
fn read_and_wait(
    fd: c_int,
    into: Vector<'_>,
    offset: Option<u64>,
    call: Syscall,
) -> Result<usize, Failure> {
    let read = WaitingRead::begin();
    if let Some(offset) = offset
        && read.is_one_of_many()
        && is_local(borrow(fd))
    {
        cancellation_point()?;
        // SAFETY: the caller's buffers, which the call may write to.
        let done = unsafe { read.on_ring(borrow(fd), into.start(), into.count(), offset) };
        // If a part was read, the call says whether the file ends there.
        if let Some(count) = done.filter(|count| [0, into.total()].contains(count)) {
            return Ok(count);
        }
    }
    call.elsewhere()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibre_core::Cluster;
    use fibre_core::internal::blocking_metrics;
    use std::fs::{self, OpenOptions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    /// Bytes as reads past the cache want them.
    #[repr(C, align(4096))]
    struct Block([u8; 4096]);

    /// Such a read waits for the device although the kernel is told that it must not.
    #[test]
    fn reads_past_the_cache_keep_no_processor() {
        let path = std::env::temp_dir().join(format!("fibre-direct-{}", std::process::id()));
        fs::write(&path, [5; 3 * 4096]).unwrap();
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_DIRECT).open(&path);
        fs::remove_file(&path).unwrap();
        let file = file.unwrap();
        let read = move |offset: i64| {
            let mut block = Block([0; 4096]);
            let (fd, length) = (file.as_raw_fd(), block.0.len());
            let whole = libc::iovec {
                iov_base: block.0.as_mut_ptr().cast(),
                iov_len: length,
            };
            let call = syscall!(SYS_pread64, fd, whole.iov_base, length, offset);
            let before = blocking_metrics().calls;
            let count = read_at(fd, Vector::of(&whole), offset, call).unwrap();
            (count, block.0[7], blocking_metrics().calls > before)
        };
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let fibre = cluster.spawn(move || [read(0), read(8192), read(3 * 4096)]);
        let all = fibre.join().unwrap();
        cluster.stop();
        assert_eq!(all, [(4096, 5, true), (4096, 5, true), (0, 0, true)]);
    }
}
