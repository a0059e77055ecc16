//! What raw forms fail with.

use std::fmt;
use std::io;

/// Why a call has failed, in POSIX's terms.
///
/// ```
/// use fibre::sync::raw::{Error, Mutex};
///
/// let mutex = Mutex::default();
/// assert_eq!(mutex.try_lock(), Ok(()));
/// assert_eq!(mutex.try_lock(), Err(Error::Busy));
/// assert_eq!(Error::Busy.number(), libc::EBUSY);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Error {
    /// `EPERM`: the lock is not the caller's.
    NotOwner = libc::EPERM,
    /// `EAGAIN`: there is no permit, or a count has reached its end.
    Again = libc::EAGAIN,
    /// `EBUSY`: the object is in use.
    Busy = libc::EBUSY,
    /// `EINVAL`: a value is out of range, or the object has been destroyed.
    Invalid = libc::EINVAL,
    /// `EDEADLK`: the caller would wait for itself.
    Deadlock = libc::EDEADLK,
    /// `EOVERFLOW`: there would be more permits than may be.
    Overflow = libc::EOVERFLOW,
    /// `ETIMEDOUT`: the deadline has come.
    TimedOut = libc::ETIMEDOUT,
    /// `ECANCELED`: the fibre has been cancelled.
    Cancelled = libc::ECANCELED,
    /// `ENOTSUP`: the object is one of the system's library.
    Foreign = libc::ENOTSUP,
}

/// What most calls return.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// The error number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOwner => "the lock is not the caller's",
            Self::Again => "there is none left",
            Self::Busy => "the object is in use",
            Self::Invalid => "a value is out of range, or the object has been destroyed",
            Self::Deadlock => "the caller would wait for itself",
            Self::Overflow => "there would be too many permits",
            Self::TimedOut => "the deadline has come",
            Self::Cancelled => "the fibre has been cancelled",
            Self::Foreign => "the object is one of the system's library",
        })
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::from_raw_os_error(error.number())
    }
}
