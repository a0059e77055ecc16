//! A mutex that blocks fibres: a value behind a [`RawLock`].
//!
//! The lock decides what happens under contention (see [`lock`](crate::lock)). This file has the
//! parts that all locks share: the value, the guard and the bounds.
//!
//! There is no poisoning, as in `parking_lot`: a panic unwinds a fibre through its guards, which
//! unlock. Poisoning makes every user decide what to do about a panic elsewhere, and nearly all
//! decide to panic as well or to ignore it. The panic itself reaches the caller that joins the
//! fibre.

use crate::lock::{DefaultLock, RawLock};
use crate::owner::Owner;
use fibre_core::internal::{begin_within, given_up, waits_may_unwind};
use fibre_core::{Limit, WaitError, WaitKind, WaitObject, shield};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// Mutual exclusion for fibres and threads. There is no poisoning: after a panic of
/// the holder the mutex is simply free.
///
/// ```
/// use fibre::sync::Mutex;
///
/// let counter = Mutex::new(0);
/// fibre::scope(|scope| {
///     for _ in 0..10 {
///         scope.spawn(|| *counter.lock() += 1);
///     }
/// });
/// assert_eq!(*counter.lock(), 10);
/// ```
///
/// The second parameter chooses the lock. The default is fast and starves no caller for long. If
/// callers hold the mutex for longer than a microsecond or so while others wait, unlocking may
/// switch to the next holder at once, as locking may switch. With [`Settled`](crate::lock::Settled)
/// it never does. Choose another lock only after measuring:
///
/// ```
/// use fibre::sync::Mutex;
/// use fibre::sync::lock::Baton;
///
/// let queue = Mutex::<_, Baton>::with_lock(vec![1, 2]);
/// queue.lock().push(3);
/// assert_eq!(queue.into_inner(), [1, 2, 3]);
/// ```
#[doc(alias("pthread_mutex_t", "lock"))]
#[derive(Default)]
pub struct Mutex<T: ?Sized, L: RawLock = DefaultLock> {
    lock: L,
    /// The owner, in builds with debug assertions.
    owner: Owner,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value from one fibre or thread to the next.
unsafe impl<T: ?Sized + Send, L: RawLock> Send for Mutex<T, L> {}
// SAFETY: as above; sharing the mutex gives exclusive access only.
unsafe impl<T: ?Sized + Send, L: RawLock> Sync for Mutex<T, L> {}

fibre_core::end_of_frame!(Mutex<T, L>: lock; for T, L: RawLock + fibre_core::sync::EndOfFrame);

impl<T> Mutex<T> {
    fibre_core::const_outside_models! {
        /// A free mutex that holds `value`.
        pub const fn new(value: T) -> Self {
            Self::with_lock(value)
        }
    }
}

impl<T, L: RawLock> Mutex<T, L> {
    fibre_core::const_outside_models! {
        /// A free mutex that holds `value`, with a lock of any kind.
        pub const fn with_lock(value: T) -> Self {
            Self {
                lock: fibre_core::const_or!(L::FREE, L::default()),
                owner: Owner::new(),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// Waits until the mutex is the caller's. Blocks the fibre, or the thread if the caller is not
    /// a fibre. Locking a mutex that the caller already holds waits for ever; in builds with debug
    /// assertions it panics.
    ///
    /// Other fibres of the processor may run before it returns even if the mutex is free (see
    /// [`yield_point`](fibre_core::internal::yield_point)). So do not call it while you hold a lock
    /// of `std` that these fibres could want: they would block the kernel thread.
    ///
    /// # Panics
    ///
    /// In builds with debug assertions, if the caller has the mutex.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T, L> {
        self.refuse_owner();
        // Without a limit this cannot fail.
        self.lock_limited(Limit::None);
        self.guard()
    }

    /// Takes the mutex if it is free. Blocks nothing.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, L>> {
        match self.lock.try_lock() {
            true => Some(self.guard()),
            false => None,
        }
    }

    /// Like [`lock`](Self::lock), but gives up after `timeout`, or when the fibre is
    /// cancelled. It tries once in any case.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mutex = fibre::sync::Mutex::new(0);
    /// let held = mutex.lock();
    /// assert!(mutex.lock_timeout(Duration::from_millis(1)).is_none());
    /// drop(held);
    /// assert!(mutex.lock_timeout(Duration::ZERO).is_some());
    /// ```
    #[track_caller]
    pub fn lock_timeout(&self, timeout: Duration) -> Option<MutexGuard<'_, T, L>> {
        let limit = Limit::after(timeout);
        match self.lock_limited(limit) {
            true => Some(self.guard()),
            false => None,
        }
    }

    /// Like [`lock`](Self::lock), but gives up when the [`Limit`] comes.
    ///
    /// ```
    /// use fibre::Limit;
    ///
    /// let mutex = fibre::sync::Mutex::new(0);
    /// let held = mutex.lock();
    /// fibre::scope(|scope| {
    ///     let waits = scope.spawn(|| mutex.lock_within(Limit::Cancellation).is_err());
    ///     waits.cancel();
    ///     assert!(waits.join().unwrap());
    /// });
    /// drop(held);
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the mutex is not the caller's.
    ///
    /// # Panics
    ///
    /// In builds with debug assertions, if the caller has the mutex and no time limits the wait.
    #[inline]
    #[track_caller]
    pub fn lock_within(&self, limit: impl Into<Limit>) -> Result<MutexGuard<'_, T, L>, WaitError> {
        let limit = limit.into();
        if !limit.is_timed() {
            self.refuse_owner();
        }
        match self.lock_limited(begin_within(limit)?) {
            true => Ok(self.guard()),
            false => Err(given_up(limit)),
        }
    }

    /// Whether the mutex is locked at this moment.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// The value, without locking: the exclusive borrow proves that the mutex is free.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Takes the lock, and shows the mutex as the object waited for.
    #[inline]
    #[track_caller]
    fn lock_limited(&self, limit: Limit) -> bool {
        self.lock.lock_for(|| self.awaited(), limit)
    }

    /// The mutex, as its waiters note it.
    #[inline]
    fn awaited(&self) -> WaitObject {
        self.owner.of(WaitObject::new(WaitKind::Mutex, self))
    }

    /// What the end of a guard does.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and uses the value no more.
    #[inline]
    pub(crate) unsafe fn give_back(&self) {
        self.owner.leave();
        // SAFETY: passed on.
        unsafe { self.lock.unlock() };
    }

    /// The value. It may be used by the caller that holds the lock.
    #[inline]
    pub(crate) fn value(&self) -> *mut T {
        self.value.get()
    }

    /// In builds with debug assertions, panics if the caller has the mutex.
    #[inline]
    #[track_caller]
    fn refuse_owner(&self) {
        let address = std::ptr::from_ref(self).cast();
        self.owner.refuse_itself("mutex", address);
    }

    /// Makes the guard of a lock that has just been taken.
    #[inline]
    #[track_caller]
    fn guard(&self) -> MutexGuard<'_, T, L> {
        self.owner.take();
        MutexGuard {
            mutex: self,
            _not_send: PhantomData,
        }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for Mutex<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("Mutex").field(&&*value).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// Access to a locked [`Mutex`]'s value; dropping it unlocks.
///
/// The fibre or thread that locked must unlock, so a guard is not `Send`:
///
/// ```compile_fail
/// let mutex = fibre::sync::Mutex::new(0);
/// let guard = mutex.lock();
/// fibre::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
///
/// A guard is `Sync` only if its value is: a shared guard is a shared value.
///
/// ```compile_fail
/// let mutex = fibre::sync::Mutex::new(std::cell::Cell::new(0));
/// let guard = mutex.lock();
/// fibre::scope(|scope| {
///     scope.spawn(|| guard.set(1));
/// });
/// ```
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized, L: RawLock = DefaultLock> {
    mutex: &'a Mutex<T, L>,
    /// The fibre that locked has to unlock.
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for MutexGuard<'_, T, L> {}

impl<T: ?Sized, L: RawLock> MutexGuard<'_, T, L> {
    /// Unlocks for the condition variable, without running code of the user's. The guard must be
    /// relocked before it is used.
    #[inline]
    pub(crate) fn unlock_for_wait(&self) {
        self.mutex.owner.leave();
        // SAFETY: this guard holds the lock.
        unsafe { self.mutex.lock.unlock_to_wait() };
    }

    /// Undoes [`unlock_for_wait`](Self::unlock_for_wait).
    #[inline]
    #[track_caller]
    pub(crate) fn relock(&self) {
        if waits_may_unwind() {
            self.relock_in_shield();
        } else {
            let mutex = self.mutex;
            // Closed, as in a shield.
            let awaited = || mutex.awaited().closed();
            mutex.lock.lock_for(awaited, Limit::None);
        }
        self.mutex.owner.take();
    }

    /// Locks the mutex again where waits may unwind: a notification that has been consumed is not
    /// to be lost by that.
    #[cold]
    #[inline(never)]
    fn relock_in_shield(&self) {
        shield(|| self.mutex.lock_limited(Limit::None));
    }

    /// Relocks if the caller is unwound, as a wait in the meantime may be. Forget it otherwise.
    pub(crate) fn relock_on_unwind(&self) -> RelockOnUnwind<'_, T, L> {
        RelockOnUnwind(self)
    }
}

/// Locks a guard's mutex if it is dropped: a guard that goes has to hold the lock. A fibre that
/// unwinds is not unwound a second time, so this wait goes on until it has the lock.
pub(crate) struct RelockOnUnwind<'a, T: ?Sized, L: RawLock>(&'a MutexGuard<'a, T, L>);

impl<T: ?Sized, L: RawLock> Drop for RelockOnUnwind<'_, T, L> {
    #[cold]
    fn drop(&mut self) {
        let mutex = self.0.mutex;
        mutex.lock_limited(Limit::None);
        mutex.owner.take();
    }
}

impl<T: ?Sized, L: RawLock> Deref for MutexGuard<'_, T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for MutexGuard<'_, T, L> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for MutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard holds the lock.
        unsafe { self.mutex.give_back() };
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display, L: RawLock> fmt::Display for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
