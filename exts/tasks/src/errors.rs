//! Why there is no result of a task.

use fibre_core::{Abandoned, Cancelled};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;

/// Why a task has no result.
pub enum TaskError {
    /// It has panicked, with this payload. Its permissions have been given back.
    Panicked(Box<dyn Any + Send>),
    /// It was cancelled before it had its permissions, and has not run; or it waited when its
    /// cluster unwound what waits (see [`Cluster::stop_within`](fibre_core::Cluster::stop_within)).
    /// It has no permissions any more.
    Cancelled,
    /// It could not be started, and has not run: its cluster has been stopped, or there was no
    /// memory for it. Its permissions have been given back.
    Refused(io::Error),
    /// Its cluster was stopped without waiting for it any longer. It will never go on, and keeps
    /// the permissions that it has.
    Abandoned,
}

impl TaskError {
    /// The error of a fibre that ended like this.
    pub(crate) fn of(payload: Box<dyn Any + Send>) -> Self {
        match payload {
            payload if payload.is::<Cancelled>() => Self::Cancelled,
            payload if payload.is::<Abandoned>() => Self::Abandoned,
            payload => Self::Panicked(payload),
        }
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(_) => f.debug_tuple("Panicked").finish_non_exhaustive(),
            Self::Cancelled => f.write_str("Cancelled"),
            Self::Refused(error) => f.debug_tuple("Refused").field(error).finish(),
            Self::Abandoned => f.write_str("Abandoned"),
        }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(_) => f.write_str("the task has panicked"),
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::Refused(_) => f.write_str("the task could not be started"),
            Self::Abandoned => f.write_str("the task was left behind by its cluster"),
        }
    }
}

impl Error for TaskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Panicked(_) | Self::Cancelled | Self::Abandoned => None,
        }
    }
}
