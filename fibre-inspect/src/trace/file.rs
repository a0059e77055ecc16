//! The file of a trace, and the messages about it on standard error.
//!
//! A trace replaces an earlier one once it is complete: it is written beside that, and then
//! renamed. Some targets are written directly: a pipe, a device, a link that the user has named,
//! and a file in a folder that takes no others. If the user gives no name, anybody who may write to
//! the folder can predict it, so no link of that name is followed.

use super::format::write;
use crate::descriptors::with_own_descriptors;
use crate::output::{Unwritten, can_write, standard_error, write_all};
use fibre_core::internal::{Count, trace_setting, warn};
use fibre_core::sync::thread_mutex::Mutex;
use rustix::fs::{Mode, OFlags, open, rename, unlink};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a writer waits for the one before it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two traces that the watch has written for processors which do not switch.
const BETWEEN: Duration = Duration::from_mins(1);

/// Held by whoever writes the file; says when the watch last did.
static WRITING: Mutex<Option<Instant>> = Mutex::new(None);

/// Why a trace was not written as a whole.
fn reason(error: &io::Error) -> String {
    match error.get_ref() {
        Some(reason) => reason.to_string(),
        None => match error.raw_os_error() {
            // Without the number, as elsewhere.
            Some(number) => rustix::io::Errno::from_raw_os_error(number).to_string(),
            None => error.to_string(),
        },
    }
}

/// A descriptor that somebody may read, or nobody.
struct Output<'a>(BorrowedFd<'a>);

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match write_all(self.0, bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(Unwritten::Error(error)) => Err(error.into()),
            Err(reason @ Unwritten::NoReader) => Err(io::Error::other(reason.to_string())),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file that `FIBRE_TRACE` names, or one with the number of the process.
fn path() -> (PathBuf, Name) {
    match trace_setting().and_then(|setting| setting.file.clone()) {
        Some(named) => (named, Name::Chosen),
        None => {
            let default = format!("fibre-{}.trace", std::process::id());
            (default.into(), Name::Default)
        }
    }
}

/// Where the name of a file is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// From the user, who may want a link or a pipe.
    Chosen,
    /// From the number of the process.
    Default,
}

/// A file that a trace is being written to.
#[derive(Debug)]
struct Target {
    file: OwnedFd,
    /// The name it has until it is whole; `None`: it has its own.
    beside: Option<PathBuf>,
}

impl Target {
    /// Opens a file for a trace that is to be at `path`.
    fn open(path: &Path, name: Name) -> io::Result<Self> {
        let kind = path.symlink_metadata().map(|there| there.file_type());
        let is_plain = kind.map_or(true, |kind| kind.is_file());
        if !is_plain && name == Name::Chosen {
            return Self::in_place(path);
        }
        match Self::beside(path) {
            Err(error) if takes_no_file(&error) && name == Name::Chosen => Self::in_place(path),
            result => result,
        }
    }

    /// Opens what is there, or a new file.
    fn in_place(path: &Path) -> io::Result<Self> {
        // A pipe that nobody reads is an error, and not to be waited for.
        let file = open(path, FLAGS | OFlags::TRUNC | OFlags::NONBLOCK, MODE)?;
        Ok(Self { file, beside: None })
    }

    /// Opens a new file in the same folder.
    fn beside(path: &Path) -> io::Result<Self> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}.new", std::process::id()));
        // One of a process that had this number, and was killed.
        let _ = unlink(&beside);
        let file = open(&beside, FLAGS | OFlags::EXCL | OFlags::NOFOLLOW, MODE)?;
        let beside = Some(beside.into());
        Ok(Self { file, beside })
    }

    /// Gives the file its name, if it has been written, and else takes it away.
    fn finish<T>(self, path: &Path, written: io::Result<T>) -> io::Result<T> {
        let Some(beside) = self.beside else {
            return written;
        };
        let result = written.and_then(|written| {
            rename(&beside, path)?;
            Ok(written)
        });
        if result.is_err() {
            let _ = unlink(&beside);
        }
        result
    }
}

/// How a file is opened.
const FLAGS: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::CLOEXEC);

/// The user alone may read and write a new file.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Whether an error is about a folder where nothing may be created.
fn takes_no_file(error: &io::Error) -> bool {
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    kinds.contains(&error.kind())
}

/// Writes the trace to its file, and says so, or why not. Blocks the thread.
pub(super) fn write_file() {
    match WRITING.try_lock_for(TIMEOUT) {
        Some(_writing) => drop(with_own_descriptors(write_and_say)),
        None => say("a trace is not written: the one before it is still being written"),
    }
}

/// [`write_file`], for the holder of [`WRITING`]; whether the trace is in its file.
fn write_and_say() -> bool {
    let (path, name) = path();
    let written = Target::open(&path, name).and_then(|target| {
        let written = write(&mut Output(target.file.as_fd()));
        target.finish(&path, written)
    });
    match &written {
        Ok(written) => say(&format!(
            "a trace of {} of {} is in {path:?}",
            Count(written.events, "event"),
            Count(written.processors, "processor")
        )),
        Err(error) => say(&format!(
            "a trace could not be written to {path:?}: {}",
            reason(error)
        )),
    }
    written.is_ok()
}

/// Writes the trace after a report of the watch, if events are recorded. Reports of processors that
/// do not switch may follow each other closely: `seldom` leaves out what would come within a minute
/// of one that was written.
pub(crate) fn write_after_report(seldom: bool) {
    if trace_setting().is_none() {
        return;
    }
    if !seldom {
        return write_file();
    }
    let now = Instant::now();
    let Some(mut last) = WRITING.try_lock_for(TIMEOUT) else {
        return;
    };
    let is_due = last.is_none_or(|last| now - last >= BETWEEN);
    if is_due && with_own_descriptors(write_and_say) {
        *last = Some(now);
    }
}

/// Says something on standard error, if that can be written to at once.
fn say(words: &str) {
    if can_write(standard_error(), Duration::ZERO) {
        warn(format_args!("{words}"));
    }
}

/// Says that SIGUSR2 belongs to the program.
pub(super) fn say_signal_is_handled() {
    say("the program handles SIGUSR2: traces are written by calls and after reports only");
}
