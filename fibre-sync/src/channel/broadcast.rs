//! A channel that gives every value to every receiver.
//!
//! The values lie in a ring, each counted with the receivers that have not had it yet. A receiver
//! has a place in the sequence of all values. As receivers take values in order, the values that
//! nobody wants any more are the oldest ones, and leave the ring at once. A value that is
//! overwritten is *missed* by the receivers that have not had it; they learn how many they missed.
//!
//! The ring is made of [`chunks`](super::chunks), so that no value moves when it grows, and nothing
//! is allocated or freed under the lock. Values are allocated, dropped and cloned without it, too.

use super::chunks::{Chunks, Slot};
use super::errors::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use super::news::{News, leave, wait_for};
use crate::faults;
use crate::selection::{ListArm, Listed};
use crate::wait_list::{Claimed, Locked, WaitList};
use fibre_core::internal::{ShortGuard, Unwind, Waiter, begin_within, yield_point};
use fibre_core::sync::{AtomicUsize, Ordering, planted};
use fibre_core::{Arm, Entered, Left, Limit};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the ends share.
struct Broadcast<T> {
    state: Locked<State<T>>,
    capacity: usize,
    senders: AtomicUsize,
}

/// What the lock protects.
struct State<T> {
    ring: Chunks<T>,
    receivers: usize,
    /// Whether all senders are gone.
    closed: bool,
    waiting: WaitList,
}

/// A value that [`BroadcastReceiver::recv`] has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received<T> {
    /// The value.
    pub value: T,
    /// How many values before it were overwritten because this receiver was too slow.
    pub missed: u64,
}

impl<T> News for State<T> {
    fn waiting(&mut self) -> &mut WaitList {
        &mut self.waiting
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self) {
        self.closed = true;
    }
}

impl<T> Broadcast<T> {
    /// Takes the lock, and sees to it that the ring has memory for another value. Memory is
    /// allocated, and freed, without the lock.
    fn lock_with_room(&self) -> ShortGuard<'_, State<T>> {
        loop {
            let state = self.state.lock();
            let Some(lack) = state.ring.lacks() else {
                return state;
            };
            drop(state);
            let supply = lack.make();
            let superfluous = self.state.lock().ring.bring(supply);
            drop(superfluous);
        }
    }
}

impl<T> State<T> {
    /// Takes the next value for the receiver at this place.
    #[inline]
    fn take(&mut self, next: &mut u64) -> Option<Received<Arc<T>>> {
        let first = self.ring.first();
        let at = (*next).max(first);
        let missed = at - *next;
        let slot = self.ring.get_mut(at)?;
        *next = at + 1;
        slot.awaited_by -= 1;
        // Behind others, it is taken out by the receiver that leaves, and does so with those.
        let oldest = at == first || planted(faults::broadcast::TAKES_THE_OLDEST_OUT);
        let value = if slot.awaited_by == 0 && oldest {
            self.ring.pop_first()?.value
        } else {
            Arc::clone(&slot.value)
        };
        Some(Received { value, missed })
    }

    /// Takes note that a receiver at this place is gone. What nobody wants any more is then
    /// [taken out](Self::pop_unwanted).
    fn leave(&mut self, next: u64) {
        self.receivers -= 1;
        for at in next.max(self.ring.first())..self.ring.end() {
            if let Some(slot) = self.ring.get_mut(at) {
                slot.awaited_by -= 1;
            }
        }
    }

    /// Takes the oldest value out if nobody wants it any more.
    fn pop_unwanted(&mut self) -> Option<Slot<T>> {
        let first = self.ring.first();
        self.ring
            .get_mut(first)
            .filter(|slot| slot.awaited_by == 0)?;
        self.ring.pop_first()
    }
}

/// A channel that gives every receiver all values that are sent from then on, in the same order.
/// Sending never waits: a receiver that is `capacity` values behind misses the oldest one, and is
/// [told](Received::missed). The memory for `capacity` values, 16 bytes each, is allocated when it
/// is first used, for 1024 values at a time; each value is allocated, too.
///
/// ```
/// let (sender, mut first) = fibre::channel::broadcast(16);
/// let mut second = sender.subscribe();
/// sender.send("to all").unwrap();
/// assert_eq!(first.recv().unwrap().value, "to all");
/// assert_eq!(second.recv().unwrap().value, "to all");
/// ```
///
/// # Panics
///
/// If `capacity` is zero.
#[must_use]
pub fn broadcast<T>(capacity: usize) -> (BroadcastSender<T>, BroadcastReceiver<T>) {
    assert!(capacity > 0, "a broadcast channel without room");
    let channel = Arc::new(Broadcast {
        state: Locked::new(State {
            ring: Chunks::new(capacity),
            receivers: 0,
            closed: false,
            waiting: WaitList::new(),
        }),
        capacity,
        senders: AtomicUsize::new(1),
    });
    let sender = BroadcastSender(channel);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// The sending end of a [`broadcast`] channel; clones send to the same receivers. When the last one
/// is dropped, the channel closes.
pub struct BroadcastSender<T>(Arc<Broadcast<T>>);

impl<T> BroadcastSender<T> {
    /// Sends a value to all receivers; returns how many there are. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if there is no receiver.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let value = Arc::new(value);
        let mut state = self.0.lock_with_room();
        let receivers = state.receivers;
        if receivers == 0 {
            drop(state);
            return match Arc::try_unwrap(value) {
                Ok(value) => Err(SendError(value)),
                Err(_) => unreachable!("a value that nobody has seen"),
            };
        }
        let mut overwritten = None;
        if state.ring.len() == self.0.capacity {
            overwritten = state.ring.pop_first();
        }
        state.ring.push_last(Slot {
            value,
            awaited_by: receivers,
        });
        let waiting = if planted(faults::broadcast::WAKES_ONE_OF_ALL) {
            let mut some = Claimed::none();
            state.waiting.claim_first_of_many(0, &mut some);
            some
        } else {
            state.waiting.claim_all(0)
        };
        drop(state);
        waiting.resume();
        drop(overwritten);
        Ok(receivers)
    }

    /// Another receiver, which gets what is sent from now on.
    #[must_use]
    pub fn subscribe(&self) -> BroadcastReceiver<T> {
        let mut state = self.0.state.lock();
        state.receivers += 1;
        BroadcastReceiver {
            channel: Arc::clone(&self.0),
            next: state.ring.end(),
        }
    }

    /// How many receivers there are at this moment.
    #[must_use]
    pub fn receivers(&self) -> usize {
        self.0.state.lock().receivers
    }

    /// How many values are in the channel: some receiver has not had them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.state.lock().ring.len()
    }

    /// Whether all receivers have had all values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for BroadcastSender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for BroadcastSender<T> {
    fn drop(&mut self) {
        leave(&self.0.senders, &self.0.state);
    }
}

impl<T> fmt::Debug for BroadcastSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastSender")
            .field("length", &self.len())
            .field("receivers", &self.receivers())
            .finish()
    }
}

/// The receiving end of a [`broadcast`] channel. A clone gets the values that this one has not had.
pub struct BroadcastReceiver<T> {
    channel: Arc<Broadcast<T>>,
    /// The place of the next value.
    next: u64,
}

impl<T: Clone> BroadcastReceiver<T> {
    /// Receives the next value: a clone, or, if this is the last receiver to have it, the value
    /// itself. Blocks the fibre, or the thread if the caller is not a fibre, while there is none.
    ///
    /// ```
    /// let (sender, mut receiver) = fibre::channel::broadcast(2);
    /// (0..5).for_each(|number| assert_eq!(sender.send(number), Ok(1)));
    /// let received = receiver.recv().unwrap();
    /// assert_eq!((received.missed, received.value), (3, 3));
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the channel is closed, and this receiver has had all values.
    pub fn recv(&mut self) -> Result<Received<T>, RecvError> {
        // Without a limit, it fails for no other reason.
        self.recv_limited(Limit::None).map_err(|_| RecvError)
    }

    /// Receives the next value, if there is one. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`TryRecvError`].
    pub fn try_recv(&mut self) -> Result<Received<T>, TryRecvError> {
        let mut state = self.channel.state.lock();
        let taken = state.take(&mut self.next);
        let closed = state.closed;
        drop(state);
        match taken {
            Some(taken) => Ok(taken.own()),
            None if closed => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Like [`recv`](Self::recv), but gives up after `timeout`, or when the fibre is cancelled. A
    /// `timeout` of zero, and a cancelled fibre, try once.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`].
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<Received<T>, RecvTimeoutError> {
        self.recv_limited(Limit::after(timeout))
    }

    /// Like [`recv`](Self::recv), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError`].
    pub fn recv_within(
        &mut self,
        limit: impl Into<Limit>,
    ) -> Result<Received<T>, RecvTimeoutError> {
        self.recv_limited(begin_within(limit)?)
    }

    /// [`recv`](Self::recv) as an arm of `select!`. If another arm is chosen, this receiver still
    /// gets the value.
    ///
    /// ```
    /// use fibre::{channel::broadcast, select, sync::Event};
    ///
    /// let ((sender, mut receiver), stop) = (broadcast(16), Event::new());
    /// sender.send("to all").unwrap();
    /// let text = select! {
    ///     Ok(received) = receiver.recv_arm() => received.value,
    ///     () = stop.wait_arm() => "stopped",
    /// };
    /// assert_eq!(text, "to all");
    /// ```
    pub fn recv_arm(&mut self) -> BroadcastArm<'_, T> {
        BroadcastArm(ListArm::new(Receives {
            state: &self.channel.state,
            next: Cell::from_mut(&mut self.next),
        }))
    }

    /// The form that all share.
    fn recv_limited(&mut self, limit: Limit) -> Result<Received<T>, RecvTimeoutError> {
        yield_point();
        let next = &mut self.next;
        // Mostly there is one, and a wait need not be prepared.
        let taken = self.channel.state.lock().take(next);
        if let Some(taken) = taken {
            return Ok(taken.own());
        }
        let taken = wait_for(&self.channel.state, limit, |state| state.take(next))?;
        Ok(taken.own())
    }
}

impl<T> BroadcastReceiver<T> {
    /// How many values it has not had yet, without those that were overwritten.
    #[must_use]
    pub fn len(&self) -> usize {
        let state = self.channel.state.lock();
        (state.ring.end() - self.next.max(state.ring.first())) as usize
    }

    /// Whether it has had all values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all senders are gone. There may be values that it has not had.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.channel.state.lock().closed
    }
}

impl<T: Clone> Received<Arc<T>> {
    /// Turns the shared value into one of the receiver's own.
    fn own(self) -> Received<T> {
        Received {
            value: Arc::unwrap_or_clone(self.value),
            missed: self.missed,
        }
    }
}

impl<T> Clone for BroadcastReceiver<T> {
    fn clone(&self) -> Self {
        let mut state = self.channel.state.lock();
        state.receivers += 1;
        for at in self.next.max(state.ring.first())..state.ring.end() {
            if let Some(slot) = state.ring.get_mut(at) {
                slot.awaited_by += 1;
            }
        }
        Self {
            channel: Arc::clone(&self.channel),
            next: self.next,
        }
    }
}

impl<T> Drop for BroadcastReceiver<T> {
    fn drop(&mut self) {
        let state = &self.channel.state;
        state.lock().leave(self.next);
        // One under each lock: the list of them would have to be allocated.
        let unwanted = std::iter::from_fn(|| state.lock().pop_unwanted());
        let mut panics = Unwind::none();
        panics.note_drops(unwanted);
        panics.go_on_if_none_does();
    }
}

impl<T> fmt::Debug for BroadcastReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastReceiver")
            .field("length", &self.len())
            .finish_non_exhaustive()
    }
}

/// A wait for the next value.
struct Receives<'a, T> {
    /// The state.
    state: &'a Locked<State<T>>,
    /// The receiver's place in the sequence.
    next: &'a Cell<u64>,
}

impl<T> Listed for Receives<'_, T> {
    type State = State<T>;
    type Output = Result<Received<Arc<T>>, RecvError>;

    fn locked(&self) -> &Locked<State<T>> {
        self.state
    }

    fn list(state: &mut State<T>) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State<T>) -> Option<Self::Output> {
        let mut next = self.next.get();
        let taken = state.take(&mut next);
        self.next.set(next);
        match taken {
            Some(taken) => Some(Ok(taken)),
            None => state.closed.then_some(Err(RecvError)),
        }
    }

    fn is_there(&self, state: &State<T>) -> bool {
        state.closed || self.next.get() < state.ring.end()
    }

    fn handed(&self) -> Option<Self::Output> {
        None
    }
}

/// An arm of `select!` that receives; made by [`BroadcastReceiver::recv_arm`].
#[must_use = "an arm waits in a selection only"]
pub struct BroadcastArm<'a, T>(ListArm<Receives<'a, T>>);

impl<T: Clone> Arm for BroadcastArm<'_, T> {
    type Output = Result<Received<T>, RecvError>;

    fn attempt(&mut self) -> Option<Self::Output> {
        let taken = self.0.attempt()?;
        Some(taken.map(Received::own))
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        unsafe { self.0.enter(waiter) }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        // SAFETY: passed on.
        unsafe { self.0.leave(waiter) }
    }
}

impl<T> fmt::Debug for BroadcastArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastArm").finish_non_exhaustive()
    }
}
