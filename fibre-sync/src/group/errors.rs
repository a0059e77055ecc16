//! Why a group has failed, or one fibre.

use fibre_core::Cancelled;
use std::any::Any;
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
            Self::Cancelled => Some(&Cancelled),
            Self::TimedOut => None,
        }
    }
}

/// How a fibre has failed by itself: an item of the results of a [`Supervisor`](crate::Supervisor).
pub enum FibreError<E> {
    /// It has returned this error.
    Failed(E),
    /// It has panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
}

impl<E> FibreError<E> {
    /// The error that it has returned.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Panicked(_) => None,
        }
    }

    /// What it has panicked with, if that is a text.
    fn panic_text(&self) -> Option<&str> {
        let Self::Panicked(payload) = self else {
            return None;
        };
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied())
    }
}

impl<E: fmt::Debug> fmt::Debug for FibreError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => f.debug_tuple("Failed").field(error).finish(),
            Self::Panicked(_) => {
                let text = self.panic_text().unwrap_or("…");
                f.debug_tuple("Panicked").field(&text).finish()
            }
        }
    }
}

impl<E: fmt::Display> fmt::Display for FibreError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Panicked(_) => match self.panic_text() {
                Some(text) => write!(f, "the fibre has panicked: {text}"),
                None => f.write_str("the fibre has panicked"),
            },
        }
    }
}

impl<E: Error + 'static> Error for FibreError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Panicked(_) => None,
        }
    }
}
