//! The error of calls in a cancelled fibre: a type that models have, too.

use std::fmt;
use std::io;

/// The error of calls in a cancelled fibre. As an [`io::Error`] it is `ECANCELED`, for which std
/// has no stable kind: [`is_cancelled_error`] knows it.
///
/// ```
/// use std::io;
///
/// let error = io::Error::from(fibre::Cancelled);
/// assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
/// assert!(fibre::is_cancelled_error(&error));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fibre has been cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// Whether an I/O call has failed because its fibre was cancelled: before the call began, or while
/// it waited. Every I/O call that cancellation ends fails with such an error.
///
/// ```
/// use std::io::Read;
///
/// let (mut reader, _writer) = fibre::io::pipe()?;
/// let fibre = fibre::spawn(move || reader.read(&mut [0; 8]));
/// fibre.cancel();
/// let error = fibre.join().unwrap().unwrap_err();
/// assert!(fibre::is_cancelled_error(&error));
/// assert!(!fibre::is_cancelled_error(&std::io::ErrorKind::TimedOut.into()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// The kernel gives the same number to operations of its own that were cancelled. None of the calls
/// here makes such operations, but an error that comes from elsewhere may be of that kind. An
/// [`io::Error`] with [`Cancelled`] as its inner error is recognised, too.
#[must_use]
pub fn is_cancelled_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECANCELED)
        || error.get_ref().is_some_and(|inner| inner.is::<Cancelled>())
}

impl From<Cancelled> for io::Error {
    fn from(_: Cancelled) -> Self {
        Self::from_raw_os_error(libc::ECANCELED)
    }
}
