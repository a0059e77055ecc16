//! Why a call on a raw number has failed.

use fibre_core::Cancelled;
use rustix::io::Errno;
use std::io;

/// Why a call has failed. Cancellation of the fibre is distinct from all error numbers, also from
/// `ECANCELED`, the error of timers.
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

/// For errors that have a number. Those without one come from a runtime that cannot start, and
/// become `EAGAIN`.
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
