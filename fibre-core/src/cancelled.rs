//! What calls fail with in a fibre that has been cancelled: a type that models have, too.

use std::fmt;
use std::io;

/// What calls fail with in a fibre that has been cancelled. As an [`io::Error`] it is
/// `ECANCELED`.
///
/// ```
/// use std::io;
///
/// let error = io::Error::from(fibre_core::Cancelled);
/// assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fibre has been cancelled")
    }
}

impl std::error::Error for Cancelled {}

impl From<Cancelled> for io::Error {
    fn from(_: Cancelled) -> Self {
        Self::from_raw_os_error(libc::ECANCELED)
    }
}
