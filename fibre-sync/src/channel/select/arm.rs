//! One of the operations that a selection chooses from.
//!
//! An arm has a [`Place`] of its own, which enters its channel's line while the selection waits.
//! All places of a selection have the same waiter, so wakers can claim only one of them. The arm's
//! value always lies in its place's slot: the value to be sent until it is sent, or the received
//! value from then on.

use crate::channel::errors::{RecvError, SendError};
use crate::channel::receiver::Receiver;
use crate::channel::sender::Sender;
use crate::channel::shared::{Channel, Held};
use crate::channel::state::{Afterwards, Offered, Place, State, Taken};
use crate::wait_list::WaitList;
use fibre_core::internal::{Resume, Waiter};
use fibre_core::sync::Framed;
use std::cell::Cell;

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
    /// A value has been taken; this is the receiver's work after it.
    Afterwards(Afterwards<T>),
}

/// See the module text.
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

/// An arm, whatever its type of value is. All are used by the fibre or thread that selects.
pub(crate) trait Arm {
    /// Which channel it is of: arms are sorted by it, and locks taken in that order.
    fn address(&self) -> usize;
    /// Which way its value goes.
    fn way(&self) -> Way;
    /// Where it is itself.
    fn this(&self) -> *const ();
    /// Whether it can be chosen: an arm that has sent its value has nothing left to do.
    fn is_spent(&self) -> bool;
    /// Forgets that it was chosen, and drops what it has received.
    fn reset(&self);
    /// Whether it was chosen.
    fn is_chosen(&self) -> bool;
    /// Carries it out, if that can be done now. Takes the lock for itself.
    fn attempt_alone(&self) -> bool;
    /// Takes the channel's lock.
    fn lock(&self);
    /// Gives it back, if it was taken by this arm.
    fn unlock(&self);
    /// Carries it out, if that can be done now.
    ///
    /// # Safety
    ///
    /// One of the selection's arms has the channel's lock.
    unsafe fn attempt(&self) -> bool;
    /// Enters the line.
    ///
    /// # Safety
    ///
    /// As for `attempt`; and the arm stays where it is until it has left.
    unsafe fn enter(&self, waiter: &Waiter, token: u32);
    /// Leaves the line, if it still stands there. Takes the lock for itself.
    fn leave(&self);
    /// Records that a waker has chosen it.
    fn note_chosen(&self);
    /// Does what was left to be done after the locks have been given back.
    fn carry_out(&self);
}

/// The arm with its type, of which it is by the channel that it is of.
///
/// # Panics
///
/// If it is not an arm of this channel and this way.
pub(crate) fn typed<'s, T>(
    arm: &'s dyn Arm,
    channel: &Channel<T>,
    way: Way,
) -> &'s Operation<'s, T> {
    let address = std::ptr::from_ref(channel).addr();
    assert!(
        arm.address() == address && arm.way() == way,
        "the operation is another one than that of this index"
    );
    // SAFETY: a channel of this type is at the address, and it is the arm's channel, which the
    // arm borrows; so the arm's type is that of the channel's arms.
    unsafe { &*arm.this().cast() }
}

impl<'a, T> Operation<'a, T> {
    /// An arm for a value that is to be sent, or for one to be received.
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

    /// An arm that receives.
    pub(crate) fn receiving(receiver: &'a Receiver<T>) -> Self {
        Self::new(receiver.channel(), Way::Out, None)
    }

    /// An arm that sends this value.
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

impl<T> Arm for Operation<'_, T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self.channel).addr()
    }

    fn way(&self) -> Way {
        self.way
    }

    fn this(&self) -> *const () {
        std::ptr::from_ref(self).cast()
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

    fn attempt_alone(&self) -> bool {
        if self.way == Way::In {
            // It may take memory, without the lock.
            let mut value = self.take();
            let offered = self.channel.offer(&mut value);
            self.place.replace(value);
            self.chosen.set(!matches!(offered, Offered::Full));
            return self.chosen.get();
        }
        let chosen = self.attempt_under(&mut self.channel.lock());
        self.carry_out();
        chosen
    }

    fn lock(&self) {
        self.held.set(Some(self.channel.lock()));
    }

    fn unlock(&self) {
        drop(self.held.take());
    }

    unsafe fn attempt(&self) -> bool {
        // SAFETY: the caller has the lock, and uses no other reference to the state now.
        self.attempt_under(unsafe { &mut *self.channel.state() })
    }

    unsafe fn enter(&self, waiter: &Waiter, token: u32) {
        // SAFETY: as in `attempt`.
        let state = unsafe { &mut *self.channel.state() };
        // SAFETY: passed on.
        unsafe { self.place.enter(self.line(state), waiter, token) };
    }

    fn leave(&self) {
        // SAFETY: an arm has one line.
        unsafe { self.place.leave(self.line(&mut self.channel.lock())) };
    }

    fn note_chosen(&self) {
        self.chosen.set(true);
    }

    fn carry_out(&self) {
        match self.duty.take() {
            Some(Duty::Receiver(receiver)) => receiver.resume(),
            Some(Duty::Afterwards(afterwards)) => afterwards.carry_out(),
            None => {}
        }
    }
}

/// An arm among those of one selection. It borrows the arm for itself, as that can stand in its
/// channel's line only once:
///
/// ```compile_fail,E0499
/// use fibre::channel::{arms, unbounded};
///
/// let (_sender, receiver) = unbounded::<u8>();
/// let mut arm = arms::RecvArm::new(&receiver);
/// arms::select_among([arm.candidate(), arm.candidate()], arms::Patience::None);
/// ```
///
/// Nor can what has come of an arm be asked for twice, as the value has gone with the first answer:
///
/// ```compile_fail,E0382
/// use fibre::channel::{arms, unbounded};
///
/// let (sender, _receiver) = unbounded();
/// let arm = arms::SendArm::new(&sender, 1);
/// assert!(arm.result().is_none());
/// assert!(arm.result().is_none());
/// ```
pub struct Candidate<'s>(pub(crate) &'s dyn Arm);

/// The one selection that an arm may stand in: its value may be gone after that.
#[derive(Debug, Default)]
struct Once {
    /// Whether it has stood in one.
    spent: bool,
}

impl Once {
    /// Enters the one selection.
    ///
    /// # Panics
    ///
    /// If it is the second one.
    fn enter(&mut self) {
        let spent = std::mem::replace(&mut self.spent, true);
        assert!(!spent, "an arm of `select!` stands in one selection only");
    }
}

/// An arm of `select!` that receives.
pub struct RecvArm<'a, T> {
    operation: Operation<'a, T>,
    once: Once,
}

impl<'a, T> RecvArm<'a, T> {
    /// Receives from this channel.
    pub fn new(receiver: &'a Receiver<T>) -> Self {
        Self {
            operation: Operation::receiving(receiver),
            once: Once::default(),
        }
    }

    /// Itself, among others.
    ///
    /// # Panics
    ///
    /// If it has stood in a selection before.
    pub fn candidate(&mut self) -> Candidate<'_> {
        self.once.enter();
        Candidate(&self.operation)
    }

    /// What has come of it, if it was chosen.
    pub fn result(self) -> Option<Result<T, RecvError>> {
        let chosen = self.operation.is_chosen();
        chosen.then(|| self.operation.take().ok_or(RecvError))
    }
}

/// An arm of `select!` that sends.
pub struct SendArm<'a, T> {
    operation: Operation<'a, T>,
    once: Once,
}

impl<'a, T> SendArm<'a, T> {
    /// Sends this value into this channel.
    pub fn new(sender: &'a Sender<T>, value: T) -> Self {
        Self {
            operation: Operation::sending(sender, value),
            once: Once::default(),
        }
    }

    /// Itself, among others.
    ///
    /// # Panics
    ///
    /// If it has stood in a selection before.
    pub fn candidate(&mut self) -> Candidate<'_> {
        self.once.enter();
        Candidate(&self.operation)
    }

    /// What has come of it, if it was chosen.
    pub fn result(self) -> Option<Result<(), SendError<T>>> {
        let chosen = self.operation.is_chosen();
        chosen.then(|| match self.operation.take() {
            Some(value) => Err(SendError(value)),
            None => Ok(()),
        })
    }
}
