//! How files are opened and directories are made.

use super::{File, patient};
use fibre_core::blocking;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// How a file is opened. See [`std::fs::OpenOptions`].
///
/// ```
/// use fibre::fs::OpenOptions;
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("fibre-options-{}", std::process::id()));
/// let mut log = OpenOptions::new().create(true).append(true).open(&path)?;
/// log.write_all(b"one more line\n")?;
/// fibre::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenOptions(fs::OpenOptions);

/// The switches of [`std::fs::OpenOptions`].
macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, yes: bool) -> &mut Self {
            self.0.$name(yes);
            self
        }
    )*};
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// All options are off.
    #[must_use]
    pub fn new() -> Self {
        Self(fs::OpenOptions::new())
    }

    switches! {
        /// Whether the file can be read.
        read;
        /// Whether it can be written.
        write;
        /// Whether all writes go to its end.
        append;
        /// Whether what it holds is removed.
        truncate;
        /// Whether it is made if it is not there.
        create;
        /// Whether it must not be there, and is made.
        create_new;
    }

    /// Opens the file. Blocks the fibre (or thread); a named pipe as in [`File::open`].
    ///
    /// # Errors
    ///
    /// Those of `open`.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        patient::at(path, || self.0.open(path)).map(File::from)
    }
}

impl File {
    /// How to open a file in another way than [`File::open`] and its kin.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut Self {
        self.0.mode(mode);
        self
    }

    fn custom_flags(&mut self, flags: i32) -> &mut Self {
        self.0.custom_flags(flags);
        self
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> Self {
        Self(options)
    }
}

/// How directories are made. See [`std::fs::DirBuilder`].
///
/// ```
/// fibre::fs::DirBuilder::new().recursive(true).create("/")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct DirBuilder(fs::DirBuilder);

impl Default for DirBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl DirBuilder {
    /// One directory, with all permissions that the process's mask admits.
    #[must_use]
    pub fn new() -> Self {
        Self(fs::DirBuilder::new())
    }

    /// Whether missing parent directories are created, too.
    pub fn recursive(&mut self, yes: bool) -> &mut Self {
        self.0.recursive(yes);
        self
    }

    /// Creates the directory. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of `mkdir`.
    pub fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        blocking(|| self.0.create(path))
    }
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, mode: u32) -> &mut Self {
        self.0.mode(mode);
        self
    }
}
