//! The contract of all locks without a value.

use fibre_core::{Limit, WaitObject};

/// A lock without a value, for fibres and threads.
///
/// # Safety
///
/// From a successful acquisition until `unlock`, no other acquisition succeeds. The unlock happens
/// before the next acquisition. The unlock does not touch the lock once another acquisition may
/// have succeeded.
pub unsafe trait RawLock: Default + Send + Sync {
    fibre_core::const_outside_models! {
        /// A free lock, all zeros.
        const FREE: Self;
    }

    /// Takes the lock if it is free. Blocks nothing.
    fn try_lock(&self) -> bool;

    /// Takes the lock. Returns `false` if the limit came first; then the lock is not the caller's.
    /// It tries once in any case. Blocks the fibre, or the thread if the caller is not a fibre.
    #[track_caller]
    fn lock_within(&self, limit: Limit) -> bool;

    /// [`lock_within`](Self::lock_within) for a caller that is shown to wait for `awaited`; the
    /// lock is a part of that. A lock that does not provide this waits as
    /// [`lock_within`](Self::lock_within) does.
    #[inline]
    #[track_caller]
    fn lock_for(&self, awaited: impl FnOnce() -> WaitObject, limit: Limit) -> bool {
        let _ = awaited;
        self.lock_within(limit)
    }

    /// Gives the lock back.
    ///
    /// # Safety
    ///
    /// The lock is the caller's.
    unsafe fn unlock(&self);

    /// Gives the lock back for a fibre that is about to wait and can be woken already: the unlock
    /// must not leave the stack before that wait does.
    ///
    /// # Safety
    ///
    /// The lock is the caller's.
    unsafe fn unlock_to_wait(&self) {
        // SAFETY: passed on.
        unsafe { self.unlock() };
    }

    /// Whether the lock is held at this moment.
    fn is_locked(&self) -> bool;
}
