//! What a file's bytes come from: a local file system or one that may never answer, the page cache
//! or the device itself.
//!
//! A lost server, another program's file system, or a kernel object that only looks like a file may
//! never answer. What is known of devices lies in a table that they may share: it is a hint, so all
//! accesses are relaxed.

use rustix::fs::{OFlags, fcntl_getfl, fstat, fstatfs};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many file systems are remembered.
const DEVICES: usize = 64;

/// The file systems with calls that end, by the numbers that the kernel has for them: ext2 to ext4,
/// XFS, Btrfs, F2FS, what lies over others (overlayfs), and in memory.
const LOCAL: [i64; 6] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0xF2F5_2010,
    0x794C_7630,
    0x0102_1994,
];

/// Devices that have been asked about: their numbers, one up, and in the lowest bit whether calls
/// on their files end.
static ASKED: [AtomicU64; DEVICES] = [const { AtomicU64::new(0) }; DEVICES];

/// Whether calls on a file end in a foreseeable time, by where it lies.
pub(crate) fn is_local(fd: BorrowedFd<'_>) -> bool {
    let Ok(device) = fstat(fd).map(|found| found.st_dev) else {
        return false;
    };
    // Devices have fewer bits than that.
    let place = &ASKED[device as usize % DEVICES];
    let known = place.load(Ordering::Relaxed);
    if known >> 1 == device + 1 {
        return known & 1 == 1;
    }
    let is_local = fstatfs(fd).is_ok_and(|system| LOCAL.contains(&system.f_type));
    place.store(((device + 1) << 1) | u64::from(is_local), Ordering::Relaxed);
    is_local
}

/// Whether a file is read past the page cache: it was opened with `O_DIRECT`. Calls on it wait for
/// the device whatever their flags say.
pub(crate) fn is_direct(fd: BorrowedFd<'_>) -> bool {
    fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn what_may_never_answer_is_not_local() {
        let there = |path: &str| File::open(path).map(|file| is_local(file.as_fd()));
        assert!(there("/dev/shm").unwrap());
        for _ in 0..2 {
            assert!(!there("/proc/self/status").unwrap());
            assert!(!there("/sys/kernel/mm").unwrap());
        }
    }
}
