//! What all locks without a value have in common.

use fibre_core::{Awaited, Limit};

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
    #[track_caller]
    fn lock_within(&self, limit: Limit) -> bool;

    /// The same for one who is seen to wait for `awaited`, of which the lock is a part. A lock that does not
    /// provide this is waited for as [`lock_within`](Self::lock_within) does.
    #[inline]
    #[track_caller]
    fn lock_for(&self, awaited: impl FnOnce() -> Awaited, limit: Limit) -> bool {
        let _ = awaited;
        self.lock_within(limit)
    }

    /// Gives the lock back.
    ///
    /// # Safety
    ///
    /// The lock is the caller's.
    unsafe fn unlock(&self);

    /// Gives the lock back for one who is about to wait and can be woken already: it leaves its
    /// stack to wait, and not before.
    ///
    /// # Safety
    ///
    /// The lock is the caller's.
    unsafe fn unlock_to_wait(&self) {
        // SAFETY: passed on.
        unsafe { self.unlock() };
    }

    /// Whether somebody has the lock at this moment.
    fn is_locked(&self) -> bool;
}
