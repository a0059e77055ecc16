//! From a path to the bytes of a file under the root.
//!
//! The kernel keeps paths inside: `openat2` with `RESOLVE_BENEATH` fails where
//! `..` or a symbolic link would lead out of the root, whatever is renamed
//! meanwhile. Paths must arrive decoded and without a slash at the front.
//!
//! The file system can block a kernel thread for long, so every use of it runs
//! in `fibre::blocking`, and only the fibre waits. A small file costs one such
//! excursion, a large one another for each further [`CHUNK`].

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::response::Status;

/// The most bytes read from a file at a time.
const CHUNK: u64 = 64 * 1024;

/// The file that stands for its directory.
const INDEX: &str = "index.html";

/// The page served when there is no root.
const BUILT_IN_PAGE: &str = include_str!("index.html");

/// What the server has to show.
pub(crate) enum Files {
    /// One page, built in.
    BuiltIn,
    /// The files under this directory.
    Root(Arc<OwnedFd>),
}

/// A file that was found, and its first bytes.
pub(crate) struct Content {
    /// Its media type.
    pub(crate) kind: &'static str,
    /// Its length when it was opened.
    pub(crate) length: u64,
    /// Its first bytes, all of them if the file is small.
    pub(crate) start: Vec<u8>,
    /// Where the others are; `None` if there are no others.
    pub(crate) rest: Option<Rest>,
}

/// The part of a file that has not been read.
pub(crate) struct Rest {
    /// The file, positioned where that part starts.
    file: File,
    /// Bytes in that part.
    left: u64,
}

impl Files {
    /// The files under `root`, or the built-in page.
    pub(crate) fn new(root: Option<&Path>) -> io::Result<Self> {
        let Some(root) = root else {
            return Ok(Self::BuiltIn);
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
        Ok(Self::Root(Arc::new(root)))
    }

    /// Opens the file at `path` and reads its start; blocks the fibre.
    pub(crate) fn find(&self, path: Vec<u8>) -> Result<Content, Status> {
        match self {
            Self::BuiltIn if matches!(&*path, b"" | b"index.html") => Ok(built_in()),
            Self::BuiltIn => Err(Status::NotFound),
            Self::Root(root) => {
                let root = Arc::clone(root);
                fibre::blocking(move || read_start(&root, &path)).map_err(|error| refusal(&error))
            }
        }
    }
}

impl Rest {
    /// Reads the next bytes in place of those in `chunk` and returns both, with
    /// what is left after them; blocks the fibre.
    pub(crate) fn next(self, mut chunk: Vec<u8>) -> io::Result<(Vec<u8>, Option<Self>)> {
        fibre::blocking(move || {
            chunk.clear();
            let rest = self.read(&mut chunk)?;
            Ok((chunk, rest))
        })
    }

    /// Appends up to [`CHUNK`] bytes; fails if the file has become shorter.
    fn read(mut self, chunk: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let wanted = self.left.min(CHUNK);
        let count = self.file.by_ref().take(wanted).read_to_end(chunk)? as u64;
        if count < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count;
        Ok((self.left > 0).then_some(self))
    }
}

/// The page for a server without a root.
fn built_in() -> Content {
    Content {
        kind: media_type(Path::new(INDEX)),
        length: BUILT_IN_PAGE.len() as u64,
        start: BUILT_IN_PAGE.into(),
        rest: None,
    }
}

/// Opens a file, or the index of a directory, and reads its start.
fn read_start(root: &OwnedFd, path: &[u8]) -> io::Result<Content> {
    let mut path = PathBuf::from(if path.is_empty() {
        OsStr::new(".")
    } else {
        OsStr::from_bytes(path)
    });
    let mut file = open_beneath(root, &path)?;
    if file.metadata()?.is_dir() {
        file = open_beneath(&file, Path::new(INDEX))?;
        path.push(INDEX);
    }
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let length = metadata.len();
    let mut start = Vec::with_capacity(length.min(CHUNK) as usize);
    let rest = Rest { file, left: length }.read(&mut start)?;
    Ok(Content {
        kind: media_type(&path),
        length,
        start,
        rest,
    })
}

/// Opens what `path` names, provided that lies beneath `root`. Does not wait
/// for the other end of a pipe.
fn open_beneath(root: impl AsFd, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(root, path, flags, Mode::empty(), inside)?;
    Ok(File::from(file))
}

/// The status for a file that could not be read. It does not tell a file that
/// is out of reach from one that does not exist.
fn refusal(error: &io::Error) -> Status {
    const ABSENT: &[Errno] = &[
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::XDEV,
        Errno::LOOP,
        Errno::NAMETOOLONG,
        Errno::ACCESS,
        Errno::PERM,
        Errno::NXIO,
    ];
    const PASSING: &[Errno] = &[Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN];
    match Errno::from_io_error(error) {
        Some(errno) if ABSENT.contains(&errno) => Status::NotFound,
        Some(errno) if PASSING.contains(&errno) => Status::Unavailable,
        None if error.kind() == io::ErrorKind::NotFound => Status::NotFound,
        _ => Status::InternalError,
    }
}

/// The media type that a file's suffix stands for.
fn media_type(path: &Path) -> &'static str {
    let suffix = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    match suffix.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "txt" | "log" => "text/plain; charset=utf-8",
        "md" => "text/markdown; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" | "map" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => "application/octet-stream",
    }
}
