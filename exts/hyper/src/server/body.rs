//! The body of a request, with limits.

use crate::FibreTimer;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::rt::{Sleep, Timer};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The body of a request, as it comes. It ends with an error once it is larger, or takes longer,
/// than the [`Server`](super::Server) allows.
pub struct RequestBody {
    /// The body as hyper reads it.
    incoming: Incoming,
    /// How many more bytes it may have.
    left: u64,
    /// How long it may take, once it has to be waited for.
    time: Duration,
    /// The end of that time.
    limit: Option<Pin<Box<dyn Sleep>>>,
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody")
            .field("left", &self.left)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}

impl RequestBody {
    /// A body of at most `size` bytes, which may take so long.
    pub(super) fn new(incoming: Incoming, size: u64, time: Duration) -> Self {
        Self {
            incoming,
            left: size,
            time,
            limit: None,
        }
    }

    /// Whether it is known to be too large.
    fn is_too_large(&self) -> bool {
        self.incoming.size_hint().lower() > self.left
    }

    /// Whether the time is over; the task is woken when it is.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let limit = self
            .limit
            .get_or_insert_with(|| FibreTimer::new().sleep(self.time));
        limit.as_mut().poll(context).is_ready()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.is_too_large() {
            return Poll::Ready(Some(Err(BodyError::TooLarge)));
        }
        match Pin::new(&mut this.incoming).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let size = frame.data_ref().map_or(0, |data| data.len() as u64);
                let left = this.left.checked_sub(size);
                this.left = left.unwrap_or(0);
                let frame = left.map(|_| frame).ok_or(BodyError::TooLarge);
                Poll::Ready(Some(frame))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(BodyError::Connection(error)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending if this.is_late(context) => Poll::Ready(Some(Err(BodyError::TimedOut))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// Why a [`RequestBody`] has not come.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError {
    /// It is larger than [`Server::max_body`](super::Server::max_body).
    TooLarge,
    /// It has taken longer than [`Server::body_timeout`](super::Server::body_timeout).
    TimedOut,
    /// The connection has failed, or the client has left.
    Connection(hyper::Error),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the body of a request is too large",
            Self::TimedOut => "the body of a request has taken too long",
            Self::Connection(_) => "the connection failed in the body of a request",
        })
    }
}

impl Error for BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connection(error) => Some(error),
            Self::TooLarge | Self::TimedOut => None,
        }
    }
}
