//! One of the operations that a selection chooses from.
//!
//! An operation has a [`Place`] of its own, which enters its channel's line while the selection
//! waits. The operation's value always lies in its place's slot: the value to be sent until it is
//! sent, or the received one once it is received. Operations are joint arms: see [`LockedArm`].

use crate::channel::errors::{RecvError, SendError};
use crate::channel::oneshot::OneshotReceiver;
use crate::channel::receiver::Receiver;
use crate::channel::sender::Sender;
use crate::channel::shared::{Channel, Held};
use crate::channel::state::{Afterwards, Offered, Place, State, Taken};
use crate::selection::parts::Candidate;
use crate::wait_list::WaitList;
use fibre_core::internal::{LockedArm, Resume, Waiter};
use fibre_core::sync::Framed;
use fibre_core::{Arm, Entered, Left};
use std::cell::Cell;
use std::fmt;
use std::time::Instant;

/// The way that the value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Into the channel.
    In,
    /// Out of it.
    Out,
}

/// The work that is left once all locks have been given back.
enum Duty<T> {
    /// A receiver has got the value.
    Receiver(Resume),
    /// A value has been taken; this is the work that the receiver then does.
    Afterwards(Afterwards<T>),
}

/// One operation on one channel, as an arm.
pub(crate) struct Operation<'a, T> {
    channel: &'a Channel<T>,
    way: Way,
    place: Framed<Place<T>>,
    /// Whether this is the one that was chosen: it has been carried out, or the channel is
    /// closed.
    chosen: Cell<bool>,
    /// The lock, while it is this arm that has it.
    held: Cell<Option<Held<'a, T>>>,
    duty: Cell<Option<Duty<T>>>,
}

/// An operation, whatever its type of value is. All are used by the fibre or thread that selects.
pub(crate) trait AnyOperation: LockedArm {
    /// Which way its value goes.
    fn way(&self) -> Way;
    /// Where it is itself.
    fn this(&self) -> *const ();
    /// Itself, as a joint arm.
    fn as_joint(&self) -> &dyn LockedArm;
    /// Whether it can be chosen: one that has sent its value has nothing left to do.
    fn is_spent(&self) -> bool;
    /// Forgets that it was chosen, and drops what it has received.
    fn reset(&self);
    /// Whether it was chosen.
    fn is_chosen(&self) -> bool;
    /// Records that it was.
    fn note_chosen(&self);
    /// Carries it out, if that can be done now. Takes the lock for itself.
    fn attempt_alone(&self) -> bool;
}

/// The operation with its type. The channel that it belongs to vouches for that type.
///
/// # Panics
///
/// If it is not an operation of this channel and this way.
pub(crate) fn typed<'s, T>(
    operation: &'s dyn AnyOperation,
    channel: &Channel<T>,
    way: Way,
) -> &'s Operation<'s, T> {
    let address = std::ptr::from_ref(channel).addr();
    assert!(
        operation.address() == address && operation.way() == way,
        "the operation is another one than that of this index"
    );
    // SAFETY: a channel of this type is at the address, and it is the operation's channel, which it
    // borrows; so its type is that of the channel's operations.
    unsafe { &*operation.this().cast() }
}

impl<'a, T> Operation<'a, T> {
    /// An operation for a value that is to be sent, or for one to be received.
    fn new(channel: &'a Channel<T>, way: Way, value: Option<T>) -> Self {
        let place = Framed::new(Place::new());
        place.replace(value);
        Self {
            channel,
            way,
            place,
            chosen: Cell::new(false),
            held: Cell::new(None),
            duty: Cell::new(None),
        }
    }

    /// An operation that receives.
    pub(crate) fn receiving(receiver: &'a Receiver<T>) -> Self {
        Self::new(receiver.channel(), Way::Out, None)
    }

    /// An operation that sends this value.
    pub(crate) fn sending(sender: &'a Sender<T>, value: T) -> Self {
        Self::new(sender.channel(), Way::In, Some(value))
    }

    /// Takes the value: what could not be sent, or was received.
    pub(crate) fn take(&self) -> Option<T> {
        self.place.replace(None)
    }

    /// Its line.
    fn line<'s>(&self, state: &'s mut State<T>) -> &'s mut WaitList {
        match self.way {
            Way::In => &mut state.sending,
            Way::Out => &mut state.receiving,
        }
    }

    /// Tries to carry it out, under the lock.
    fn attempt_under(&self, state: &mut State<T>) -> bool {
        let mut value = self.take();
        let chosen = match self.way {
            Way::In => match self.channel.offer_under(state, &mut value) {
                Offered::Full => false,
                Offered::NeedsRing => unreachable!("it had room, and was tried alone before"),
                Offered::Handed(receiver) => {
                    self.duty.set(Some(Duty::Receiver(receiver)));
                    true
                }
                Offered::Stored | Offered::Closed => true,
            },
            Way::Out => match self.channel.take_under(state) {
                Taken::Empty => false,
                Taken::Closed => true,
                Taken::Value(taken, afterwards) => {
                    value = Some(taken);
                    self.duty.set(Some(Duty::Afterwards(afterwards)));
                    true
                }
            },
        };
        self.place.replace(value);
        self.chosen.set(chosen);
        chosen
    }
}

impl<T> LockedArm for Operation<'_, T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self.channel).addr()
    }

    fn lock(&self) {
        self.held.set(Some(self.channel.lock()));
    }

    fn unlock(&self) {
        drop(self.held.take());
    }

    unsafe fn attempt_locked(&self) -> bool {
        // SAFETY: the caller has the lock, and uses no other reference to the state now.
        !self.is_spent() && self.attempt_under(unsafe { &mut *self.channel.state() })
    }

    unsafe fn enter_locked(&self, waiter: &Waiter) {
        if self.is_spent() {
            return;
        }
        // SAFETY: as in `attempt_locked`.
        let state = unsafe { &mut *self.channel.state() };
        // SAFETY: passed on.
        unsafe { self.place.enter_among(self.line(state), waiter) };
    }

    fn leave_line(&self) -> Left {
        // SAFETY: an operation has one line.
        unsafe { self.place.leave_among(self.line(&mut self.channel.lock())) }
    }

    fn carry_out(&self) {
        match self.duty.take() {
            Some(Duty::Receiver(receiver)) => receiver.resume(),
            Some(Duty::Afterwards(afterwards)) => afterwards.carry_out(),
            None => {}
        }
    }
}

impl<T> AnyOperation for Operation<'_, T> {
    fn way(&self) -> Way {
        self.way
    }

    fn this(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    fn as_joint(&self) -> &dyn LockedArm {
        self
    }

    fn is_spent(&self) -> bool {
        let value = self.take();
        let spent = self.way == Way::In && value.is_none();
        self.place.replace(value);
        spent
    }

    fn reset(&self) {
        self.chosen.set(false);
        if self.way == Way::Out {
            drop(self.take());
        }
    }

    fn is_chosen(&self) -> bool {
        self.chosen.get()
    }

    fn note_chosen(&self) {
        self.chosen.set(true);
    }

    fn attempt_alone(&self) -> bool {
        if self.way == Way::In {
            // It may take memory, without the lock.
            let mut value = self.take();
            let offered = value.is_some().then(|| self.channel.offer(&mut value));
            self.place.replace(value);
            let done = !matches!(offered, None | Some(Offered::Full));
            self.chosen.set(done);
            return done;
        }
        let chosen = self.attempt_under(&mut self.channel.lock());
        self.carry_out();
        chosen
    }
}

/// An operation of a [`Select`](super::Select), among its arms.
pub(crate) struct OperationCase<'a>(pub(crate) Box<dyn AnyOperation + 'a>);

// SAFETY: the operation is in the case's box, and nowhere else in a selection.
unsafe impl Candidate for OperationCase<'_> {
    fn is_open(&self) -> bool {
        !self.0.is_spent()
    }

    fn attempt(&mut self) -> bool {
        self.0.attempt_alone()
    }

    fn due(&self) -> Option<Instant> {
        None
    }

    unsafe fn enter(&self, _: &Waiter) -> Entered {
        unreachable!("joint arms enter together")
    }

    unsafe fn leave(&self, _: &Waiter) -> Left {
        unreachable!("joint arms leave by themselves")
    }

    fn woken(&mut self, _: u32) -> bool {
        self.0.note_chosen();
        true
    }

    fn is_from_outside(&self) -> bool {
        false
    }

    unsafe fn joint(&self) -> Option<&dyn LockedArm> {
        Some(self.0.as_joint())
    }
}

/// The methods of an arm over an operation. `result` makes its result from what lies in its slot.
macro_rules! operation_arm {
    ($(#[$about:meta])* $arm:ident => $output:ty, $result:expr) => {
        $(#[$about])*
        #[must_use = "an arm waits in a selection only"]
        pub struct $arm<'a, T>(Operation<'a, T>);

        impl<T> Arm for $arm<'_, T> {
            type Output = $output;

            fn attempt(&mut self) -> Option<$output> {
                self.0.attempt_alone().then(|| ($result)(self.0.take()))
            }

            unsafe fn enter(&self, _: &Waiter) -> Entered {
                unreachable!("joint arms enter together")
            }

            unsafe fn leave(&self, _: &Waiter) -> Left {
                unreachable!("joint arms leave by themselves")
            }

            fn woken(&mut self, _: u32) -> Option<$output> {
                Some(($result)(self.0.take()))
            }

            unsafe fn joint(&self) -> Option<&dyn LockedArm> {
                Some(&self.0)
            }
        }

        impl<T> fmt::Debug for $arm<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($arm)).finish_non_exhaustive()
            }
        }
    };
}

operation_arm! {
    /// An arm of `select!` that receives; made by [`Receiver::recv_arm`].
    RecvArm => Result<T, RecvError>, |value: Option<T>| value.ok_or(RecvError)
}

operation_arm! {
    /// An arm of `select!` that sends; made by [`Sender::send_arm`]. Once it has been chosen, it
    /// has nothing more to send, and is never chosen again.
    SendArm => Result<(), SendError<T>>,
    |value: Option<T>| value.map_or(Ok(()), |value| Err(SendError(value)))
}

impl<T> Receiver<T> {
    /// [`recv`](Self::recv) as an arm of `select!`, which may also be written `recv(receiver)`. If
    /// another arm is chosen, no value has been taken.
    ///
    /// ```
    /// use fibre::{channel::unbounded, select};
    ///
    /// let ((numbers, from_numbers), (_words, from_words)) = (unbounded(), unbounded::<&str>());
    /// numbers.send(5).unwrap();
    /// let length = select! {
    ///     Ok(number) = from_numbers.recv_arm() => number,
    ///     Ok(word) = from_words.recv_arm() => word.len(),
    ///     else => 0, // both are closed
    /// };
    /// assert_eq!(length, 5);
    /// ```
    pub fn recv_arm(&self) -> RecvArm<'_, T> {
        RecvArm(Operation::receiving(self))
    }
}

impl<T> OneshotReceiver<T> {
    /// [`recv`](Self::recv) as an arm of `select!`. If another arm is chosen, the value has not
    /// been taken.
    ///
    /// ```
    /// use fibre::{channel::oneshot, select, sync::Event};
    ///
    /// let ((answer, question), stop) = (oneshot(), Event::new());
    /// answer.send(42).unwrap();
    /// let answer = select! {
    ///     answer = question.recv_arm() => answer.ok(),
    ///     () = stop.wait_arm() => None,
    /// };
    /// assert_eq!(answer, Some(42));
    /// ```
    pub fn recv_arm(&self) -> RecvArm<'_, T> {
        self.as_ref().recv_arm()
    }
}

impl<T> Sender<T> {
    /// [`send`](Self::send) as an arm of `select!`, which may also be written `send(sender,
    /// value)`. If another arm is chosen, the value is dropped with this one.
    ///
    /// ```
    /// use fibre::{channel::bounded, select};
    ///
    /// let (jobs, _from_jobs) = bounded(1);
    /// jobs.send("first").unwrap();
    /// let sent = select! {
    ///     sent = jobs.send_arm("second") => sent.is_ok(),
    ///     default => false,
    /// };
    /// assert!(!sent, "there is room for one");
    /// ```
    pub fn send_arm(&self, value: T) -> SendArm<'_, T> {
        SendArm(Operation::sending(self, value))
    }
}
