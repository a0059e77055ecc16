//! Directories, entry by entry.

use super::{FileType, Metadata};
use fibre_core::blocking;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

/// How many entries are fetched at a time: one call of the kernel returns some hundred short names.
const BATCH: usize = 256;

/// What is in a directory. See [`std::fs::read_dir`]. Blocks the fibre (or thread).
///
/// ```
/// let names: Result<Vec<_>, _> = fibre::fs::read_dir("/proc/self")?
///     .map(|entry| entry.map(|entry| entry.file_name()))
///     .collect();
/// assert!(names?.contains(&"status".into()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of opening the directory.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref();
    blocking(|| {
        let mut directory = ReadDir {
            rest: Some(fs::read_dir(path)?),
            fetched: VecDeque::new(),
        };
        directory.fetch();
        Ok(directory)
    })
}

/// The entries of a directory, in the file system's order. `next` blocks the fibre (or thread) now
/// and then, to fetch some hundred entries at once.
#[derive(Debug)]
pub struct ReadDir {
    /// What has not been fetched; `None`: nothing.
    rest: Option<fs::ReadDir>,
    /// What has been fetched and not been asked for.
    fetched: VecDeque<io::Result<DirEntry>>,
}

impl ReadDir {
    /// Fetches some entries. Blocks the thread.
    fn fetch(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        self.fetched
            .extend(rest.take(BATCH).map(|entry| entry.map(DirEntry::new)));
        if self.fetched.len() < BATCH {
            self.rest = None;
        }
    }
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.fetched.is_empty() && self.rest.is_some() {
            blocking(|| self.fetch());
        }
        self.fetched.pop_front()
    }
}

/// One entry of a directory. See [`std::fs::DirEntry`].
#[derive(Debug)]
pub struct DirEntry {
    entry: fs::DirEntry,
    /// Its type, if the file system has told it.
    kind: Option<FileType>,
}

impl DirEntry {
    /// An entry that has just been fetched. May block the thread.
    fn new(entry: fs::DirEntry) -> Self {
        let kind = entry.file_type().ok();
        Self { entry, kind }
    }

    /// The path of the directory, with the name behind it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.entry.path()
    }

    /// The name, without the directory.
    #[must_use]
    pub fn file_name(&self) -> OsString {
        self.entry.file_name()
    }

    /// What kind of file it is. Links are not followed.
    ///
    /// # Errors
    ///
    /// Those of the system calls, where the directory does not say it.
    pub fn file_type(&self) -> io::Result<FileType> {
        match self.kind {
            Some(kind) => Ok(kind),
            None => blocking(|| self.entry.file_type()),
        }
    }

    /// Its metadata. Links are not followed. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn metadata(&self) -> io::Result<Metadata> {
        blocking(|| self.entry.metadata())
    }
}

impl DirEntryExt for DirEntry {
    fn ino(&self) -> u64 {
        self.entry.ino()
    }
}
