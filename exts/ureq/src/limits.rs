//! ureq's time-outs and errors, and the runtime's.

use std::io::{self, ErrorKind};
use std::time::Instant;
use ureq::Error;
use ureq::unversioned::transport::NextTimeout;

/// The moment a time-out ends at; `None` for never.
pub(crate) fn deadline_of(timeout: NextTimeout) -> Result<Option<Instant>, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    if timeout.after.is_not_happening() {
        return Ok(None);
    }
    Ok(Instant::now().checked_add(*timeout.after))
}

/// An error of a socket in ureq's words: that of a time-out of ureq's, if that is over.
pub(crate) fn told(error: io::Error, timeout: NextTimeout, deadline: Option<Instant>) -> Error {
    let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
    match error.kind() {
        ErrorKind::TimedOut if is_over => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}
