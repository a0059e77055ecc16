//! Why fibres cannot have thread-locals of their own.

use crate::stack::error::StackError;
use rustix::io::Errno;
use std::io;

/// Why fibres cannot have thread-locals of their own.
#[derive(Debug)]
pub(super) enum InitError {
    /// This process lacks something.
    Lacks(String),
    /// The kernel, or the C library, has refused something that it may grant the next time.
    Refused(io::Error),
}

impl From<&str> for InitError {
    fn from(words: &str) -> Self {
        Self::Lacks(words.to_owned())
    }
}

impl From<io::Error> for InitError {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Errno> for InitError {
    fn from(error: Errno) -> Self {
        Self::Refused(error.into())
    }
}

impl From<StackError> for InitError {
    fn from(error: StackError) -> Self {
        Self::Refused(match error {
            StackError::NoThread(errno) => io::Error::from_raw_os_error(errno),
            other => other.into(),
        })
    }
}
