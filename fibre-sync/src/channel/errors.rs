//! Why a value could not be sent or received. A failed sender gets its value back.

use fibre_core::{Cancelled, WaitError};
use std::error::Error;
use std::fmt;

/// The channel is closed: this value has no receiver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why [`try_send`](super::Sender::try_send) gives the value back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room now; in a rendezvous channel, no receiver waits.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

/// Why [`send_timeout`](super::Sender::send_timeout) or
/// [`send_within`](super::Sender::send_within) gives the value back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The time is over.
    TimedOut(T),
    /// The fibre has been cancelled.
    Cancelled(T),
    /// The channel is closed.
    Closed(T),
}

/// The channel is closed and empty: there will be no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError;

/// Why [`try_recv`](super::Receiver::try_recv) has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// The channel is empty now.
    Empty,
    /// The channel is closed and empty.
    Closed,
}

/// Why [`recv_timeout`](super::Receiver::recv_timeout) or
/// [`recv_within`](super::Receiver::recv_within) has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The time is over.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
    /// The channel is closed and empty.
    Closed,
}

/// No operation of a [selection](super::Select) can be carried out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrySelectError;

impl<T> SendError<T> {
    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// The methods of all errors with a value in each variant.
macro_rules! error_with_value {
    ($name:ident { $($case:ident),+ }) => {
        impl<T> $name<T> {
            /// The value.
            pub fn into_inner(self) -> T {
                match self {
                    $(Self::$case(value))|+ => value,
                }
            }

            /// Whether the channel is closed.
            pub fn is_closed(&self) -> bool {
                matches!(self, Self::Closed(_))
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$case(_) => concat!(stringify!($case), "(..)"),)+
                })
            }
        }

        impl<T> From<SendError<T>> for $name<T> {
            fn from(error: SendError<T>) -> Self {
                Self::Closed(error.0)
            }
        }

        impl<T> Error for $name<T> {}
    };
}

error_with_value!(TrySendError { Full, Closed });
error_with_value!(SendTimeoutError {
    TimedOut,
    Cancelled,
    Closed
});

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}
impl Error for TrySelectError {}

/// The error texts of a closed channel.
const SEND_CLOSED: &str = "sending into a closed channel";
const RECV_CLOSED: &str = "receiving from a closed and empty channel";

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SEND_CLOSED)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "sending into a full channel",
            Self::Closed(_) => SEND_CLOSED,
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(_) => f.write_str("timed out sending into a full channel"),
            Self::Cancelled(_) => Cancelled.fmt(f),
            Self::Closed(_) => f.write_str(SEND_CLOSED),
        }
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RECV_CLOSED)
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "receiving from an empty channel",
            Self::Closed => RECV_CLOSED,
        })
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out receiving from an empty channel"),
            Self::Cancelled => Cancelled.fmt(f),
            Self::Closed => f.write_str(RECV_CLOSED),
        }
    }
}

impl From<RecvError> for TryRecvError {
    fn from(_: RecvError) -> Self {
        Self::Closed
    }
}

impl From<RecvError> for RecvTimeoutError {
    fn from(_: RecvError) -> Self {
        Self::Closed
    }
}

impl From<WaitError> for RecvTimeoutError {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::TimedOut => Self::TimedOut,
            WaitError::Cancelled => Self::Cancelled,
        }
    }
}

impl fmt::Display for TrySelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no operation can be carried out now")
    }
}
