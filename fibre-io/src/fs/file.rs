//! An open file.

use super::in_place::{InPlace, checked};
use super::patient::{self, Kind, PATIENT};
use super::{FileTimes, Metadata, Permissions, TryLockError};
use crate::copy::{CopyFrom, Origin};
use crate::forward::{reads_as_reference, writes_as_reference};
use crate::ring::WaitingRead;
use fibre_core::{blocking, in_fibre};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

/// An open file. See [`std::fs::File`]; `&File` reads, writes and seeks, too. Unless said
/// otherwise, calls block the fibre, or the thread if the caller is no fibre.
///
/// A call costs some ten microseconds, as another thread makes it; a read of cached pages costs
/// less than one. When eight reads at offsets wait for the disk at once, further ones go to the
/// kernel by io_uring, and take no thread (`FIBRE_FILE_RING`). If only a part is cached,
/// [`read`](Read::read) returns that, as `Read` allows. The bytes that it returns are contiguous in
/// the file, whoever else reads through this handle.
/// For small pieces use [`std::io::BufReader`] and [`std::io::BufWriter`].
///
/// ```
/// use std::io::{Read, Seek, Write};
///
/// let path = std::env::temp_dir().join(format!("fibre-file-{}", std::process::id()));
/// let mut options = fibre::fs::OpenOptions::new();
/// let mut file = options.read(true).write(true).create_new(true).open(&path)?;
/// file.write_all(b"to be read again")?;
/// file.rewind()?;
/// let mut text = String::new();
/// file.read_to_string(&mut text)?;
/// assert_eq!(text, "to be read again");
/// fibre::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct File {
    file: fs::File,
    in_place: InPlace,
    kind: Kind,
}

/// Calls of [`std::fs::File`] that are just made elsewhere.
macro_rules! elsewhere {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// Those of the system calls.
        pub fn $name(&self, $($argument: $type),*) -> $result {
            blocking(|| self.file.$name($($argument),*))
        }
    )*};
}

impl File {
    /// Opens a file for reading. A named pipe opens when another caller opens it for writing.
    /// Meanwhile a thread waits, too, which does not count among those of [`blocking`].
    ///
    /// # Errors
    ///
    /// Those of `open`.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        patient::at(path, || fs::File::open(path)).map(Self::from)
    }

    /// Opens a file for writing; creates or empties it.
    ///
    /// # Errors
    ///
    /// Those of `open`.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        patient::at(path, || fs::File::create(path)).map(Self::from)
    }

    /// Creates a file for reading and writing; it must not exist yet.
    ///
    /// # Errors
    ///
    /// Those of `open`.
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        blocking(|| fs::File::create_new(path)).map(Self::from)
    }

    elsewhere! {
        /// Waits until contents and attributes are on the disk.
        sync_all() -> io::Result<()>;
        /// Waits until the contents are on the disk.
        sync_data() -> io::Result<()>;
        /// Cuts the file off, or extends it by zeros.
        set_len(bytes: u64) -> io::Result<()>;
        /// What is known of the file.
        metadata() -> io::Result<Metadata>;
        /// Changes the file's permissions.
        set_permissions(permissions: Permissions) -> io::Result<()>;
        /// Changes when it is said to have been used.
        set_times(times: FileTimes) -> io::Result<()>;
        /// Changes when it is said to have been changed.
        set_modified(time: SystemTime) -> io::Result<()>;
        /// Locks the file unless it is locked.
        try_lock() -> Result<(), TryLockError>;
        /// Takes a shared lock of the file unless it is locked exclusively.
        try_lock_shared() -> Result<(), TryLockError>;
        /// Ends the lock.
        unlock() -> io::Result<()>;
    }

    /// Waits until the file is not locked, and locks it. Meanwhile a thread waits, too. It does not
    /// count among those of [`blocking`], so the holder of the lock finds a thread to unlock with.
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn lock(&self) -> io::Result<()> {
        match self.try_lock() {
            Err(TryLockError::WouldBlock) => PATIENT.run(|| self.file.lock()),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    /// Waits until the file is not locked exclusively, and takes a shared lock. A thread waits,
    /// too, as in [`lock`](Self::lock).
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn lock_shared(&self) -> io::Result<()> {
        match self.try_lock_shared() {
            Err(TryLockError::WouldBlock) => PATIENT.run(|| self.file.lock_shared()),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    /// A second handle to the same open file, with the same position. Blocks nothing.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        let mut clone = self.file.try_clone().map(Self::from)?;
        self.kind.has_others(&self.file);
        clone.kind = self.kind.clone();
        Ok(clone)
    }

    /// The file as std's. Blocks nothing.
    #[must_use]
    pub fn into_std(self) -> fs::File {
        self.file
    }

    /// Reads what is not cached.
    fn read_at_and_wait(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (read, fd) = (WaitingRead::begin(), self.file.as_fd());
        if read.is_one_of_many() && self.in_place.ends(fd) {
            let whole = IoSliceMut::new(buffer);
            // SAFETY: it has the form of the kernel's, and nobody else uses the buffer.
            let read = unsafe { read.on_ring(fd, (&raw const whole).cast(), 1, offset) };
            if let Some(count) = read {
                return Ok(count);
            }
        }
        blocking(|| self.file.read_at(buffer, offset))
    }

    /// Makes a call elsewhere that uses the file's position.
    fn positioned<R: Send>(&self, call: impl FnOnce(&mut &fs::File) -> R + Send) -> R {
        let _away = self.in_place.send_away();
        self.kind.call(&self.file, || call(&mut &self.file))
    }
}

impl CopyFrom for File {
    fn origin(&self) -> Origin<'_> {
        Origin::File(self.as_fd())
    }

    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut whole = [IoSliceMut::new(buffer)];
        match self.in_place.read(self.file.as_fd(), &mut whole, None) {
            Some(count) => Ok(count),
            None => self.positioned(|file| file.read(buffer)),
        }
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self.in_place.read(self.file.as_fd(), buffers, None) {
            Some(count) => Ok(count),
            None => self.positioned(|file| file.read_vectored(buffers)),
        }
    }

    fn read_to_end(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.positioned(|file| file.read_to_end(buffer))
    }

    fn read_to_string(&mut self, buffer: &mut String) -> io::Result<usize> {
        self.positioned(|file| file.read_to_string(buffer))
    }
}

impl Write for &File {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.positioned(|file| file.write(buffer))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.positioned(|file| file.write_vectored(buffers))
    }

    fn write_all(&mut self, buffer: &[u8]) -> io::Result<()> {
        self.positioned(|file| file.write_all(buffer))
    }

    /// Does nothing: the file has no buffer of its own.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    /// Only a seek from the end asks the file system, and blocks.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let known = !matches!(to, SeekFrom::End(_)) && self.in_place.may_use_position();
        match to {
            SeekFrom::Start(offset) if known && in_fibre() => {
                seek_in_place(self.file.as_fd(), rustix::fs::SeekFrom::Start(offset))
            }
            SeekFrom::Current(offset) if known && in_fibre() => {
                seek_in_place(self.file.as_fd(), rustix::fs::SeekFrom::Current(offset))
            }
            _ => self.positioned(|file| file.seek(to)),
        }
    }
}

/// Sets the position, which is a number of the kernel's.
fn seek_in_place(fd: BorrowedFd<'_>, to: rustix::fs::SeekFrom) -> io::Result<u64> {
    Ok(rustix::fs::seek(fd, to)?)
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let at = checked(offset)?;
        let mut whole = [IoSliceMut::new(buffer)];
        match self.in_place.read(self.file.as_fd(), &mut whole, at) {
            Some(count) => Ok(count),
            None => self.read_at_and_wait(buffer, offset),
        }
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        blocking(|| self.file.write_at(buffer, offset))
    }

    fn write_all_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        blocking(|| self.file.write_all_at(buffer, offset))
    }
}

reads_as_reference!(File);
writes_as_reference!(File);

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

impl From<fs::File> for File {
    fn from(file: fs::File) -> Self {
        Self {
            file,
            in_place: InPlace::default(),
            kind: Kind::default(),
        }
    }
}

impl From<File> for fs::File {
    fn from(file: File) -> Self {
        file.into_std()
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> Self {
        fs::File::from(fd).into()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        file.into_std().into()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::dup2;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;
    use std::thread;

    /// A caller that asked again would wait for the calls that are under way, and keep all others
    /// of its processor waiting.
    #[test]
    fn what_a_file_is_is_asked_once() {
        let looks = || {
            let file = File::from(fs::File::open("/proc/self/exe").unwrap());
            let name = |_: &mut &fs::File| thread::current().name().map(str::to_owned);
            let first = file.positioned(name).unwrap();
            assert!(!first.starts_with("fibre-wait"), "{first}");
            // Something else has its number.
            let (reader, _writer) = std::io::pipe().unwrap();
            // SAFETY: it is owned by `file`, and not dropped here.
            let number = unsafe { OwnedFd::from_raw_fd(file.as_raw_fd()) };
            dup2(&reader, &mut ManuallyDrop::new(number)).unwrap();
            for same in [&file, &file.try_clone().unwrap()] {
                let later = same.positioned(name).unwrap();
                assert!(!later.starts_with("fibre-wait"), "{later}");
            }
        };
        fibre_core::spawn(looks).join().unwrap();
    }
}
