//! Why a group has failed.

use std::error::Error;
use std::fmt;

/// Why a [`group`](crate::group()) has failed: the first cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupError<E> {
    /// A fibre, or the body, has returned this error.
    Failed(E),
    /// The time of the group, or of a limit around it, was over.
    TimedOut,
    /// The group, or the fibre that waited for it, was cancelled.
    Cancelled,
}

impl<E> GroupError<E> {
    /// The error of a fibre or of the body.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Failed(error) => Some(error),
            Self::TimedOut | Self::Cancelled => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for GroupError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut => f.write_str("the time of the group was over"),
            Self::Cancelled => f.write_str("the group has been cancelled"),
        }
    }
}

impl<E: Error + 'static> Error for GroupError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::TimedOut | Self::Cancelled => None,
        }
    }
}
