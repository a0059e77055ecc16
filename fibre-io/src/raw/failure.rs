//! Why a call on a raw number has failed.

use fibre_core::Cancelled;
use rustix::io::Errno;
use std::io;

/// Why a call has failed. That its fibre has been cancelled is told apart from all error numbers, `ECANCELED`
/// included, which timers fail with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The kernel's error, or one that it would give.
    Errno(Errno),
    /// The fibre has been cancelled.
    Cancelled,
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Of errors that have a number; those without one are of a runtime that cannot start, `EAGAIN`.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Errno(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Errno(errno) => errno.into(),
            Failure::Cancelled => Cancelled.into(),
        }
    }
}
