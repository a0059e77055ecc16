//! A channel, as both of its ends share it: blocking calls, and closing.
//!
//! A caller that cannot go on puts a [`Place`] into its frame and into one of the channel's two
//! lists. It does so under the same lock that it held when it saw that it could not go on.
//! [`state`](super::state) explains the rest; docs/decisions/0017 says why there is a lock at all.
//!
//! The channel closes when the last handle of one of its ends is dropped, or by a call. The handles
//! of both ends own its memory, so a caller keeps it alive during a call. That is why the closer
//! may wake waiters one by one, and take the lock again in between.

use super::buffer::Ring;
use super::state::{Offered, Place, State, Taken};
use crate::faults;
use crate::wait_list::{Locked, WaitList};
use fibre_core::internal::{Outcome, Resume, ShortGuard, Wait, Waiter, may_spin, yield_point};
use fibre_core::sync::{AtomicUsize, Framed, Ordering, planted, spin_hint};
use fibre_core::{Limit, WaitKind, WaitObject};
use std::fmt;

/// Looks at an empty or full channel before blocking, if the processor has nothing else to
/// do. About as long as blocking and being woken take.
const LOOKS: u32 = 64;

/// Why an attempt to send or receive has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The deadline came first.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
    /// The channel is closed.
    Closed,
}

/// The part of a channel that both of its ends share.
pub(crate) struct Channel<T> {
    /// The state that the lock protects.
    state: Locked<State<T>>,
    /// How many values are in the buffer. Written under the lock, read by any caller.
    length: AtomicUsize,
    /// How many values may be in the buffer.
    capacity: usize,
    /// How many handles the sending end has.
    pub(crate) senders: AtomicUsize,
    /// How many handles the receiving end has.
    pub(crate) receivers: AtomicUsize,
}

/// The state, with the lock held.
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

    /// The state, for a caller that has the lock by another guard.
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

    /// How many values may be in the buffer.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether no more values are sent.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// [`State::offer`], which also allocates a ring if one is needed, and resumes the receiver.
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
        // If another caller was faster, this ring is dropped after the lock has been given back.
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

    /// Takes a value back from a receiver that was handed it and does not want it: it goes to the
    /// next receiver, or in front of all values. A handle of the receiving end exists meanwhile.
    #[cold]
    pub(crate) fn give_back(&self, value: T) {
        let ring = Ring::extra();
        let mut state = self.lock();
        let (receiver, _superfluous) = state.give_back(value, ring);
        self.length.store(state.len(), Ordering::Relaxed);
        drop(state);
        if let Some(receiver) = receiver {
            receiver.resume();
        }
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

    /// The part of [`send`](Self::send) for a full channel. If the value stays in `value`, the
    /// returned reason says why.
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
        if outcome != Outcome::NotParked && !planted(faults::channel::GIVING_UP_LOSES_THE_VALUE) {
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

    /// If the processor has nothing else to do, looks for a moment whether the number of values
    /// changes from `length`: with so many the caller cannot go on.
    #[inline]
    fn spin_while(&self, length: usize) {
        // In a rendezvous channel the number never changes.
        if self.len() == length && self.capacity > 0 {
            let mut looks = LOOKS;
            while looks > 0 && self.len() == length && may_spin() {
                spin_hint();
                looks -= 1;
            }
        }
    }

    /// Waits at the end of a line, unless `enter`, called under the lock, says that there is no
    /// need.
    #[inline]
    fn wait(
        &self,
        place: &Place<T>,
        line: impl Fn(&mut State<T>) -> &mut WaitList,
        limit: Limit,
        enter: impl FnOnce(&mut State<T>) -> bool,
    ) -> Outcome {
        let publish = |waiter: &Waiter, limit: Limit| {
            if limit == Limit::None {
                // SAFETY: this is the place's only line, and the wait has no limit.
                unsafe { place.set_alone() };
            }
            let mut state = self.lock();
            let wait = enter(&mut state);
            if wait {
                // SAFETY: both are in frames that do not end before `withdraw` or a waker's claim.
                unsafe { place.enter(line(&mut state), waiter, 0) };
            }
            wait
        };
        // SAFETY: this is the line that it has entered.
        let withdraw = |_: &Waiter| unsafe { place.leave(line(&mut self.lock())) };
        let awaited = WaitObject::new(WaitKind::Channel, self);
        // SAFETY: wakers reach the waiter by its place only, under the lock. A waker takes the
        // place out before it claims, and `withdraw` takes it out if no waker has claimed.
        unsafe { Wait::new(awaited, limit).park(publish, withdraw) }
    }

    /// Closes the channel, and resumes all waiters. Returns `false` if it was closed already.
    pub(crate) fn close(&self) -> bool {
        let first = self.lock().close();
        while let Some(refused) = self.next_refused() {
            refused.resume();
            if planted(faults::channel::CLOSING_WAKES_ONE_OF_MANY) {
                break;
            }
        }
        first
    }

    /// Claims a waiter of a closed channel.
    fn next_refused(&self) -> Option<Resume> {
        self.lock().next_refused()
    }

    /// Closes the channel, and drops the values in it, as no receiver is left.
    pub(crate) fn abandon(&self) {
        self.close();
        let values = self.lock().abandon();
        self.length.store(0, Ordering::Relaxed);
        drop(values);
    }
}

impl Failed {
    /// Why a wait with this outcome has failed: if its limit did not end it, the channel was
    /// closed.
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Woken(_) | Outcome::NotParked => Self::Closed,
        }
    }
}
