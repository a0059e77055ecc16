//! Reads that need not wait, made on the fibre's processor.
//!
//! Most file data that a server reads is in the kernel's page cache. Reading a page from there
//! takes less than a microsecond; sending the call to another thread takes many. With `RWF_NOWAIT`
//! the kernel reads what is cached, and refuses if it would have to wait. A file system that does
//! not support the flag is asked once per file. (ext4, XFS and btrfs support it for reading. ext4
//! does not for writing, so writes go to another thread.)
//!
//! A file that is opened with `O_DIRECT` is read past the cache. `RWF_NOWAIT` does not keep such a
//! read from waiting for the device, so it is never made in place.
//!
//! A call that uses the file's position holds a kernel lock while it waits for the disk, and others
//! would wait for that lock whatever their flags. So while such a call of the same handle is on
//! another thread, all other calls with a position go there, too. Handles made by `try_clone` share
//! one position and do not know of each other.
//!
//! Two contracts share this. [`InPlace::read`] may read less than requested, as
//! [`Read`](std::io::Read) allows. [`read_cached`] is for the `read` of POSIX, which reads
//! everything that there is.

use crate::transfer::storage::{is_direct, is_local};
use crate::transfer::total;
use fibre_core::in_fibre;
use fibre_core::internal::yield_point;
use rustix::fs::{fstat, tell};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most bytes that are copied in place: about 30 µs of copying.
const MOST_IN_PLACE: usize = 256 << 10;

/// What places and lengths of reads past the cache are multiples of, at least.
const BLOCK: u64 = 512;

/// Bytes that the kernel caches together.
const PAGE: u64 = 4096;

/// The offset that stands for the file's own position.
const POSITION: u64 = u64::MAX;

/// What one handle of a file knows about calls in place. Only hints: relaxed.
#[derive(Debug, Default)]
pub(crate) struct InPlace {
    /// The file system does not know of it.
    unknown: AtomicBool,
    /// Whether it is read past the cache. It is asked once.
    direct: OnceLock<bool>,
    /// Calls that use the position and have been sent away.
    away: AtomicUsize,
}

/// A call with a position that has been sent away.
pub(crate) struct Away<'a>(&'a AtomicUsize);

impl InPlace {
    /// Reads what is cached, at `offset` or at the file's position. `None`: it must be read
    /// elsewhere.
    pub(crate) fn read(
        &self,
        fd: BorrowedFd<'_>,
        buffers: &mut [IoSliceMut<'_>],
        offset: Option<u64>,
    ) -> Option<usize> {
        if !in_fibre() || self.unknown.load(Ordering::Relaxed) || total(buffers) > MOST_IN_PLACE {
            return None;
        }
        if offset.is_none() && !self.may_use_position() {
            return None;
        }
        if *self.direct.get_or_init(|| is_direct(fd)) {
            return None;
        }
        match preadv2(
            fd,
            buffers,
            offset.unwrap_or(POSITION),
            ReadWriteFlags::NOWAIT,
        ) {
            Ok(count) => {
                yield_point();
                return Some(count);
            }
            // Refused, or failed: the call elsewhere succeeds, or says why not.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {
                self.unknown.store(true, Ordering::Relaxed)
            }
            Err(_) => {}
        }
        None
    }

    /// Whether a read that waits ends in a foreseeable time, so that it may be one of many.
    pub(crate) fn ends(&self, fd: BorrowedFd<'_>) -> bool {
        !self.unknown.load(Ordering::Relaxed) && is_local(fd)
    }

    /// Whether no user of the file's position may wait for a disk now.
    pub(crate) fn may_use_position(&self) -> bool {
        self.away.load(Ordering::Relaxed) == 0
    }

    /// Notes that a call which uses the position is sent away.
    pub(crate) fn send_away(&self) -> Away<'_> {
        self.away.fetch_add(1, Ordering::Relaxed);
        Away(&self.away)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `offset` as the kernel takes it, unless it is invalid.
pub(crate) fn checked(offset: u64) -> io::Result<Option<u64>> {
    i64::try_from(offset)
        .map(|_| Some(offset))
        .map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Reads `total` bytes of a file as POSIX has it: less only if the file ends before. `None`: the
/// read has to wait for the disk. `now` reads at an offset and fails where it would wait; `here`
/// makes the whole call on this thread.
///
/// From the file's own position the bytes are read by one system call: between two calls, another
/// caller's would take what is in the middle. As one that does not wait takes a part of what was
/// asked for, and the position goes on, the cache is looked at first.
pub(crate) fn read_cached(
    fd: BorrowedFd<'_>,
    total: usize,
    offset: Option<u64>,
    now: impl FnOnce(u64) -> Result<usize, Errno>,
    here: impl FnOnce() -> Result<usize, Errno>,
) -> Option<Result<usize, Errno>> {
    if total > MOST_IN_PLACE {
        return None;
    }
    let done = match offset {
        // Others fail by themselves in a file that is read past the cache, or are made in it.
        Some(offset) if (offset | total as u64).is_multiple_of(BLOCK) && is_direct(fd) => {
            return None;
        }
        Some(offset) => now(offset),
        None if is_cached(fd, total) => here(),
        None => return None,
    };
    match (done, offset) {
        (Err(Errno::AGAIN | Errno::INTR | Errno::OPNOTSUPP | Errno::NOSYS), _) => None,
        // The rest is not cached, or the file ends here.
        (Ok(part @ 1..), Some(offset)) if part < total => {
            let next = offset.saturating_add(part as u64);
            (byte_at(fd, next) == Ok(0)).then_some(done)
        }
        _ => Some(done),
    }
}

/// Whether the first and the last of the bytes that a file has next are in memory, as those between
/// mostly are then. If not, reading these blocks the thread as using mapped memory may.
fn is_cached(fd: BorrowedFd<'_>, count: usize) -> bool {
    let Ok(first) = tell(fd) else {
        return false;
    };
    match byte_at(fd, first) {
        Ok(0) => return true,
        Ok(_) => {}
        Err(_) => return false,
    }
    let end = first.saturating_add(count as u64);
    if first / PAGE == (end - 1) / PAGE {
        return true;
    }
    let size = || u64::try_from(fstat(fd).ok()?.st_size).ok();
    match byte_at(fd, end - 1) {
        Ok(0) => size().is_some_and(|size| byte_at(fd, size.saturating_sub(1)) == Ok(1)),
        last => last.is_ok(),
    }
}

/// Reads one cached byte; 0 at the end of the file.
fn byte_at(fd: BorrowedFd<'_>, offset: u64) -> Result<usize, Errno> {
    let mut byte = [0];
    let mut only = [IoSliceMut::new(&mut byte)];
    preadv2(fd, &mut only, offset, ReadWriteFlags::NOWAIT)
}
