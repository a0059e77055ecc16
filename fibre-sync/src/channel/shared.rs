//! A channel, as both of its ends share it: the calls that block, and how it closes.
//!
//! Who cannot go on puts a [`Place`] into its frame and into one of the channel's two lists,
//! under the lock under which it has seen that it cannot. All else is told in
//! [`state`](super::state); why there is a lock at all, in docs/decisions/0017.
//!
//! The channel closes when the last handle of one of its ends is dropped, or by a call. Its
//! memory belongs to the handles of both ends, so whoever is in a call has it; that is why
//! those who wait may be woken one by one, with the lock taken again in between.

use super::buffer::Ring;
use super::state::{Offered, Place, State, Taken};
use crate::wait_list::{Locked, WaitList};
use fibre_core::sync::{AtomicUsize, Framed, Ordering, planted, spin_hint};
use fibre_core::{
    Awaited, Limit, Outcome, Resume, ShortGuard, WaitKind, Waiter, may_spin, park_until,
    yield_point,
};
use std::fmt;

/// Looks at an empty or full channel before blocking, if the processor has nothing else to
/// do. About as long as blocking and being woken take.
const LOOKS: u32 = 64;

/// How an attempt to send or receive has ended in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The deadline came first.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
    /// The channel is closed.
    Closed,
}

/// See the module text.
pub(crate) struct Channel<T> {
    /// What the lock protects.
    state: Locked<State<T>>,
    /// How many values are in the buffer. Written under the lock, read by anybody.
    length: AtomicUsize,
    /// How many there may be.
    capacity: usize,
    /// How many handles the sending end has.
    pub(crate) senders: AtomicUsize,
    /// How many handles the receiving end has.
    pub(crate) receivers: AtomicUsize,
}

/// The state, while one has the lock.
pub(crate) type Held<'a, T> = ShortGuard<'a, State<T>>;

impl<T> Channel<T> {
    /// An open channel with one handle at each end.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            state: Locked::new(State::new(capacity)),
            length: AtomicUsize::new(0),
            capacity,
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
        }
    }

    /// Takes the lock.
    #[inline]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        self.state.lock()
    }

    /// The state, for one who has the lock by another guard.
    pub(crate) fn state(&self) -> *mut State<T> {
        self.state.as_ptr()
    }

    /// What a handle prints.
    pub(crate) fn describe(&self, end: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(end)
            .field("length", &self.len())
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }

    /// How many values are in the buffer at this moment.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// How many there may be.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether no more values are sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// [`State::offer`], with memory if it takes any, and the receiver resumed.
    #[inline]
    pub(crate) fn offer(&self, value: &mut Option<T>) -> Offered {
        loop {
            let mut state = self.lock();
            match self.offer_under(&mut state, value) {
                Offered::NeedsRing => self.grow(state),
                Offered::Handed(receiver) => {
                    drop(state);
                    receiver.resume();
                    return Offered::Stored;
                }
                offered => return offered,
            }
        }
    }

    /// [`State::offer`] under a lock that is held.
    #[inline]
    pub(crate) fn offer_under(&self, state: &mut State<T>, value: &mut Option<T>) -> Offered {
        let offered = state.offer(value);
        self.length.store(state.len(), Ordering::Relaxed);
        offered
    }

    /// Makes room for more values, without the lock.
    #[cold]
    fn grow(&self, state: Held<'_, T>) {
        let room = state.next_room();
        drop(state);
        let ring = Ring::new(room);
        // If others were faster, this one is dropped after the lock has been given back.
        let _superfluous = self.lock().add(ring);
    }

    /// [`State::take`].
    #[inline]
    pub(crate) fn take(&self) -> Taken<T> {
        self.take_under(&mut self.lock())
    }

    /// [`State::take`] under a lock that is held.
    #[inline]
    pub(crate) fn take_under(&self, state: &mut State<T>) -> Taken<T> {
        let taken = state.take();
        self.length.store(state.len(), Ordering::Relaxed);
        taken
    }

    /// Sends a value. Blocks the fibre (or thread) while there is no room.
    #[inline]
    pub(crate) fn send(&self, value: T, limit: Limit) -> Result<(), (T, Failed)> {
        yield_point();
        let mut value = Some(value);
        let failed = match self.offer(&mut value) {
            Offered::Closed => Failed::Closed,
            Offered::Full => self.wait_to_send(&mut value, limit),
            Offered::Stored | Offered::Handed(_) | Offered::NeedsRing => return Ok(()),
        };
        match value {
            Some(value) => Err((value, failed)),
            None => Ok(()),
        }
    }

    /// The part of [`send`](Self::send) for a channel that is full. If the value stays, that
    /// is for the reason returned.
    fn wait_to_send(&self, value: &mut Option<T>, limit: Limit) -> Failed {
        self.spin_while(self.capacity);
        let place = Framed::new(Place::new());
        let mut receiver = None;
        let enter = |state: &mut State<T>| match self.offer_under(state, value) {
            Offered::Full => {
                place.replace(value.take());
                true
            }
            Offered::Handed(claimed) => {
                receiver = Some(claimed);
                false
            }
            // A channel that can be full needs no memory.
            Offered::Stored | Offered::NeedsRing | Offered::Closed => false,
        };
        let outcome = self.wait(&place, |state| &mut state.sending, limit, enter);
        if let Some(receiver) = receiver {
            receiver.resume();
        }
        if outcome != Outcome::NotParked && !planted("channel: who gives up loses its value") {
            *value = place.replace(None);
        }
        Failed::of(outcome)
    }

    /// Receives a value. Blocks the fibre (or thread) while there is none.
    #[inline]
    pub(crate) fn recv(&self, limit: Limit) -> Result<T, Failed> {
        yield_point();
        self.spin_while(0);
        let place = Framed::new(Place::new());
        let mut taken = Taken::Empty;
        let enter = |state: &mut State<T>| {
            taken = self.take_under(state);
            matches!(taken, Taken::Empty)
        };
        let outcome = self.wait(&place, |state| &mut state.receiving, limit, enter);
        match taken {
            Taken::Value(value, afterwards) => {
                afterwards.carry_out();
                Ok(value)
            }
            Taken::Closed => Err(Failed::Closed),
            Taken::Empty => place.replace(None).ok_or(Failed::of(outcome)),
        }
    }

    /// Looks for a moment whether the number of values changes from `length`, at which one
    /// cannot go on, if there is nothing else to do.
    #[inline]
    fn spin_while(&self, length: usize) {
        // In a rendezvous channel it never does.
        if self.len() == length && self.capacity > 0 {
            let mut looks = LOOKS;
            while looks > 0 && self.len() == length && may_spin() {
                spin_hint();
                looks -= 1;
            }
        }
    }

    /// Waits at the end of a line, unless `enter` says, under the lock, that there is no need.
    #[inline]
    fn wait(
        &self,
        place: &Place<T>,
        line: impl Fn(&mut State<T>) -> &mut WaitList,
        limit: Limit,
        enter: impl FnOnce(&mut State<T>) -> bool,
    ) -> Outcome {
        if limit == Limit::None {
            // SAFETY: so it is.
            unsafe { place.set_alone() };
        }
        let publish = |waiter: &Waiter| {
            let mut state = self.lock();
            let wait = enter(&mut state);
            if wait {
                place.enter(line(&mut state), waiter, 0);
            }
            wait
        };
        let withdraw = |_: &Waiter| place.leave(line(&mut self.lock()));
        let awaited = Awaited::new(WaitKind::Channel, self);
        // SAFETY: the waiter is reached by its place only, under the lock; a waker takes the
        // place out before it claims, and `withdraw` takes it out if nobody has claimed.
        unsafe { park_until(awaited, limit, publish, withdraw) }
    }

    /// Closes the channel, and lets all go on that wait. `false`: it was closed already.
    pub(crate) fn close(&self) -> bool {
        let first = self.lock().close();
        while let Some(refused) = self.next_refused() {
            refused.resume();
            if planted("channel: closing lets one of many go on") {
                break;
            }
        }
        first
    }

    /// One of those who wait in a closed channel.
    fn next_refused(&self) -> Option<Resume> {
        self.lock().next_refused()
    }

    /// Closes the channel, and drops the values in it, which nobody will receive.
    pub(crate) fn abandon(&self) {
        self.close();
        let values = self.lock().abandon();
        self.length.store(0, Ordering::Relaxed);
        drop(values);
    }
}

impl Failed {
    /// Why a wait that has ended like this has been in vain: if not for its limit, the channel
    /// has been closed.
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Woken(_) | Outcome::NotParked => Self::Closed,
        }
    }
}
