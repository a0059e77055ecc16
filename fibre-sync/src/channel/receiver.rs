//! The receiving end of a channel.

use super::errors::{RecvError, RecvTimeoutError, TryRecvError};
use super::futures::RecvFuture;
use super::shared::{Channel, Failed};
use super::state::Taken;
use fibre_core::Limit;
use fibre_core::internal::begin_within;
use fibre_core::sync::Ordering;
use std::fmt;
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// The receiving end of a channel; clones receive from the same channel, and each value goes to one
/// of them. When the last of them is dropped, the channel closes: blocked senders get their values
/// back, and the values in the channel are dropped.
///
/// ```
/// let (sender, receiver) = fibre::channel::unbounded();
/// let workers: Vec<_> = (0..3)
///     .map(|_| {
///         let receiver = receiver.clone();
///         fibre::spawn(move || receiver.iter().sum::<u32>())
///     })
///     .collect();
/// (1..=10).for_each(|i| sender.send(i).unwrap());
/// drop(sender);
/// let sums = workers.into_iter().map(|worker| worker.join().unwrap());
/// assert_eq!(sums.sum::<u32>(), 55);
/// ```
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Receiver<T> {
    /// A handle, already counted.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    /// The channel itself.
    pub(super) fn channel(&self) -> &Arc<Channel<T>> {
        &self.channel
    }

    /// Receives the value that has been in the channel longest. Blocks the fibre, or the thread
    /// if the caller is not a fibre, while there is none.
    ///
    /// Other fibres of the processor may run before it returns even if there is a value (see
    /// [`yield_point`](fibre_core::internal::yield_point)).
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed and empty.
    #[inline]
    pub fn recv(&self) -> Result<T, RecvError> {
        // Without a limit, it fails for no other reason.
        self.channel.recv(Limit::None).map_err(|_closed| RecvError)
    }

    /// Receives a value if the channel or a blocked sender has one. Blocks nothing.
    ///
    /// ```
    /// use fibre::channel::{TryRecvError, unbounded};
    ///
    /// let (sender, receiver) = unbounded();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(5).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(5));
    /// drop(sender);
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    ///
    /// # Errors
    ///
    /// [`TryRecvError`].
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.channel.take() {
            Taken::Value(value, afterwards) => {
                afterwards.carry_out();
                Ok(value)
            }
            Taken::Empty => Err(TryRecvError::Empty),
            Taken::Closed => Err(TryRecvError::Closed),
        }
    }

    /// Like [`recv`](Self::recv), but gives up after `timeout`, or when the fibre is cancelled. A
    /// `timeout` of zero, and a cancelled fibre, try once.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`]; then no value has been taken out of the channel.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_limited(Limit::after(timeout))
    }

    /// Like [`recv`](Self::recv), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`]; then no value has been taken out of the channel.
    #[inline]
    pub fn recv_within(&self, limit: impl Into<Limit>) -> Result<T, RecvTimeoutError> {
        self.recv_limited(begin_within(limit)?)
    }

    /// The form that all with a limit share.
    fn recv_limited(&self, limit: Limit) -> Result<T, RecvTimeoutError> {
        self.channel.recv(limit).map_err(|failed| match failed {
            Failed::TimedOut => RecvTimeoutError::TimedOut,
            Failed::Cancelled => RecvTimeoutError::Cancelled,
            Failed::Closed => RecvTimeoutError::Closed,
        })
    }

    /// Receives as [`recv`](Self::recv) does, in asynchronous code of any executor. A waiting task
    /// stands in one line with fibres and threads.
    ///
    /// The future may be dropped at any moment, for instance by a selection that chooses another
    /// one, and no value is lost: a value that it was handed already goes to the next receiver, or
    /// back into the channel, in front of all others. A rendezvous channel holds such a value until
    /// somebody receives it.
    ///
    /// ```
    /// let (sender, receiver) = fibre::channel::rendezvous();
    /// fibre::spawn(move || sender.send("hello"));
    /// let greeting = fibre::block_on(async { receiver.recv_async().await });
    /// assert_eq!(greeting, Ok("hello"));
    /// ```
    ///
    /// # Errors
    ///
    /// The future fails with [`RecvError`] if the channel is closed and empty.
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture::new(&self.channel)
    }

    /// The values as they come, until the channel is closed and empty. Waiting for the next one
    /// blocks the fibre (or thread).
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The values that are there; ends when the channel is empty at that moment. Blocks nothing.
    #[must_use]
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }

    /// Whether both receive from the same channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.channel.receivers.fetch_add(1, Ordering::Relaxed);
        Self::new(Arc::clone(&self.channel))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.channel.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.channel.abandon();
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.channel.describe("Receiver", f)
    }
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

super::ends::what_both_ends_tell!(Receiver);

/// The values as they come; see [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// The values that are there; see [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// The values as they come, by an iterator that owns the receiving end.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
