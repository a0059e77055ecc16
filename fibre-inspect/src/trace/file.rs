//! The file that a trace is written to, and what is said of it on standard error.

use super::format::write;
use crate::output::{Unwritten, can_write, standard_error, write_all};
use fibre_core::internal::{trace_setting, warn};
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, open};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a writer waits for the one before it.
const PATIENCE: Duration = Duration::from_secs(10);

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
fn path() -> PathBuf {
    let named = trace_setting().and_then(|setting| setting.file.clone());
    named.unwrap_or_else(|| format!("fibre-{}.trace", std::process::id()).into())
}

/// Opens the file, in place of what it had.
fn create() -> io::Result<OwnedFd> {
    // A pipe that nobody reads is an error, and not to be waited for.
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(open(path(), flags, Mode::RUSR | Mode::WUSR)?)
}

/// Writes the trace to its file, and says so, or why not. Blocks the thread.
pub(super) fn write_file() {
    let Some(_writing) = WRITING.try_lock_for(PATIENCE) else {
        return say("a trace is not written: the one before it is still being written");
    };
    let written = create().and_then(|file| write(&mut Output(file.as_fd())));
    let path = path();
    match written {
        Ok(written) => say(&format!(
            "a trace of {} events of {} processors is in {path:?}",
            written.events, written.processors
        )),
        Err(error) => say(&format!(
            "a trace could not be written to {path:?}: {}",
            reason(&error)
        )),
    }
}

/// Writes the trace after a report of the watch, if events are recorded. Reports of processors that
/// do not switch may follow each other closely: `seldom` leaves out what would come within a
/// minute.
pub(crate) fn write_after_report(seldom: bool) {
    if trace_setting().is_none() {
        return;
    }
    if seldom {
        let now = Instant::now();
        let Some(mut last) = WRITING.try_lock_for(PATIENCE) else {
            return;
        };
        if last.is_some_and(|last| now - last < BETWEEN) {
            return;
        }
        *last = Some(now);
    }
    write_file();
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
