//! Locks without a value: the barging spectrum behind one contract.
//!
//! *Barging* means taking a lock that was freed while others wait for it (thesis section 3.3). It
//! keeps a lock busy, since a running fibre need not wait until a sleeping one has been woken. It
//! starves the sleeping ones. From the most barging to none:
//!
//! | lock | a caller that finds it taken | the unlocker |
//! |---|---|---|
//! | [`Spinning`] | tries again and again | frees it |
//! | [`SpinThenBlock`] | tries for a moment, then blocks | frees it, and wakes one |
//! | [`Barging`] | blocks | frees it, and wakes one |
//! | [`Hybrid`] | tries for a moment, then blocks; asks for the baton 1 ms after it was woken for nothing | frees it and wakes one, or hands it over if asked to, or if turns are long |
//! | [`Settled`] | the same | the same, but however long turns are |
//! | [`Baton`] | blocks | hands it over to the waiter that has waited longest |
//! | [`Exchange`] | blocks | hands it over, and lets that waiter run at once in its place |
//!
//! Mutex, guard and condition variable are written once, over [`RawLock`].
//!
//! Files:
//!
//! * `raw_lock`: the contract of all locks without a value;
//! * `word`: the one word of a lock that keeps a list of waiters;
//! * `attempt`: trying for a moment before blocking;
//! * `heat`: what a lock's turns are like;
//! * `queued`: locks with waiters that block in a list; the default one;
//! * `variants`: the other ones;
//! * `spinning`: a lock with waiters that never block.

pub(crate) mod attempt;
mod heat;
mod queued;
mod raw_lock;
mod spinning;
pub mod variants;
mod word;

#[doc(hidden)]
pub use heat::{Heat, Turns};
pub use queued::{HandOver, Hybrid, LockPolicy, Queued};
pub use raw_lock::RawLock;
pub use spinning::{Spinning, spin_for};
pub use variants::*;
pub use word::{ListGuard, LockWord};

/// The default lock of a [`Mutex`](crate::Mutex); see docs/decisions/0016.
pub type DefaultLock = Hybrid;
