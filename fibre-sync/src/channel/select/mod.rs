//! Selecting one of several operations of several channels.
//!
//! [`Select`] is for a number of operations that is known only at run time. If it is known before,
//! the macro [`select!`](crate::select) reads better and allocates nothing.
//! [`selection`](crate::selection) explains how a selection chooses; the file `arm` has the
//! operations as its arms.

mod arm;

pub use arm::{RecvArm, SendArm};

use super::errors::{RecvError, SendError, TrySelectError};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::selection::parts::{Chosen, Order, Standing};
use crate::selection::{choose_among, choose_within};
use arm::{AnyOperation, Operation, OperationCase, Way, typed};
use fibre_core::internal::begin_within;
use fibre_core::{Limit, WaitError};
use std::fmt;
use std::time::Duration;

/// A number of operations. One of them is carried out: the first that is, or becomes, possible. If
/// several are possible, the choice varies, so that none starves.
///
/// A value to be sent is handed in with its operation. It stays in the selection until it is
/// chosen, [taken back](Self::take_back), or dropped with the selection. A selection may be used
/// again and again; an operation that has sent its value is left out from then on. When none is
/// left, there is nothing to wait for, and every call that may panic does.
///
/// ```
/// use fibre::channel::{Select, unbounded};
///
/// let channels: Vec<_> = (0..3).map(|_| unbounded()).collect();
/// for (i, (sender, _)) in channels.iter().enumerate() {
///     sender.send(10 * i).unwrap();
/// }
///
/// let mut select = Select::new();
/// for (_, receiver) in &channels {
///     select.recv(receiver);
/// }
/// let mut sum = 0;
/// while let Ok(chosen) = select.try_select() {
///     let (_, receiver) = &channels[chosen.index()];
///     sum += chosen.recv(receiver).unwrap();
/// }
/// assert_eq!(sum, 30);
/// ```
#[derive(Default)]
pub struct Select<'a> {
    arms: Vec<OperationCase<'a>>,
}

/// The outcome of a selection: the operation has been carried out, and this is its result.
#[must_use = "a value that was received is dropped"]
pub struct SelectedOperation<'s> {
    index: usize,
    arm: &'s dyn AnyOperation,
}

impl<'a> Select<'a> {
    /// No operation yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds receiving from this channel. Returns the index of the operation: they count from 0.
    pub fn recv<T>(&mut self, receiver: &'a Receiver<T>) -> usize {
        self.add(Operation::receiving(receiver))
    }

    /// Adds sending this value into this channel. Returns the index of the operation.
    pub fn send<T>(&mut self, sender: &'a Sender<T>, value: T) -> usize {
        self.add(Operation::sending(sender, value))
    }

    /// Adds an arm, and returns its index.
    fn add<T>(&mut self, arm: Operation<'a, T>) -> usize {
        self.arms.push(OperationCase(Box::new(arm)));
        self.arms.len() - 1
    }

    /// Takes back the value of a sending operation, which is left out from then on; `None`: it has
    /// been sent.
    ///
    /// ```
    /// use fibre::channel::{Select, bounded, unbounded};
    ///
    /// let ((full, _receiver), (answers, receiver)) = (bounded(0), unbounded());
    /// answers.send(2).unwrap();
    /// let mut select = Select::new();
    /// let sending = select.send(&full, String::from("unsent"));
    /// select.recv(&receiver);
    /// assert_eq!(select.select().recv(&receiver), Ok(2));
    /// assert_eq!(select.take_back(sending, &full).unwrap(), "unsent");
    /// ```
    ///
    /// # Panics
    ///
    /// If the operation of this index is not one that sends into this channel.
    pub fn take_back<T>(&mut self, index: usize, sender: &Sender<T>) -> Option<T> {
        typed(&*self.arms[index].0, sender.channel(), Way::In).take()
    }

    /// Waits until an operation can be carried out, and does so. Blocks the fibre, or the thread
    /// if the caller is not a fibre.
    ///
    /// # Panics
    ///
    /// If all operations are left out, or the selection has none.
    pub fn select(&mut self) -> SelectedOperation<'_> {
        let _ = self.choose(Limit::None);
        match self.chosen() {
            Some(chosen) => chosen,
            None => unreachable!("a selection without a limit ends by one of its operations"),
        }
    }

    /// Carries out an operation that is possible now. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`TrySelectError`] if no operation is possible, also if all are left out.
    pub fn try_select(&mut self) -> Result<SelectedOperation<'_>, TrySelectError> {
        let _ = choose_among(&mut self.ready(), Order::Fair);
        self.chosen().ok_or(TrySelectError)
    }

    /// Like [`select`](Self::select), but gives up after `timeout`, or when the fibre is
    /// cancelled. A `timeout` of zero, and a cancelled fibre, try once.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then nothing has been carried out.
    ///
    /// # Panics
    ///
    /// As [`select`](Self::select): it does not sleep for want of something to do.
    pub fn select_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<SelectedOperation<'_>, WaitError> {
        self.select_limited(Limit::after(timeout))
    }

    /// Like [`select`](Self::select), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then nothing has been carried out.
    ///
    /// # Panics
    ///
    /// As [`select`](Self::select); but for a fibre that has been cancelled already the error comes
    /// first.
    #[inline]
    pub fn select_within(
        &mut self,
        limit: impl Into<Limit>,
    ) -> Result<SelectedOperation<'_>, WaitError> {
        self.select_limited(begin_within(limit)?)
    }

    /// The form that all with a limit share.
    fn select_limited(&mut self, limit: Limit) -> Result<SelectedOperation<'_>, WaitError> {
        let outcome = self.choose(limit);
        self.chosen().ok_or(match outcome {
            Chosen::None(Some(error)) => error,
            _ => WaitError::TimedOut,
        })
    }

    /// Chooses among those that are not left out.
    fn choose(&mut self, limit: Limit) -> Chosen {
        let chosen = choose_within(&mut self.ready(), Order::Fair, limit);
        assert!(
            chosen != Chosen::Closed,
            "a selection without operations has nothing to wait for"
        );
        chosen
    }

    /// The arms, ready for another selection.
    fn ready(&mut self) -> Vec<Standing<'_>> {
        self.arms.iter().for_each(|arm| arm.0.reset());
        let arms = self.arms.iter_mut().enumerate();
        arms.map(|(number, arm)| Standing::new(number, arm))
            .collect()
    }

    /// The chosen one.
    fn chosen(&self) -> Option<SelectedOperation<'_>> {
        let index = self.arms.iter().position(|arm| arm.0.is_chosen())?;
        let arm = &*self.arms[index].0;
        Some(SelectedOperation { index, arm })
    }
}

impl SelectedOperation<'_> {
    /// Its index, from when it was added.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// What has been received from this channel, which is that of the operation.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed and empty.
    ///
    /// # Panics
    ///
    /// If the operation is not one that receives from this channel.
    pub fn recv<T>(self, receiver: &Receiver<T>) -> Result<T, RecvError> {
        let arm = typed(self.arm, receiver.channel(), Way::Out);
        arm.take().ok_or(RecvError)
    }

    /// What has become of the value that was to be sent into this channel, which is that of the
    /// operation.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if the channel is closed.
    ///
    /// # Panics
    ///
    /// If the operation is not one that sends into this channel.
    pub fn send<T>(self, sender: &Sender<T>) -> Result<(), SendError<T>> {
        let arm = typed(self.arm, sender.channel(), Way::In);
        arm.take().map_or(Ok(()), |value| Err(SendError(value)))
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelectedOperation")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("operations", &self.arms.len())
            .finish_non_exhaustive()
    }
}
