//! Guards with a share of their lock, and so without a lifetime: for structures that keep a guard.

use crate::lock::{DefaultLock, RawLock};
use crate::mutex::{Mutex, MutexGuard};
use crate::rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use fibre_core::{Limit, WaitError};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// A guard is dropped by the fibre that made it.
type NotSend = PhantomData<*const ()>;

/// [`MutexGuard`] with a share of the mutex.
///
/// ```
/// use fibre::sync::{Mutex, OwnedMutexGuard};
/// use std::sync::Arc;
///
/// struct Transaction {
///     accounts: OwnedMutexGuard<Vec<i64>>,
/// }
///
/// let accounts = Arc::new(Mutex::new(vec![5, 0]));
/// let mut transaction = Transaction { accounts: accounts.lock_owned() };
/// transaction.accounts[0] -= 5;
/// transaction.accounts[1] += 5;
/// drop(transaction);
/// assert_eq!(*accounts.lock(), [0, 5]);
/// ```
///
/// As a [`MutexGuard`], it is not `Send`:
///
/// ```compile_fail
/// let mutex = std::sync::Arc::new(fibre::sync::Mutex::new(0));
/// let guard = mutex.lock_owned();
/// fibre::spawn(move || drop(guard));
/// ```
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct OwnedMutexGuard<T: ?Sized, L: RawLock = DefaultLock> {
    mutex: Arc<Mutex<T, L>>,
    _not_send: NotSend,
}

/// [`RwLockReadGuard`] with a share of the lock.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    _not_send: NotSend,
}

/// [`RwLockWriteGuard`] with a share of the lock.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    _not_send: NotSend,
}

// SAFETY: a shared guard gives shared access to the value; its share of the mutex cannot be had.
unsafe impl<T: ?Sized + Sync, L: RawLock> Sync for OwnedMutexGuard<T, L> {}
// SAFETY: the same.
unsafe impl<T: ?Sized + Sync> Sync for OwnedRwLockReadGuard<T> {}
// SAFETY: the same.
unsafe impl<T: ?Sized + Sync> Sync for OwnedRwLockWriteGuard<T> {}

impl<T: ?Sized, L: RawLock> OwnedMutexGuard<T, L> {
    /// The lock of a borrowed guard.
    fn new(mutex: &Arc<Mutex<T, L>>, borrowed: MutexGuard<'_, T, L>) -> Self {
        mem::forget(borrowed);
        Self {
            mutex: Arc::clone(mutex),
            _not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// The lock of a borrowed guard.
    fn new(lock: &Arc<RwLock<T>>, borrowed: RwLockReadGuard<'_, T>) -> Self {
        mem::forget(borrowed);
        Self {
            lock: Arc::clone(lock),
            _not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// The lock of a borrowed guard.
    fn new(lock: &Arc<RwLock<T>>, borrowed: RwLockWriteGuard<'_, T>) -> Self {
        mem::forget(borrowed);
        Self {
            lock: Arc::clone(lock),
            _not_send: PhantomData,
        }
    }
}

impl<T: ?Sized, L: RawLock> Mutex<T, L> {
    /// [`lock`](Self::lock), for a guard with a share of the mutex.
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    pub fn lock_owned(self: &Arc<Self>) -> OwnedMutexGuard<T, L> {
        OwnedMutexGuard::new(self, self.lock())
    }

    /// [`try_lock`](Self::try_lock), for a guard with a share of the mutex.
    #[track_caller]
    pub fn try_lock_owned(self: &Arc<Self>) -> Option<OwnedMutexGuard<T, L>> {
        Some(OwnedMutexGuard::new(self, self.try_lock()?))
    }

    /// [`lock_timeout`](Self::lock_timeout), for a guard with a share of the mutex.
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    pub fn lock_owned_timeout(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Option<OwnedMutexGuard<T, L>> {
        Some(OwnedMutexGuard::new(self, self.lock_timeout(timeout)?))
    }

    /// [`lock_within`](Self::lock_within), for a guard with a share of the mutex.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the mutex is not the caller's.
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    pub fn lock_owned_within(
        self: &Arc<Self>,
        limit: impl Into<Limit>,
    ) -> Result<OwnedMutexGuard<T, L>, WaitError> {
        Ok(OwnedMutexGuard::new(self, self.lock_within(limit)?))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// [`read`](Self::read), for a guard with a share of the lock.
    #[track_caller]
    pub fn read_owned(self: &Arc<Self>) -> OwnedRwLockReadGuard<T> {
        OwnedRwLockReadGuard::new(self, self.read())
    }

    /// [`try_read`](Self::try_read), for a guard with a share of the lock.
    #[track_caller]
    pub fn try_read_owned(self: &Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        Some(OwnedRwLockReadGuard::new(self, self.try_read()?))
    }

    /// [`read_timeout`](Self::read_timeout), for a guard with a share of the lock.
    #[track_caller]
    pub fn read_owned_timeout(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Option<OwnedRwLockReadGuard<T>> {
        Some(OwnedRwLockReadGuard::new(self, self.read_timeout(timeout)?))
    }

    /// [`read_within`](Self::read_within), for a guard with a share of the lock.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the lock is not the caller's.
    #[track_caller]
    pub fn read_owned_within(
        self: &Arc<Self>,
        limit: impl Into<Limit>,
    ) -> Result<OwnedRwLockReadGuard<T>, WaitError> {
        Ok(OwnedRwLockReadGuard::new(self, self.read_within(limit)?))
    }

    /// [`write`](Self::write), for a guard with a share of the lock.
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    pub fn write_owned(self: &Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        OwnedRwLockWriteGuard::new(self, self.write())
    }

    /// [`try_write`](Self::try_write), for a guard with a share of the lock.
    #[track_caller]
    pub fn try_write_owned(self: &Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        Some(OwnedRwLockWriteGuard::new(self, self.try_write()?))
    }

    /// [`write_timeout`](Self::write_timeout), for a guard with a share of the lock.
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    pub fn write_owned_timeout(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Option<OwnedRwLockWriteGuard<T>> {
        Some(OwnedRwLockWriteGuard::new(
            self,
            self.write_timeout(timeout)?,
        ))
    }

    /// [`write_within`](Self::write_within), for a guard with a share of the lock.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the lock is not the caller's.
    #[track_caller]
    pub fn write_owned_within(
        self: &Arc<Self>,
        limit: impl Into<Limit>,
    ) -> Result<OwnedRwLockWriteGuard<T>, WaitError> {
        Ok(OwnedRwLockWriteGuard::new(self, self.write_within(limit)?))
    }
}

impl<T: ?Sized, L: RawLock> Deref for OwnedMutexGuard<T, L> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard holds the lock.
        unsafe { &*self.mutex.value() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for OwnedMutexGuard<T, L> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard holds the lock.
        unsafe { &mut *self.mutex.value() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for OwnedMutexGuard<T, L> {
    fn drop(&mut self) {
        // SAFETY: this guard holds the lock.
        unsafe { self.mutex.give_back() };
    }
}

impl<T: ?Sized> Deref for OwnedRwLockReadGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: no caller writes while this guard reads.
        unsafe { &*self.lock.value() }
    }
}

impl<T: ?Sized> Drop for OwnedRwLockReadGuard<T> {
    fn drop(&mut self) {
        // SAFETY: this guard has the lock for reading.
        unsafe { self.lock.give_back_read() };
    }
}

impl<T: ?Sized> Deref for OwnedRwLockWriteGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard alone has the lock.
        unsafe { &*self.lock.value() }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard alone has the lock.
        unsafe { &mut *self.lock.value() }
    }
}

impl<T: ?Sized> Drop for OwnedRwLockWriteGuard<T> {
    fn drop(&mut self) {
        // SAFETY: this guard has the lock for writing.
        unsafe { self.lock.give_back_write() };
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for OwnedMutexGuard<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
