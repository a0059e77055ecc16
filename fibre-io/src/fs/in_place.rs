//! Reads that need not wait, made where the fibre is.
//!
//! What a server reads of files is mostly in the kernel's page cache, where reading a page takes
//! less than a microsecond, and sending the call to another thread many. `RWF_NOWAIT` says which is
//! the case: the kernel reads what is cached, and refuses where it would have to wait. File systems
//! that do not know the flag are asked once per file. (ext4, XFS and btrfs know it for reading.
//! ext4 does not for writing, so writes are sent away.)
//!
//! A call that uses the file's position holds a lock of the kernel's while it waits for the disk,
//! and others would wait for that lock whatever their flags. So while such a call of the same
//! handle is away, all others with a position are sent away, too. Handles made by `try_clone` have
//! one position and do not know of each other.

use crate::transfer::total;
use fibre_core::in_fibre;
use fibre_core::internal::yield_point;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most bytes that are copied in place: about 30 µs of copying.
const MOST: usize = 256 << 10;

/// The offset that stands for the file's own position.
const POSITION: u64 = u64::MAX;

/// What one handle of a file knows about calls in place. Only hints: relaxed.
#[derive(Debug, Default)]
pub struct InPlace {
    /// The file system does not know of it.
    unknown: AtomicBool,
    /// Calls that use the position and have been sent away.
    away: AtomicUsize,
}

/// A call with a position that has been sent away.
pub struct Away<'a>(&'a AtomicUsize);

impl InPlace {
    /// Reads what is cached, at `offset` or at the file's position. `None`: it must be read
    /// elsewhere.
    pub fn read(
        &self,
        fd: BorrowedFd<'_>,
        buffers: &mut [IoSliceMut<'_>],
        offset: Option<u64>,
    ) -> Option<usize> {
        if !in_fibre() || self.unknown.load(Ordering::Relaxed) || total(buffers) > MOST {
            return None;
        }
        if offset.is_none() && !self.may_use_position() {
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
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.unknown.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
        None
    }

    /// Whether no user of the file's position may wait for a disk now.
    pub fn may_use_position(&self) -> bool {
        self.away.load(Ordering::Relaxed) == 0
    }

    /// Notes that a call which uses the position is sent away.
    pub fn send_away(&self) -> Away<'_> {
        self.away.fetch_add(1, Ordering::Relaxed);
        Away(&self.away)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `offset` as the kernel takes it, unless it is none.
pub fn checked(offset: u64) -> io::Result<Option<u64>> {
    i64::try_from(offset)
        .map(|_| Some(offset))
        .map_err(|_| io::ErrorKind::InvalidInput.into())
}
