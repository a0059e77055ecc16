//! This process's page, see [`page`](crate::page).
//!
//! The file is a memfd, so it is found by its name among the process's descriptors, and goes with
//! the process. Once it is mapped here it is sealed: nobody can map it for writing, write to it, or
//! make it shorter. Without memory or descriptors for it, the notifier is a word of the process's
//! own, and there is nothing to read.

use crate::notifier::Notifier;
use crate::page::{MAGIC, NAME, SIZE, Text, VERSION, place};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the notifier is where there is no page.
static LONELY_NOTIFIER: Notifier = Notifier::new();

/// The page, which stays as long as the process does.
#[derive(Debug)]
pub(crate) struct OwnPage {
    /// The notifier: how many dumps have been asked for.
    pub notifier: &'static Notifier,
    /// The text and the file, if there is a page.
    shared: Option<(Text<'static>, OwnedFd)>,
}

impl OwnPage {
    /// Makes the page.
    pub(crate) fn new() -> Self {
        let made = Self::shared();
        made.unwrap_or(Self {
            notifier: &LONELY_NOTIFIER,
            shared: None,
        })
    }

    /// Makes the file and maps it. `None`: there is no memory for it, or no descriptor.
    fn shared() -> Option<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create(NAME, flags).ok()?;
        ftruncate(&file, SIZE as u64).ok()?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, where the kernel likes.
        let start = unsafe { mmap(ptr::null_mut(), SIZE, access, MapFlags::SHARED, &file, 0) };
        let start = start.ok()?.cast::<u8>();
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).ok()?;
        // Kernels before 5.1 have no such seal: there whoever may debug the process may write, too.
        let _ = fcntl_add_seals(&file, SealFlags::FUTURE_WRITE | SealFlags::SEAL);
        // SAFETY: these are parts of the mapping, which stays for ever, all zeros, and aligned;
        // whoever touches them does so atomically.
        let number = |at: usize| unsafe { &*start.add(at).cast::<AtomicU64>() };
        // SAFETY: the same.
        let half = |at: usize| unsafe { &*start.add(at).cast::<AtomicU32>() };
        let count = (SIZE - place::TEXT) / 8;
        // SAFETY: the same, up to the mapping's end.
        let words = unsafe { std::slice::from_raw_parts(start.add(place::TEXT).cast(), count) };
        number(place::PROCESS).store(u64::from(std::process::id()), Ordering::Relaxed);
        half(place::VERSION).store(VERSION, Ordering::Relaxed);
        // Whoever sees it sees the others.
        number(place::MAGIC).store(MAGIC, Ordering::Release);
        let text = Text {
            sequence: number(place::SEQUENCE),
            length: number(place::LENGTH),
            words,
        };
        Some(Self {
            // SAFETY: the same; a notifier is such a number.
            notifier: unsafe { &*start.add(place::NOTIFIER).cast() },
            shared: Some((text, file)),
        })
    }

    /// Whether others can read it.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether somebody reads it: has a lock on the file. If the program has closed the descriptor,
    /// nobody does.
    pub(crate) fn is_read(&self) -> bool {
        let Some((_, file)) = &self.shared else {
            return false;
        };
        // SAFETY: all zeros is a lock of the whole file.
        let mut lock: libc::flock = unsafe { MaybeUninit::zeroed().assume_init() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        // SAFETY: room for the lock that is in the way of this one.
        let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
        asked == 0 && lock.l_type == libc::F_RDLCK as libc::c_short
    }

    /// Writes a text for its readers. The thread that sleeps only.
    pub(crate) fn write(&self, text: &str) {
        if let Some((page, _)) = &self.shared {
            page.write(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write as _;

    /// The page's file, opened once more, as others open it.
    fn opened(page: &OwnPage, writes: bool) -> std::io::Result<File> {
        let (_, file) = page.shared.as_ref().unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        File::options().read(true).write(writes).open(path)
    }

    #[test]
    fn a_reader_is_noticed_as_long_as_it_has_the_file() {
        let page = OwnPage::new();
        assert!(!page.is_read());
        let reader = opened(&page, false).unwrap();
        assert!(!page.is_read());
        // SAFETY: as above.
        let mut lock: libc::flock = unsafe { MaybeUninit::zeroed().assume_init() };
        lock.l_type = libc::F_RDLCK as libc::c_short;
        // SAFETY: a lock of the whole file.
        let done = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
        assert_eq!(done, 0);
        assert!(page.is_read());
        drop(reader);
        assert!(!page.is_read());
    }

    #[test]
    fn others_cannot_write() {
        let page = OwnPage::new();
        page.write("a text");
        let mut file = opened(&page, true).unwrap();
        assert!(file.write_all(b"nonsense").is_err());
        assert!(file.set_len(0).is_err());
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping.
        let mapped = unsafe { mmap(ptr::null_mut(), SIZE, access, MapFlags::SHARED, &file, 0) };
        assert!(mapped.is_err());
        let (text, _) = page.shared.as_ref().unwrap();
        assert_eq!(text.read(), Some((2, b"a text".to_vec())));
    }
}
