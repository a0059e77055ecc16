//! From a handle to a file's bytes: what the paper asks an NFS server on the same machine for.
//!
//! The kernel keeps paths inside of the root: no component is a link or `..`.

use crate::front::http::page::Status;
use crate::handles::Handle;
use crate::key::Key;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// What came of reading a file.
pub(crate) struct Reading {
    /// The handles that were opened on the way.
    pub(crate) opened: Vec<(Key, Handle)>,
    pub(crate) bytes: Result<Vec<u8>, Status>,
}

/// Opens the directory that has the files.
pub(crate) fn root(path: &Path) -> io::Result<Handle> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Arc::new(openat(CWD, path, flags, Mode::empty())?))
}

/// Reads the file of the last of these prefixes, from the handle of the first `known` of them on.
/// A file of more than `most` bytes is refused. Blocks the thread.
pub(crate) fn read(mut handle: Handle, prefixes: &[Key], known: usize, most: u64) -> Reading {
    let mut opened = Vec::new();
    for (index, key) in prefixes.iter().enumerate().skip(known) {
        match open(&handle, key.name(), index + 1 == prefixes.len()) {
            Ok(next) => {
                handle = Arc::new(next);
                opened.push((key.clone(), Arc::clone(&handle)));
            }
            Err(error) => {
                let bytes = Err(refusal(error));
                return Reading { opened, bytes };
            }
        }
    }
    let bytes = read_all(&handle, most);
    Reading { opened, bytes }
}

/// Opens a file, or a directory on the way to one.
fn open(directory: &OwnedFd, name: &[u8], is_file: bool) -> rustix::io::Result<OwnedFd> {
    let kind = match is_file {
        // Not to wait for the other end of a pipe.
        true => OFlags::RDONLY | OFlags::NONBLOCK,
        false => OFlags::PATH | OFlags::DIRECTORY,
    };
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let flags = kind | OFlags::CLOEXEC;
    openat2(
        directory,
        OsStr::from_bytes(name),
        flags,
        Mode::empty(),
        inside,
    )
}

/// All bytes of a file.
fn read_all(file: &OwnedFd, most: u64) -> Result<Vec<u8>, Status> {
    let status = fstat(file).map_err(refusal)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(Status::NotFound);
    }
    let size = u64::try_from(status.st_size).unwrap_or(0);
    if size > most {
        return Err(Status::Forbidden);
    }
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(file, &mut bytes[filled..], filled as u64) {
            Ok(0) => break, // it has become shorter
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(refusal(error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Why a file cannot be had.
fn refusal(error: Errno) -> Status {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG => {
            Status::NotFound
        }
        Errno::ACCESS | Errno::PERM => Status::Forbidden,
        _ => Status::InternalError,
    }
}
