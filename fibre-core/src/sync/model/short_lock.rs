//! The short lock for models of its users: loom's own, which blocks.
//!
//! The shipped one spins, which multiplies the schedules of a model by those of the spin; it has
//! models of its own. This one keeps what its users rely on: the holder is alone with the value and
//! sees what the previous holder did, and the release is the last access of the memory.

use crate::sync::model::memory::{EndOfFrame, has_failed};
use loom::cell::UnsafeCell;
use loom::sync::{Mutex, MutexGuard};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// The lock, around what it protects.
#[derive(Debug, Default)]
pub struct ShortLock<T> {
    /// The loom lock that does the work.
    lock: Mutex<()>,
    /// Read by holders, written when the memory ends.
    memory: UnsafeCell<()>,
    /// Touched by the holder only.
    value: std::cell::UnsafeCell<T>,
}

// SAFETY: the lock gives the value to one thread at a time, and loom watches the memory.
unsafe impl<T: Send> Sync for ShortLock<T> {}

impl<T> ShortLock<T> {
    /// A free lock.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            lock: Mutex::new(()),
            memory: UnsafeCell::new(()),
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// Takes the lock. Blocks the thread while another one has it.
    pub fn lock(&self) -> ShortGuard<'_, T> {
        let held = (!has_failed()).then(|| self.lock.lock().ok()).flatten();
        self.guard(held)
    }

    /// Takes the lock, unless another thread has it.
    pub fn try_lock(&self) -> Option<ShortGuard<'_, T>> {
        if has_failed() {
            return Some(self.guard(None));
        }
        let held = self.lock.try_lock().ok()?;
        Some(self.guard(Some(held)))
    }

    /// The address of the value: for a holder that cannot reach its guard.
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Notes that the lock has just been taken, or the model has failed.
    fn guard<'a>(&'a self, held: Option<MutexGuard<'a, ()>>) -> ShortGuard<'a, T> {
        let guard = ShortGuard {
            lock: self,
            held: ManuallyDrop::new(held),
        };
        guard.touch();
        guard
    }
}

impl<T> EndOfFrame for ShortLock<T> {
    fn end_of_frame(&mut self) {
        self.memory.with_mut(|_| ());
    }
}

/// The right to the value; gives the lock back when dropped.
#[must_use = "the lock is given back at once"]
pub struct ShortGuard<'a, T> {
    lock: &'a ShortLock<T>,
    /// Not dropped if the model has failed.
    held: ManuallyDrop<Option<MutexGuard<'a, ()>>>,
}

impl<T> ShortGuard<'_, T> {
    /// Tells loom that the memory is used.
    fn touch(&self) {
        if !has_failed() {
            self.lock.memory.with(|_| ());
        }
    }
}

impl<T> Deref for ShortGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is ours, or no other thread runs any more.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for ShortGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for ShortGuard<'_, T> {
    fn drop(&mut self) {
        if !has_failed() {
            self.touch();
            // SAFETY: dropped here only.
            unsafe { ManuallyDrop::drop(&mut self.held) };
        }
    }
}

impl<T> fmt::Debug for ShortGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShortGuard")
    }
}
