//! The sending end of a channel.

use super::errors::{SendError, SendTimeoutError, TrySendError};
use super::futures::SendFuture;
use super::shared::{Channel, Failed};
use super::state::Offered;
use fibre_core::Limit;
use fibre_core::internal::begin_within;
use fibre_core::sync::Ordering;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// The sending end of a channel; clones send into the same channel. When the last of them is
/// dropped, the channel closes: receivers get the values in it, and then an error.
///
/// ```
/// let (sender, receiver) = fibre::channel::bounded(2);
/// for i in 0..3 {
///     let sender = sender.clone();
///     fibre::spawn(move || sender.send(i).unwrap());
/// }
/// drop(sender);
/// assert_eq!(receiver.iter().sum::<i32>(), 3);
/// ```
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// A handle, already counted.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    /// The channel itself.
    pub(super) fn channel(&self) -> &Arc<Channel<T>> {
        &self.channel
    }

    /// Sends a value. Blocks the fibre, or the thread if the caller is not a fibre, while the
    /// channel is full; a rendezvous channel is full until a receiver comes. An unbounded channel
    /// never blocks it.
    ///
    /// Other fibres of the processor may run before it returns even if there is room (see
    /// [`yield_point`](fibre_core::internal::yield_point)).
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if the channel is closed or is closed meanwhile.
    #[inline]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let sent = self.channel.send(value, Limit::None);
        // Without a limit, it fails for no other reason.
        sent.map_err(|(value, _closed)| SendError(value))
    }

    /// Sends a value if there is room, or a waiting receiver. Blocks nothing.
    ///
    /// ```
    /// use fibre::channel::{TrySendError, bounded};
    ///
    /// let (sender, receiver) = bounded(1);
    /// assert!(sender.try_send(1).is_ok());
    /// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    /// drop(receiver);
    /// assert_eq!(sender.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    ///
    /// # Errors
    ///
    /// [`TrySendError`], with the value.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut value = Some(value);
        let offered = self.channel.offer(&mut value);
        match (value, offered) {
            (None, _) => Ok(()),
            (Some(value), Offered::Closed) => Err(TrySendError::Closed(value)),
            (Some(value), _) => Err(TrySendError::Full(value)),
        }
    }

    /// Like [`send`](Self::send), but gives up after `timeout`, or when the fibre is cancelled.
    /// A `timeout` of zero, and a cancelled fibre, try once.
    ///
    /// # Errors
    ///
    /// [`SendTimeoutError`], with the value.
    pub fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.send_limited(value, Limit::after(timeout))
    }

    /// Like [`send`](Self::send), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`SendTimeoutError`], with the value.
    #[inline]
    pub fn send_within(
        &self,
        value: T,
        limit: impl Into<Limit>,
    ) -> Result<(), SendTimeoutError<T>> {
        match begin_within(limit) {
            Ok(limit) => self.send_limited(value, limit),
            Err(_) => Err(SendTimeoutError::Cancelled(value)),
        }
    }

    /// The form that all with a limit share.
    fn send_limited(&self, value: T, limit: Limit) -> Result<(), SendTimeoutError<T>> {
        let sent = self.channel.send(value, limit);
        sent.map_err(|(value, failed)| match failed {
            Failed::TimedOut => SendTimeoutError::TimedOut(value),
            Failed::Cancelled => SendTimeoutError::Cancelled(value),
            Failed::Closed => SendTimeoutError::Closed(value),
        })
    }

    /// Sends as [`send`](Self::send) does, in asynchronous code of any executor. A waiting task
    /// stands in one line with fibres and threads. If the future is dropped before it has returned,
    /// the value has been sent or is dropped with it.
    ///
    /// ```
    /// let (sender, receiver) = fibre::channel::bounded(1);
    /// let fibre = fibre::spawn(move || receiver.iter().sum::<u32>());
    /// fibre::block_on(async move {
    ///     for number in 1..=10 {
    ///         sender.send_async(number).await.unwrap();
    ///     }
    /// });
    /// assert_eq!(fibre.join().unwrap(), 55);
    /// ```
    ///
    /// # Errors
    ///
    /// The future fails with [`SendError`], with the value, if the channel is closed or is closed
    /// meanwhile.
    pub fn send_async(&self, value: T) -> SendFuture<'_, T> {
        SendFuture::new(&self.channel, value)
    }

    /// Whether both send into the same channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.channel.senders.fetch_add(1, Ordering::Relaxed);
        Self::new(Arc::clone(&self.channel))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.channel.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.channel.close();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.channel.describe("Sender", f)
    }
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

super::ends::what_both_ends_tell!(Sender);
