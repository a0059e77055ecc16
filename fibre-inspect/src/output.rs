//! Writing to a place that perhaps nobody reads.
//!
//! A pipe that nobody reads must not block its writer for ever. So a long text is written in
//! pieces, each as soon as possible, and given up when that takes too long.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr, write};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long a reader has to take a piece.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The bytes of a piece: what a pipe takes as a whole, once it can be written to.
const PIECE: usize = 4096;

/// Why something was not written as a whole.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The kernel's reason.
    Error(Errno),
    /// Nobody read it.
    NoReader,
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => error.fmt(f),
            Self::NoReader => f.write_str("nobody reads it"),
        }
    }
}

/// The standard error of the process. If the program closes it meanwhile, nothing is written.
pub(crate) fn standard_error() -> BorrowedFd<'static> {
    // SAFETY: a number that is no owned descriptor's.
    unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) }
}

/// Writes to standard error. There is no other place where it could be said that this has failed.
pub(crate) fn write_error(text: &str) {
    write_error_within(text, TIMEOUT);
}

/// Writes to standard error, as long as somebody reads each piece within this time. Blocks the
/// thread meanwhile. `false`: not all of it was written.
pub(crate) fn write_error_within(text: &str, timeout: Duration) -> bool {
    write_within(standard_error(), text.as_bytes(), timeout).is_ok()
}

/// Whether a piece can be written to a descriptor, or will be in time. Async-signal-safe.
pub(crate) fn can_write(output: impl AsFd, timeout: Duration) -> bool {
    let mut wanted = [PollFd::new(&output, PollFlags::OUT)];
    let limit = Timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    let ready = retry_on_intr(|| poll(&mut wanted, Some(&limit)));
    ready.is_ok_and(|count| count > 0) && !wanted[0].revents().contains(PollFlags::NVAL)
}

/// Writes all bytes, as long as somebody reads them.
///
/// # Errors
///
/// The kernel's, or that nobody reads.
pub(crate) fn write_all(output: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Unwritten> {
    write_within(output, bytes, TIMEOUT)
}

/// [`write_all`] to one who takes each piece within this time.
fn write_within(
    output: BorrowedFd<'_>,
    mut bytes: &[u8],
    timeout: Duration,
) -> Result<(), Unwritten> {
    while !bytes.is_empty() {
        if !can_write(output, timeout) {
            return Err(Unwritten::NoReader);
        }
        let piece = &bytes[..bytes.len().min(PIECE)];
        match write(output, piece) {
            Ok(0) => return Err(Unwritten::NoReader),
            Ok(count) => bytes = &bytes[count..],
            // Another thread has filled the pipe since.
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(Unwritten::Error(error)),
        }
    }
    Ok(())
}
