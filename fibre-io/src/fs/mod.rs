//! Files, after `std::fs`: the same names and meanings, but calls block the fibre.
//!
//! The kernel cannot say when a file is ready, and every call may wait for a disk or a server. So
//! the threads of [`blocking`] make the calls, with buffers and paths borrowed from the waiting
//! fibre. On a plain thread they are just std's. Reads are first tried in place, with a call that
//! the kernel refuses if it would have to wait (see `in_place`).
//!
//! Two things differ from std. These calls do not notice cancellation, so that a cancelled fibre
//! can clean up files. And a file is closed where it is dropped, on the processor. If that may take
//! long (the last name of a huge file is gone, the file lies on a server), drop it in [`blocking`].
//!
//! ```
//! let path = std::env::temp_dir().join(format!("fibre-fs-{}", std::process::id()));
//! let read = fibre::spawn(move || -> std::io::Result<String> {
//!     fibre::fs::write(&path, "a line\n")?; // blocks the fibre
//!     let text = fibre::fs::read_to_string(&path);
//!     fibre::fs::remove_file(&path)?;
//!     text
//! });
//! assert_eq!(read.join().unwrap()?, "a line\n");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Files:
//!
//! * `file`: an open file;
//! * `options`: how files are opened and directories are made;
//! * `read_dir`: directories, entry by entry;
//! * `patient`: calls that wait for other programs: locks of files, the other end of a named pipe.

mod file;
pub(crate) mod in_place;
mod options;
mod patient;
mod read_dir;

pub use file::File;
pub use options::{DirBuilder, OpenOptions};
pub use read_dir::{DirEntry, ReadDir, read_dir};
pub use std::fs::{FileTimes, FileType, Metadata, Permissions, TryLockError};

use fibre_core::blocking;
pub(crate) use patient::PATIENT;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reads a whole file. See [`std::fs::read`]. Blocks the fibre (or thread).
///
/// ```
/// let dir = std::env::temp_dir().join(format!("fibre-read-{}", std::process::id()));
/// fibre::fs::create_dir_all(&dir)?;
/// fibre::fs::write(dir.join("greeting"), "hello")?;
/// assert_eq!(fibre::fs::read(dir.join("greeting"))?, b"hello");
/// fibre::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of opening and reading.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    patient::at(path, || fs::read(path))
}

/// Reads a whole file of text. See [`std::fs::read_to_string`]. Blocks the fibre (or thread).
///
/// ```
/// assert!(fibre::fs::read_to_string("/proc/self/status")?.starts_with("Name:"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of opening and reading; `InvalidData` if it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    patient::at(path, || fs::read_to_string(path))
}

/// Writes a whole file, which replaces what it held. See [`std::fs::write`]. Blocks the fibre (or
/// thread). For an example see [`read`].
///
/// # Errors
///
/// Those of opening and writing.
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref(), contents.as_ref());
    patient::at(path, || fs::write(path, contents))
}

/// Copies a file's contents and permissions; returns the number of bytes. See [`std::fs::copy`].
/// Blocks the fibre (or thread).
///
/// ```
/// assert!(fibre::fs::copy("/no/such/path", "/nor/this").is_err());
/// ```
///
/// # Errors
///
/// Those of the system calls.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref(), to.as_ref());
    patient::at(from, || fs::copy(from, to))
}

/// The functions of `std::fs` that take one path.
macro_rules! one_path {
    ($($(#[$doc:meta])* $name:ident -> $result:ty, $example:literal;)*) => {$(
        $(#[$doc])*
        /// Blocks the fibre (or thread).
        ///
        /// ```
        #[doc = $example]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// Those of the system calls.
        pub fn $name(path: impl AsRef<Path>) -> io::Result<$result> {
            let path = path.as_ref();
            blocking(|| fs::$name(path))
        }
    )*};
}

one_path! {
    /// What is known of a file, or of what a symbolic link leads to. See [`std::fs::metadata`].
    metadata -> Metadata, "assert!(fibre_io::fs::metadata(\"/\")?.is_dir());";
    /// What is known of a file or a symbolic link. See [`std::fs::symlink_metadata`].
    symlink_metadata -> Metadata, "assert!(fibre_io::fs::symlink_metadata(\"/proc/self\")?.is_symlink());";
    /// Whether there is something at the path. See [`std::fs::exists`].
    exists -> bool, "assert!(!fibre_io::fs::exists(\"/no/such/path\")?);";
    /// The absolute path without links. See [`std::fs::canonicalize`].
    canonicalize -> PathBuf, "assert_eq!(fibre_io::fs::canonicalize(\"/proc/..\")?.to_str(), Some(\"/\"));";
    /// Where a symbolic link leads. See [`std::fs::read_link`].
    read_link -> PathBuf, "assert!(fibre_io::fs::read_link(\"/proc/self\")?.is_relative());";
    /// Removes a file. See [`std::fs::remove_file`].
    remove_file -> (), "assert!(fibre_io::fs::remove_file(\"/no/such/path\").is_err());";
    /// Makes a directory. See [`std::fs::create_dir`].
    create_dir -> (), "assert!(fibre_io::fs::create_dir(\"/\").is_err());";
    /// Makes a directory and those above it. See [`std::fs::create_dir_all`].
    create_dir_all -> (), "fibre_io::fs::create_dir_all(\"/\")?;";
    /// Removes an empty directory. See [`std::fs::remove_dir`].
    remove_dir -> (), "assert!(fibre_io::fs::remove_dir(\"/no/such/path\").is_err());";
    /// Removes a directory and what is in it. See [`std::fs::remove_dir_all`].
    remove_dir_all -> (), "assert!(fibre_io::fs::remove_dir_all(\"/no/such/path\").is_err());";
}

/// The functions that take two paths.
macro_rules! two_paths {
    ($($(#[$doc:meta])* $name:ident: $function:path => $result:ty;)*) => {$(
        $(#[$doc])*
        /// Blocks the fibre (or thread).
        ///
        /// ```
        #[doc = concat!("let tried = fibre::fs::", stringify!($name), "(\"/no/such/path\", \"/nor/this\");")]
        /// assert!(tried.is_err());
        /// ```
        ///
        /// # Errors
        ///
        /// Those of the system calls.
        pub fn $name(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<$result> {
            let (from, to) = (from.as_ref(), to.as_ref());
            blocking(|| $function(from, to))
        }
    )*};
}

two_paths! {
    /// Gives a file another name. See [`std::fs::rename`].
    rename: fs::rename => ();
    /// Gives a file one more name, the second one. See [`std::fs::hard_link`].
    hard_link: fs::hard_link => ();
    /// Makes a symbolic link at the second path that leads to the first. See
    /// [`std::os::unix::fs::symlink`].
    symlink: std::os::unix::fs::symlink => ();
}

/// Changes the permissions of a file. See [`std::fs::set_permissions`]. Blocks the fibre (or
/// thread).
///
/// ```
/// let like_root = fibre::fs::metadata("/")?.permissions();
/// assert!(fibre::fs::set_permissions("/no/such/path", like_root).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of the system calls.
pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref();
    blocking(|| fs::set_permissions(path, permissions))
}
