//! Channels: values go from senders to receivers, any number of both.
//!
//! * [`bounded`]: room for so many values; a sender into a full channel waits.
//! * [`unbounded`]: room for any number; sending never waits.
//! * [`rendezvous`]: no room; a value goes from the sender to the receiver when both have come.
//! * [`oneshot()`]: for one value.
//! * [`broadcast()`]: every value for every receiver; a slow one misses the oldest.
//! * [`watch()`]: a value that changes; receivers see the latest.
//!
//! In the first four, values are received in the order they were sent, each once, and waiters are
//! served in order of arrival. If a receiver or sender waits, a value goes directly from hand to
//! hand. To wait for several of these at once, use the macro [`select!`](crate::select), or
//! [`Select`] if their number is known only at run time.
//!
//! ```
//! let (sender, receiver) = fibre::channel::bounded(10);
//! fibre::spawn(move || {
//!     for i in 0..100 {
//!         sender.send(i).unwrap();
//!     }
//! });
//! assert_eq!(receiver.iter().sum::<i32>(), 4950);
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `select` | waiting for one of several operations |
//! | `buffer` | the values on their way |
//! | `state` | what the lock protects, and each step under it |
//! | `shared` | the channel: blocking, closing |
//! | `sender`, `receiver`, `ends`, `oneshot` | the handles |
//! | `select/` | one of several operations |
//! | `watch`, `broadcast` | for all receivers: the latest value, or every one |
//! | `chunks` | the ring of `broadcast` |
//! | `news` | how their receivers wait |
//! | `futures` | sending and receiving by asynchronous code |
//! | `errors` | why a value could not be sent or received |

mod broadcast;
mod buffer;
mod chunks;
mod ends;
mod errors;
mod futures;
mod news;
mod oneshot;
mod receiver;
mod select;
mod sender;
mod shared;
mod state;
mod watch;

pub use broadcast::{BroadcastArm, BroadcastReceiver, BroadcastSender, Received, broadcast};
pub use errors::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySelectError,
    TrySendError,
};
pub use futures::{RecvFuture, SendFuture};
pub use oneshot::{OneshotReceiver, OneshotSender};
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use select::{RecvArm, Select, SelectedOperation, SendArm};
pub use sender::Sender;
pub use watch::{ChangedArm, WatchReceiver, WatchSender, watch};

use shared::Channel;
use std::sync::Arc;

/// A channel with room for `capacity` values. The first value that stays in it allocates the memory
/// for all; if `capacity` is above 16384, memory grows piece by piece, as values come. The channel
/// keeps that memory. `usize::MAX` means any number, as in [`unbounded`]. With zero it is a
/// [`rendezvous`] channel.
///
/// ```
/// let (sender, receiver) = fibre::channel::bounded(1);
/// fibre::scope(|scope| {
///     scope.spawn(move || (0..10).for_each(|i| sender.send(i).unwrap()));
///     assert!(receiver.iter().eq(0..10));
/// });
/// ```
#[doc(alias("mpsc", "mpmc", "sync_channel", "chan"))]
#[must_use]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(capacity));
    (Sender::new(Arc::clone(&channel)), Receiver::new(channel))
}

/// A channel with room for any number of values. It keeps the memory it has allocated, for later
/// values.
///
/// ```
/// let (sender, receiver) = fibre::channel::unbounded();
/// (0..1000).for_each(|i| sender.send(i).unwrap());
/// assert_eq!(receiver.try_iter().count(), 1000);
/// ```
#[doc(alias("mpsc", "unbounded_channel"))]
#[must_use]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

/// A channel without room: a sender waits until a receiver takes the value, and a receiver waits
/// for a sender.
///
/// ```
/// let (sender, receiver) = fibre::channel::rendezvous();
/// assert!(sender.try_send(1).is_err()); // nobody waits for it
/// let other = fibre::spawn(move || sender.send(2).is_ok());
/// assert_eq!(receiver.recv(), Ok(2));
/// assert!(other.join().unwrap());
/// ```
#[doc(alias("chan", "unbuffered"))]
#[must_use]
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    bounded(0)
}

/// A channel for one value. Sending it never blocks.
///
/// ```
/// let (sender, receiver) = fibre::channel::oneshot();
/// fibre::spawn(move || sender.send("done"));
/// assert_eq!(receiver.recv(), Ok("done"));
/// ```
#[must_use]
pub fn oneshot<T>() -> (OneshotSender<T>, OneshotReceiver<T>) {
    let (sender, receiver) = bounded(1);
    (OneshotSender::new(sender), OneshotReceiver::new(receiver))
}
