//! The page of a process: finding it, and reading from it.
//!
//! It is a memfd among the process' descriptors ([`fibre_inspect::page`]). Nothing in it is
//! trusted: it may be another program's file of the same name. What could be made shorter is not
//! mapped, as reading past its end would end this program.

use fibre_inspect::page::{MAGIC, NAME, SIZE, Text, VERSION, place};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::futex;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time between two looks at the page while a text is waited for.
const GLANCE: Duration = Duration::from_millis(10);

/// Why there is nothing to show.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no such process.
    NoProcess,
    /// The kernel does not let this user look at it.
    Forbidden,
    /// It has no page.
    NoPage,
    /// It has a file of that name, which is not ours.
    Foreign(&'static str),
    /// Its page has this version.
    Version(u32),
    /// The page is that of this process, which has forked the one that was asked for.
    Forked(u64),
    /// It has ended.
    Ended,
    /// It has not written for so long; whether it is stopped.
    Silent(Duration, bool),
    /// The kernel's.
    Kernel(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProcess => f.write_str("there is no such process"),
            Self::Forbidden => f.write_str("you may not look at it: it is another user's"),
            Self::NoPage => f.write_str(
                "it has no page: it does not use fibre, or has not begun to, or has closed the \
                 page's descriptor",
            ),
            Self::Foreign(why) => write!(f, "its file {NAME:?} is no page of fibre: {why}"),
            Self::Version(version) => write!(
                f,
                "its page has version {version}, and this program reads version {VERSION}: use the \
                 fibre-top of its version of fibre"
            ),
            Self::Forked(parent) => write!(
                f,
                "it is a forked child of process {parent}, and has no fibres of its own"
            ),
            Self::Ended => f.write_str("it has ended"),
            Self::Silent(time, true) => write!(f, "no answer for {time:.1?}: it is stopped"),
            Self::Silent(time, false) => write!(f, "no answer for {time:.1?}"),
            Self::Kernel(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::SRCH => Self::NoProcess,
            Errno::ACCESS | Errno::PERM => Self::Forbidden,
            _ => Self::Kernel(error.into()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(error) => error.into(),
            None => Self::Kernel(error),
        }
    }
}

/// The page of a process, mapped for reading.
#[derive(Debug)]
struct Mapped(*mut u8);

// SAFETY: memory that is only read, and by any thread.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps a file that cannot become shorter.
    fn new(file: &File) -> Result<Self, Failure> {
        // The seals come first: a size that was read before them may have changed since.
        let seals = fcntl_get_seals(file).unwrap_or(SealFlags::empty());
        if !seals.contains(SealFlags::SHRINK) {
            return Err(Failure::Foreign("it could be made shorter"));
        }
        if usize::try_from(fstat(file)?.st_size) != Ok(SIZE) {
            return Err(Failure::Foreign("it has another size"));
        }
        let (read, shared) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: a new mapping, where the kernel likes.
        let start = unsafe { mmap(ptr::null_mut(), SIZE, read, shared, file, 0) }?;
        let mapped = Self(start.cast());
        if mapped.number(place::MAGIC).load(Ordering::Acquire) != MAGIC {
            return Err(Failure::Foreign("it begins with something else"));
        }
        match mapped.half(place::VERSION).load(Ordering::Relaxed) {
            VERSION => Ok(mapped),
            other => Err(Failure::Version(other)),
        }
    }

    /// A word of eight bytes; only loaded, as the memory is read-only.
    fn number(&self, at: usize) -> &AtomicU64 {
        debug_assert!(
            at.is_multiple_of(8) && at + 8 <= SIZE,
            "a place of the page"
        );
        // SAFETY: inside of the mapping, aligned, and there as long as `self`.
        unsafe { &*self.0.add(at).cast() }
    }

    /// A word of four bytes; only loaded.
    fn half(&self, at: usize) -> &AtomicU32 {
        debug_assert!(
            at.is_multiple_of(4) && at + 4 <= SIZE,
            "a place of the page"
        );
        // SAFETY: as in `number`.
        unsafe { &*self.0.add(at).cast() }
    }

    /// The text.
    fn text(&self) -> Text<'_> {
        let count = (SIZE - place::TEXT) / 8;
        // SAFETY: as in `number`, up to the mapping's end.
        let words = unsafe { std::slice::from_raw_parts(self.0.add(place::TEXT).cast(), count) };
        Text {
            sequence: self.number(place::SEQUENCE),
            length: self.number(place::LENGTH),
            words,
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, and no reference to it is left.
        let _ = unsafe { munmap(self.0.cast(), SIZE) };
    }
}

/// A process that is looked at; it writes as long as this is there.
#[derive(Debug)]
pub(crate) struct Source {
    process: u32,
    page: Mapped,
    /// The page's file, with a lock that tells the process of this reader.
    _file: File,
    /// Becomes readable when the process ends.
    end: OwnedFd,
    /// The last text that was read.
    last: u64,
}

impl Source {
    /// The page of a process.
    pub(crate) fn of(process: u32) -> Result<Self, Failure> {
        let number = i32::try_from(process).ok().and_then(Pid::from_raw);
        let number = number.ok_or(Failure::NoProcess)?;
        let end = pidfd_open(number, PidfdFlags::empty())?;
        let file = find(process)?;
        let page = Mapped::new(&file)?;
        let writer = page.number(place::PROCESS).load(Ordering::Relaxed);
        if writer != u64::from(process) && !is_inner_number(process, writer) {
            return Err(Failure::Forked(writer));
        }
        lock(&file)?;
        let last = page.number(place::SEQUENCE).load(Ordering::Relaxed);
        Ok(Self {
            process,
            page,
            _file: file,
            end,
            last,
        })
    }

    /// The next text. Waits for it for so long.
    pub(crate) fn next(&mut self, patience: Duration) -> Result<Vec<u8>, Failure> {
        let begun = Instant::now();
        loop {
            // It may just not have slept, so it is called again and again.
            let _ = futex::wake(self.page.half(place::NOTIFIER), futex::Flags::empty(), 1);
            if let Some((sequence, text)) = self.page.text().read()
                && sequence != self.last
            {
                self.last = sequence;
                return Ok(text);
            }
            if self.has_ended(GLANCE) {
                return Err(Failure::Ended);
            }
            let waited = begun.elapsed();
            if waited >= patience {
                return Err(Failure::Silent(waited, is_stopped(self.process)));
            }
        }
    }

    /// Whether the process has ended, or does within this time.
    fn has_ended(&self, within: Duration) -> bool {
        let mut wanted = [PollFd::new(&self.end, PollFlags::IN)];
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(within.subsec_nanos()),
        };
        poll(&mut wanted, Some(&limit)).is_ok_and(|count| count > 0)
    }
}

/// Opens the page among the descriptors of a process.
fn find(process: u32) -> Result<File, Failure> {
    let name = format!("/memfd:{NAME} ");
    for entry in fs::read_dir(format!("/proc/{process}/fd"))? {
        let path = entry?.path();
        // It may just have been closed.
        let link = fs::read_link(&path).unwrap_or_default();
        if link
            .as_os_str()
            .as_encoded_bytes()
            .starts_with(name.as_bytes())
        {
            return Ok(File::open(path)?);
        }
    }
    Err(Failure::NoPage)
}

/// Tells the process that somebody reads.
fn lock(file: &File) -> Result<(), Failure> {
    // SAFETY: all zeros is a lock of the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    let file = file.as_fd().as_raw_fd();
    // SAFETY: a lock, and an open file.
    let done = unsafe { libc::fcntl(file, libc::F_OFD_SETLK, &raw const lock) };
    if done == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error().into())
}

/// A field of `/proc/PID/status`. Three of them are no reason for a crate.
fn status(process: u32, field: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let found = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(found.trim().to_owned())
}

/// Whether a process has this number in its own namespace, as one in a container has.
fn is_inner_number(process: u32, number: u64) -> bool {
    let numbers = status(process, "NSpid:").unwrap_or_default();
    numbers.split_whitespace().next_back() == Some(&number.to_string())
}

/// Whether a process is stopped.
fn is_stopped(process: u32) -> bool {
    status(process, "State:").is_some_and(|state| state.starts_with(['T', 't']))
}

/// The name of a process.
pub(crate) fn name(process: u32) -> String {
    status(process, "Name:").unwrap_or_default()
}

/// The processes that have a page, as far as this user may see them.
pub(crate) fn all() -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<u32> = numbers.filter(|process| find(*process).is_ok()).collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    /// A file of a process that means no good.
    fn file(size: u64, seals: SealFlags) -> File {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create(NAME, flags).unwrap());
        ftruncate(&file, size).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    /// Why a file is not mapped.
    fn refused(size: u64, seals: SealFlags) -> &'static str {
        match Mapped::new(&file(size, seals)) {
            Err(Failure::Foreign(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    /// Otherwise its owner could change a size that has been looked at.
    #[test]
    fn a_size_counts_once_the_file_is_known_not_to_shrink() {
        let none = SealFlags::empty();
        for size in [0, 1, SIZE as u64] {
            assert_eq!(refused(size, none), "it could be made shorter", "{size}");
        }
        let kept = SealFlags::SHRINK;
        assert_eq!(refused(SIZE as u64 - 1, kept), "it has another size");
        assert_eq!(refused(SIZE as u64, kept), "it begins with something else");
    }
}
