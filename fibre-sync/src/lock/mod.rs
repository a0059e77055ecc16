//! Locks without a value: the barging spectrum behind one contract.
//!
//! *Barging* is to take a lock that was freed while others wait for it (thesis section 3.3).
//! It keeps a lock busy, since a running fibre need not wait until a sleeping one has been woken, and
//! it starves those who sleep. From the most barging to none:
//!
//! | lock | who finds it taken | who unlocks |
//! |---|---|---|
//! | [`Spinning`] | tries again and again | frees it |
//! | [`SpinThenBlock`] | tries for a moment, then blocks | frees it, and wakes one |
//! | [`Barging`] | blocks | frees it, and wakes one |
//! | [`Hybrid`] | tries for a moment, then blocks; asks for the baton 1 ms after it was woken in vain | frees it and wakes one, or hands it over if asked to |
//! | [`Baton`] | blocks | hands it over to the one that has waited longest |
//! | [`Exchange`] | blocks | hands it over, and lets that one run at once in its place |
//!
//! What is made of a lock (mutex, guard, condition variable) is written once, over [`RawLock`].

mod attempt;
mod heat;
mod queued;
mod raw_lock;
mod spinning;
mod word;

pub use queued::{Barging, Baton, Exchange, Hybrid, Manner, Queued, SpinThenBlock};
pub use raw_lock::RawLock;
pub use spinning::{Spinning, spin_for};
pub use word::{ListGuard, LockWord};

/// The lock of a [`Mutex`](crate::Mutex) unless another one is asked for; see
/// docs/decisions/0016.
pub type DefaultLock = Hybrid;
