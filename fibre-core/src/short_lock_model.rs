//! The short lock for models of what is made of it: loom's own, which blocks.
//!
//! The shipped one spins, which multiplies the schedules of a model by those of the spin; it has
//! models of its own. This one keeps what those who use it rely on: who has the value is alone
//! and sees what the one before did, and giving it back is the last touch of the memory.

use crate::frame::EndOfFrame;
use loom::cell::UnsafeCell;
use loom::sync::{Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};

/// The lock, around what it protects.
#[derive(Debug, Default)]
pub struct ShortLock<T> {
    /// Does the work.
    lock: Mutex<T>,
    /// Read by holders, written when the memory ends.
    memory: UnsafeCell<()>,
}

// SAFETY: the lock gives the value to one thread at a time, and loom watches the other field.
unsafe impl<T: Send> Sync for ShortLock<T> {}

#[allow(clippy::unwrap_used, reason = "a poisoned model has failed already")]
impl<T> ShortLock<T> {
    /// A free lock.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            lock: Mutex::new(value),
            memory: UnsafeCell::new(()),
        }
    }

    /// Takes the lock. Blocks the thread while somebody has it.
    pub fn lock(&self) -> ShortGuard<'_, T> {
        self.guard(self.lock.lock().unwrap())
    }

    /// Takes the lock, unless somebody has it.
    pub fn try_lock(&self) -> Option<ShortGuard<'_, T>> {
        self.lock.try_lock().ok().map(|guard| self.guard(guard))
    }

    /// The lock has just been taken.
    fn guard<'a>(&'a self, guard: MutexGuard<'a, T>) -> ShortGuard<'a, T> {
        self.memory.with(|_| ());
        ShortGuard {
            memory: &self.memory,
            guard,
        }
    }
}

impl<T> EndOfFrame for ShortLock<T> {
    fn end_of_frame(&mut self) {
        self.memory.with_mut(|_| ());
    }
}

/// The right to the value; gives the lock back when dropped.
#[must_use = "the lock is given back at once"]
#[derive(Debug)]
pub struct ShortGuard<'a, T> {
    /// See [`ShortLock`].
    memory: &'a UnsafeCell<()>,
    /// Dropped after that has been read.
    guard: MutexGuard<'a, T>,
}

impl<T> Deref for ShortGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for ShortGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T> Drop for ShortGuard<'_, T> {
    fn drop(&mut self) {
        // A model that has failed has nothing more to find out.
        if !std::thread::panicking() {
            self.memory.with(|_| ());
        }
    }
}
