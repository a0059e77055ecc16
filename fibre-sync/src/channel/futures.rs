//! Sending and receiving by asynchronous code.
//!
//! A waiting task stands in the same line as fibres and threads, with the same kind of place: a
//! value goes from hand to hand, first come, first served. But a task may be dropped at any moment.
//! A dropped sender takes its value back, unless that has been sent. A receiver that is dropped
//! with a value in its hand gives it back: to the receiver that has waited longest, or to the
//! channel, in front of all others ([`Channel::give_back`]).

use super::errors::{RecvError, SendError};
use super::shared::Channel;
use super::state::{Offered, Place, Taken};
use crate::faults;
use fibre_core::internal::TaskWait;
use fibre_core::sync::planted;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The wait of a task in one of a channel's lines.
struct Turn<T>(Arc<TaskWait<Place<T>>>);

impl<T> Turn<T> {
    /// A turn that has not begun, with this waker.
    fn new(waker: &Waker) -> Self {
        let wait = TaskWait::new(Place::new());
        let _ = wait.register(waker);
        Self(wait)
    }

    /// What is in the slot, once the task has been resumed: then the slot is its own. `Err`: it
    /// waits, and this waker is called.
    fn outcome(&self, waker: &Waker) -> Result<Option<T>, ()> {
        match self.0.register(waker) {
            true => Ok(self.0.extra().replace(None)),
            false => Err(()),
        }
    }

    /// Ends it, whether or not a waker was faster. Returns what is in the slot, and whether a waker
    /// has left that there.
    fn leave(&self, channel: &Channel<T>, sends: bool) -> (Option<T>, bool) {
        let mut state = channel.lock();
        let claimed = !self.0.extra().is_in_line();
        if !claimed {
            let line = match sends {
                true => &mut state.sending,
                false => &mut state.receiving,
            };
            // SAFETY: this is the line that it has entered.
            unsafe { self.0.extra().leave(line) };
            // SAFETY: taken out under the lock that wakers claim it under, and none has.
            unsafe { self.0.end() };
        }
        // A waker that has claimed it has left the slot alone since it gave the lock back.
        (self.0.extra().replace(None), claimed)
    }
}

/// What [`Receiver::recv_async`](super::Receiver::recv_async) returns.
///
/// It takes part in the wait from its first poll on. If it is dropped, no value is lost.
#[must_use = "a future does nothing unless it is awaited"]
pub struct RecvFuture<'a, T> {
    channel: &'a Channel<T>,
    turn: Option<Turn<T>>,
}

impl<'a, T> RecvFuture<'a, T> {
    /// A receiver that has not asked yet.
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Self {
            channel,
            turn: None,
        }
    }

    /// Takes a value, or enters the line.
    fn begin(&mut self, waker: &Waker) -> Poll<Result<T, RecvError>> {
        // Without a turn first, since that allocates.
        let taken = match self.channel.take() {
            Taken::Empty => {
                let turn = Turn::new(waker);
                let taken = self.take_or_enter(&turn);
                if matches!(taken, Taken::Empty) {
                    self.turn = Some(turn);
                }
                taken
            }
            taken => taken,
        };
        match taken {
            Taken::Value(value, afterwards) => {
                afterwards.carry_out();
                Poll::Ready(Ok(value))
            }
            Taken::Closed => Poll::Ready(Err(RecvError)),
            Taken::Empty => Poll::Pending,
        }
    }

    /// Takes a value; enters the line if there is none, under the same lock.
    fn take_or_enter(&self, turn: &Turn<T>) -> Taken<T> {
        let mut state = self.channel.lock();
        let taken = self.channel.take_under(&mut state);
        if matches!(taken, Taken::Empty) {
            turn.0.begin();
            let place = turn.0.extra();
            // SAFETY: wakers reach it by this line only, under its lock, and the wait has no limit.
            // The allocation stays until the place has left, as the future and the winner have it.
            unsafe {
                place.set_alone();
                place.enter(&mut state.receiving, turn.0.waiter(), 0);
            }
        }
        taken
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(turn) = &this.turn else {
            return this.begin(context.waker());
        };
        let Ok(value) = turn.outcome(context.waker()) else {
            return Poll::Pending;
        };
        this.turn = None;
        // An empty slot: the channel was closed.
        Poll::Ready(value.ok_or(RecvError))
    }
}

impl<T> Drop for RecvFuture<'_, T> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take()
            && let (Some(value), _) = turn.leave(self.channel, false)
            && !planted(faults::channel::DROPPED_FUTURE_LOSES_ITS_VALUE)
        {
            self.channel.give_back(value);
        }
    }
}

impl<T> fmt::Debug for RecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.channel.describe("RecvFuture", f)
    }
}

/// What [`Sender::send_async`](super::Sender::send_async) returns.
///
/// It takes part in the wait from its first poll on. If it is dropped before it has returned, the
/// value has been sent or is dropped with it.
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendFuture<'a, T> {
    channel: &'a Channel<T>,
    /// The value, until it waits in a turn, or has been sent.
    value: Option<T>,
    turn: Option<Turn<T>>,
}

// The value is moved by its owner only, and nothing points to it here.
impl<T> Unpin for SendFuture<'_, T> {}

impl<'a, T> SendFuture<'a, T> {
    /// A sender of this value that has not offered it yet.
    pub(super) fn new(channel: &'a Channel<T>, value: T) -> Self {
        Self {
            channel,
            value: Some(value),
            turn: None,
        }
    }

    /// Sends the value, or enters the line with it.
    fn begin(&mut self, waker: &Waker) -> Poll<Result<(), SendError<T>>> {
        loop {
            // Without a turn first, since that allocates.
            let mut offered = self.channel.offer(&mut self.value);
            if matches!(offered, Offered::Full) {
                let turn = Turn::new(waker);
                offered = self.offer_or_enter(&turn);
                if matches!(offered, Offered::Full) {
                    self.turn = Some(turn);
                    return Poll::Pending;
                }
            }
            match offered {
                Offered::Handed(receiver) => receiver.resume(),
                // A channel that has run empty meanwhile; the next offer adds the ring.
                Offered::NeedsRing => continue,
                Offered::Stored | Offered::Full | Offered::Closed => {}
            }
            return Poll::Ready(match self.value.take() {
                Some(value) => Err(SendError(value)),
                None => Ok(()),
            });
        }
    }

    /// Offers the value; enters the line if there is no room, under the same lock.
    fn offer_or_enter(&mut self, turn: &Turn<T>) -> Offered {
        let mut state = self.channel.lock();
        let offered = self.channel.offer_under(&mut state, &mut self.value);
        if matches!(offered, Offered::Full) {
            turn.0.begin();
            let place = turn.0.extra();
            place.replace(self.value.take());
            // SAFETY: as in `RecvFuture::take_or_enter`.
            unsafe {
                place.set_alone();
                place.enter(&mut state.sending, turn.0.waiter(), 0);
            }
        }
        offered
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(turn) = &this.turn else {
            return this.begin(context.waker());
        };
        let Ok(value) = turn.outcome(context.waker()) else {
            return Poll::Pending;
        };
        this.turn = None;
        // A full slot: the channel was closed.
        Poll::Ready(match value {
            Some(value) => Err(SendError(value)),
            None => Ok(()),
        })
    }
}

impl<T> Drop for SendFuture<'_, T> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            drop(turn.leave(self.channel, true));
        }
    }
}

impl<T> fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.channel.describe("SendFuture", f)
    }
}
