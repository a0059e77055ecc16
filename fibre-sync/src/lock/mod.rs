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
//! | [`Hybrid`] | tries for a moment, then blocks; asks for the baton after 1 ms | frees it and wakes one, or hands it over if asked to |
//! | [`Baton`] | blocks | hands it over to the one that has waited longest |
//! | [`Exchange`] | blocks | hands it over, and lets that one run at once in its place |
//!
//! What is made of a lock (mutex, guard, condition variable) is written once, over [`RawLock`].

mod attempt;
mod queued;
mod spinning;
mod word;

pub use queued::{Barging, Baton, Exchange, Hybrid, Manner, Queued, SpinThenBlock};
pub use spinning::Spinning;
pub use word::{ListGuard, LockWord};

use fibre_core::Limit;

/// The lock of a [`Mutex`](crate::Mutex) unless another one is asked for; see
/// docs/decisions/0016.
pub type DefaultLock = Hybrid;

/// A lock without a value, for fibres and threads.
///
/// # Safety
///
/// From an acquisition that succeeded until `unlock`, no other one succeeds; the unlock
/// happens before the next acquisition; and it touches nothing of the lock once another one can
/// have succeeded.
pub unsafe trait RawLock: Default + Send + Sync {
    /// A free lock, all zeros.
    #[cfg(not(loom))]
    const FREE: Self;

    /// Takes the lock if it is free. Blocks nothing.
    fn try_lock(&self) -> bool;

    /// Takes the lock; `false`: the limit came first, and the lock is not the caller's. It tries
    /// once in any case. Blocks the fibre, or the thread if the caller is not a fibre.
    fn lock_within(&self, limit: Limit) -> bool;

    /// Gives the lock back.
    ///
    /// # Safety
    ///
    /// The lock is the caller's.
    unsafe fn unlock(&self);

    /// Whether somebody has the lock at this moment.
    fn is_locked(&self) -> bool;
}
