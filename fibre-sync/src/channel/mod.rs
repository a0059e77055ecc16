//! Channels: values go from senders to receivers, any number of both.
//!
//! * [`bounded`]: room for so many values; who sends into a full one waits.
//! * [`unbounded`]: room for any number; sending never waits.
//! * [`rendezvous`]: no room; a value goes from hand to hand, when both have come.
//! * [`oneshot()`]: for one value.
//!
//! Each value is received once, in the order in which they were sent, and those who wait are
//! served in the order in which they came. Values go directly from hand to hand when somebody
//! waits. To wait for several channels at once, there are the macro [`select!`](crate::select),
//! and [`Select`] for a number of them that is not known before.
//!
//! ```
//! let (sender, receiver) = fibre_sync::channel::bounded(10);
//! fibre_core::spawn(move || {
//!     for i in 0..100 {
//!         sender.send(i).unwrap();
//!     }
//! });
//! assert_eq!(receiver.iter().sum::<i32>(), 4950);
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `buffer` | the values on their way |
//! | `state` | what the lock protects, and each step under it |
//! | `shared` | the channel: blocking, closing |
//! | `sender`, `receiver`, `ends`, `oneshot` | the handles |
//! | `select/` | one of several operations |
//! | `errors` | why not |

mod buffer;
mod ends;
mod errors;
mod oneshot;
mod receiver;
mod select;
mod sender;
mod shared;
mod state;

pub use errors::{
    RecvCancellableError, RecvError, RecvTimeoutError, SelectTimeoutError, SendCancellableError,
    SendError, SendTimeoutError, TryRecvError, TrySelectError, TrySendError,
};
pub use oneshot::{OneshotReceiver, OneshotSender};
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use select::{Select, SelectedOperation};
pub use sender::Sender;

/// What the macro [`select!`](crate::select) is made of.
#[doc(hidden)]
pub mod arms {
    pub use super::select::{
        Candidate, PATIENT, Patience, RecvArm, SendArm, after, select_among, until,
    };
}

use shared::Channel;
use std::sync::Arc;

/// A channel with room for `capacity` values, for which it allocates memory with the first one
/// that stays in it. Without room it is a [`rendezvous`] channel.
///
/// ```
/// let (sender, receiver) = fibre_sync::channel::bounded(1);
/// fibre_core::scope(|scope| {
///     scope.spawn(move || (0..10).for_each(|i| sender.send(i).unwrap()));
///     assert!(receiver.iter().eq(0..10));
/// });
/// ```
#[must_use]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(capacity));
    (Sender::new(Arc::clone(&channel)), Receiver::new(channel))
}

/// A channel with room for any number of values. Memory it once took for them it keeps for
/// those to come.
///
/// ```
/// let (sender, receiver) = fibre_sync::channel::unbounded();
/// (0..1000).for_each(|i| sender.send(i).unwrap());
/// assert_eq!(receiver.try_iter().count(), 1000);
/// ```
#[must_use]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

/// A channel without room: who sends waits until somebody receives the value, and the other way
/// round.
///
/// ```
/// let (sender, receiver) = fibre_sync::channel::rendezvous();
/// assert!(sender.try_send(1).is_err()); // nobody waits for it
/// let other = fibre_core::spawn(move || sender.send(2).is_ok());
/// assert_eq!(receiver.recv(), Ok(2));
/// assert!(other.join().unwrap());
/// ```
#[must_use]
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    bounded(0)
}

/// A channel for one value. Sending it never blocks.
///
/// ```
/// let (sender, receiver) = fibre_sync::channel::oneshot();
/// fibre_core::spawn(move || sender.send("done"));
/// assert_eq!(receiver.recv(), Ok("done"));
/// ```
#[must_use]
pub fn oneshot<T>() -> (OneshotSender<T>, OneshotReceiver<T>) {
    let (sender, receiver) = bounded(1);
    (OneshotSender::new(sender), OneshotReceiver::new(receiver))
}
