//! A read-write lock around a value.
//!
//! Guards over [`RawRwLock`], which explains the lock. As with the [`Mutex`](crate::Mutex), there
//! is no poisoning: after a panic of a writer the lock is simply free.

use crate::owner::Owner;
use crate::raw_rw_lock::RawRwLock;
use fibre_core::internal::{begin_within, given_up};
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// A value that many fibres and threads may read at once, or one may change.
///
/// Neither side starves: if callers already wait while readers read, a new caller stands behind
/// them, and readers and writers take turns (see [`RawRwLock`]). So a reader must not read again
/// before it is done: a writer that came in between would wait for the first read, and the second
/// read for that writer. A released lock is free for any running caller, who may get it before a
/// woken waiter; a waiter that was woken for nothing is handed the lock at the next turn. A reader
/// must unlock before it can write; a writer becomes a reader with [`RwLockWriteGuard::downgrade`].
///
/// Readers on several processors share one counter, and so a cache line. For reads of a few
/// nanoseconds it is no faster than a mutex.
///
/// ```
/// use fibre::sync::RwLock;
///
/// let table = RwLock::new(vec![1]);
/// fibre::scope(|scope| {
///     scope.spawn(|| table.write().push(2));
///     for _ in 0..3 {
///         scope.spawn(|| assert!(!table.read().is_empty()));
///     }
/// });
/// assert_eq!(*table.read(), [1, 2]);
/// ```
#[doc(alias("pthread_rwlock_t", "RWMutex", "shared_mutex"))]
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    /// The writer, in builds with debug assertions.
    writer: Owner,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value from one fibre or thread to the next.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; and readers share the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

fibre_core::end_of_frame!(RwLock<T>: raw; for T);

impl<T> RwLock<T> {
    fibre_core::const_outside_models! {
        /// A free lock that holds `value`.
        pub const fn new(value: T) -> Self {
            Self {
                raw: RawRwLock::new(),
                writer: Owner::new(),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until the caller may read. Blocks the fibre, or the thread if the caller is not a
    /// fibre. A caller that reads already may wait for ever.
    ///
    /// Like [`Mutex::lock`](crate::Mutex::lock), it may let other fibres run even if the lock is
    /// free.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.refuse_writer();
        // Without a limit this cannot fail.
        let _taken = self.raw.read_for(|| self.awaited(), Limit::None);
        RwLockReadGuard::new(self)
    }

    /// Takes the lock for reading, unless a writer has it or waits for it. Blocks nothing.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.raw.try_read().then(|| RwLockReadGuard::new(self))
    }

    /// Like [`read`](Self::read), but gives up after `timeout`, or when the fibre is cancelled. A
    /// zero timeout, and a cancelled fibre, try once.
    #[track_caller]
    pub fn read_timeout(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, T>> {
        self.read_limited(Limit::after(timeout))
    }

    /// Like [`read`](Self::read), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the lock is not the caller's.
    #[inline]
    #[track_caller]
    pub fn read_within(
        &self,
        limit: impl Into<Limit>,
    ) -> Result<RwLockReadGuard<'_, T>, WaitError> {
        let limit = limit.into();
        if !limit.is_timed() {
            self.refuse_writer();
        }
        let taken = self.read_limited(begin_within(limit)?);
        taken.ok_or_else(|| given_up(limit))
    }

    /// The form that all with a limit share.
    #[track_caller]
    fn read_limited(&self, limit: Limit) -> Option<RwLockReadGuard<'_, T>> {
        self.raw
            .read_for(|| self.awaited(), limit)
            .then(|| RwLockReadGuard::new(self))
    }

    /// Waits until the caller may change the value. Blocks the fibre, or the thread if the caller
    /// is not a fibre. A caller that already has the lock waits for ever; if it has it for writing,
    /// it panics in builds with debug assertions.
    ///
    /// Like [`Mutex::lock`](crate::Mutex::lock), it may let other fibres run even if the lock is
    /// free.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.refuse_writer();
        // Without a limit this cannot fail.
        let _taken = self.raw.write_for(|| self.awaited(), Limit::None);
        RwLockWriteGuard::new(self)
    }

    /// Takes the lock for writing, if it is free. Blocks nothing.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        match self.raw.try_write() {
            true => Some(RwLockWriteGuard::new(self)),
            false => None,
        }
    }

    /// Like [`write`](Self::write), but gives up after `timeout`, or when the fibre is cancelled. A
    /// zero timeout, and a cancelled fibre, try once.
    #[track_caller]
    pub fn write_timeout(&self, timeout: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        self.write_limited(Limit::after(timeout))
    }

    /// Like [`write`](Self::write), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the lock is not the caller's.
    #[inline]
    #[track_caller]
    pub fn write_within(
        &self,
        limit: impl Into<Limit>,
    ) -> Result<RwLockWriteGuard<'_, T>, WaitError> {
        let limit = limit.into();
        if !limit.is_timed() {
            self.refuse_writer();
        }
        let taken = self.write_limited(begin_within(limit)?);
        taken.ok_or_else(|| given_up(limit))
    }

    /// The form that all with a limit share.
    #[track_caller]
    fn write_limited(&self, limit: Limit) -> Option<RwLockWriteGuard<'_, T>> {
        match self.raw.write_for(|| self.awaited(), limit) {
            true => Some(RwLockWriteGuard::new(self)),
            false => None,
        }
    }

    /// What the end of a reader's guard does.
    ///
    /// # Safety
    ///
    /// The caller reads, and uses the value no more.
    #[inline]
    pub(crate) unsafe fn give_back_read(&self) {
        // SAFETY: passed on.
        unsafe { self.raw.unlock_read() };
    }

    /// What the end of a writer's guard does.
    ///
    /// # Safety
    ///
    /// The caller writes, and uses the value no more.
    #[inline]
    pub(crate) unsafe fn give_back_write(&self) {
        self.writer.leave();
        // SAFETY: passed on.
        unsafe { self.raw.unlock_write() };
    }

    /// The value. It may be used by callers that read or write, as such.
    #[inline]
    pub(crate) fn value(&self) -> *mut T {
        self.value.get()
    }

    /// The object that is waited for, with the writer if that is recorded. Readers are not.
    fn awaited(&self) -> WaitObject {
        self.writer.of(WaitObject::new(WaitKind::RwLock, self))
    }

    /// In builds with debug assertions, panics if the caller writes.
    #[inline]
    #[track_caller]
    fn refuse_writer(&self) {
        let address = std::ptr::from_ref(self).cast();
        self.writer.refuse_itself("read-write lock", address);
    }

    /// The value, without locking: the exclusive borrow proves that the lock is free.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(value) => f.debug_tuple("RwLock").field(&&*value).finish(),
            None => f.write_str("RwLock(<locked>)"),
        }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Shared access to a [`RwLock`]'s value; dropping it ends the reading.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// A guard is dropped by the fibre that made it.
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// The proof of a lock that has just been taken.
    #[inline]
    fn new(lock: &'a RwLock<T>) -> Self {
        Self {
            lock,
            _not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: no caller writes while this guard reads.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard took the lock for reading.
        unsafe { self.lock.give_back_read() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Exclusive access to a [`RwLock`]'s value; dropping it unlocks.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// A guard is dropped by the fibre that made it.
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The proof of a lock that has just been taken.
    #[inline]
    #[track_caller]
    fn new(lock: &'a RwLock<T>) -> Self {
        lock.writer.take();
        Self {
            lock,
            _not_send: PhantomData,
        }
    }

    /// Turns the write lock into a read lock, without another writer in between. Waiting readers
    /// come in at once. Blocks nothing.
    ///
    /// ```
    /// use fibre::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut guard = lock.write();
    /// *guard = 2;
    /// let guard = RwLockWriteGuard::downgrade(guard);
    /// assert_eq!(*guard + *lock.read(), 4);
    /// ```
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let lock = guard.lock;
        std::mem::forget(guard);
        lock.writer.leave();
        // SAFETY: the old guard had the lock for writing; the new one has it for reading.
        unsafe { lock.raw.downgrade() };
        RwLockReadGuard::new(lock)
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard alone has the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard alone has the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this guard took the lock for writing.
        unsafe { self.lock.give_back_write() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
