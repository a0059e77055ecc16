//! A channel for one value, such as an answer.
//!
//! It is a channel with room for one value. Sending consumes the sending end, so it never blocks.

use super::errors::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use super::futures::RecvFuture;
use super::receiver::Receiver;
use super::sender::Sender;
use fibre_core::Limit;
use std::time::Duration;

/// The sending end of a channel for one value. Dropping it closes the channel.
///
/// ```
/// let (sender, receiver) = fibre::channel::oneshot::<u32>();
/// drop(sender);
/// assert!(receiver.recv().is_err());
/// ```
#[derive(Debug)]
pub struct OneshotSender<T>(Sender<T>);

/// The receiving end of a channel for one value. As a [`Receiver`] ([`AsRef`]) it takes part in
/// a [selection](super::Select).
///
/// ```
/// use std::time::Duration;
///
/// let (sender, receiver) = fibre::channel::oneshot();
/// assert!(receiver.recv_timeout(Duration::ZERO).is_err());
/// sender.send(42).unwrap();
/// assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(42));
/// ```
#[derive(Debug)]
pub struct OneshotReceiver<T>(Receiver<T>);

impl<T> OneshotSender<T> {
    /// Wraps one end of a new channel.
    pub(super) fn new(sender: Sender<T>) -> Self {
        Self(sender)
    }

    /// Sends the value. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if the receiving end is gone.
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        // There is room for it.
        let sent = self.0.try_send(value);
        sent.map_err(|error| SendError(error.into_inner()))
    }

    /// Whether the value can no longer be received.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<T> OneshotReceiver<T> {
    /// Wraps one end of a new channel.
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        Self(receiver)
    }

    /// Receives the value. Blocks the fibre, or the thread if the caller is not a fibre, until
    /// it is sent.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if it will not be sent.
    pub fn recv(self) -> Result<T, RecvError> {
        self.0.recv()
    }

    /// Receives the value as [`recv`](Self::recv) does, in asynchronous code: see
    /// [`Receiver::recv_async`].
    ///
    /// ```
    /// let (sender, receiver) = fibre::channel::oneshot();
    /// fibre::spawn(move || sender.send("done"));
    /// assert_eq!(fibre::block_on(receiver.recv_async()), Ok("done"));
    /// ```
    ///
    /// # Errors
    ///
    /// The future fails with [`RecvError`] if the value will not be sent, or has been received.
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        self.0.recv_async()
    }

    /// Receives the value if it has been sent. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`TryRecvError`]; also if the value has been received already.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.0.try_recv()
    }

    /// Like [`recv`](Self::recv), but gives up after `timeout`, or when the fibre is cancelled. A
    /// `timeout` of zero, and a cancelled fibre, try once.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`]; also if the value has been received already.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.0.recv_timeout(timeout)
    }

    /// Like [`recv`](Self::recv), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`]; also if the value has been received already.
    #[inline]
    pub fn recv_within(&self, limit: impl Into<Limit>) -> Result<T, RecvTimeoutError> {
        self.0.recv_within(limit)
    }

    /// Refuses the value: the sender gets it back, unless it was sent already.
    pub fn close(&self) {
        self.0.close();
    }
}

impl<T> AsRef<Receiver<T>> for OneshotReceiver<T> {
    fn as_ref(&self) -> &Receiver<T> {
        &self.0
    }
}
