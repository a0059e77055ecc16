//! Why a value could not be sent or received. A failed sender gets its value back.

use fibre_core::Cancelled;
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

/// Why [`send_until`](super::Sender::send_until), or a form like it, gives the value back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The deadline came first.
    TimedOut(T),
    /// The fibre has been cancelled.
    Cancelled(T),
    /// The channel is closed.
    Closed(T),
}

/// Why [`send_cancellable`](super::Sender::send_cancellable) gives the value back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendCancellableError<T> {
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

/// Why [`recv_until`](super::Receiver::recv_until), or a form like it, has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The deadline came first.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
    /// The channel is closed and empty.
    Closed,
}

/// Why [`recv_cancellable`](super::Receiver::recv_cancellable) has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvCancellableError {
    /// The fibre has been cancelled.
    Cancelled,
    /// The channel is closed and empty.
    Closed,
}

/// No operation of a [selection](super::Select) can be carried out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrySelectError;

/// Why a [selection](super::Select) with a deadline has carried out no operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectTimeoutError {
    /// The deadline came first.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
}

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
error_with_value!(SendCancellableError { Cancelled, Closed });

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}
impl Error for RecvCancellableError {}
impl Error for TrySelectError {}
impl Error for SelectTimeoutError {}

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

impl<T> fmt::Display for SendCancellableError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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

impl fmt::Display for RecvCancellableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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

impl From<RecvError> for RecvCancellableError {
    fn from(_: RecvError) -> Self {
        Self::Closed
    }
}

impl fmt::Display for TrySelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no operation can be carried out now")
    }
}

impl fmt::Display for SelectTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out waiting for one of several operations"),
            Self::Cancelled => Cancelled.fmt(f),
        }
    }
}
