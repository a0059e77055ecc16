//! A lock that is held for a few instructions.
//!
//! It protects lists of waiters and the like: no holder calls foreign code, blocks, or leaves its
//! stack. So the lock is nearly always free, and its cost when free counts: one read-modify-write
//! to take it, and a plain store to release it. A lock that wakes sleepers needs a second
//! read-modify-write to find out whether there are any.
//!
//! No thread sleeps on this lock until woken: see [`Backoff`]. A holder allocates no memory, as an
//! allocator may take its time. Tests of debug builds check that: they learn of each lock that is
//! taken and released ([`watch_short_locks`]).
//!
//! # Memory ordering
//!
//! Taken with acquire, given back with release.

use crate::sync::{AtomicBool, Backoff, Ordering};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// A test's function that is told of locks, in debug builds.
static WATCHER: OnceLock<fn(bool)> = OnceLock::new();

/// Has `watcher` told of each short lock, on the thread that takes it (`true`) or gives it back
/// (`false`). For tests. The first call counts.
#[cfg(debug_assertions)]
pub fn watch_short_locks(watcher: fn(bool)) {
    let _ = WATCHER.set(watcher);
}

/// Tells of a lock that has been taken, or given back.
#[inline]
fn tell(is_taken: bool) {
    if cfg!(debug_assertions)
        && let Some(watcher) = WATCHER.get()
    {
        watcher(is_taken);
    }
}

/// The lock, around what it protects.
#[derive(Default)]
#[repr(C)]
pub struct ShortLock<T> {
    /// Touched by the holder only. It comes first: objects of C programs rely on where it is.
    value: UnsafeCell<T>,
    /// Whether a thread has it.
    taken: AtomicBool,
}

// SAFETY: the lock gives the value to one thread at a time.
unsafe impl<T: Send> Sync for ShortLock<T> {}

impl<T> ShortLock<T> {
    /// A free lock.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock. Blocks the thread while another one has it.
    #[inline]
    pub fn lock(&self) -> ShortGuard<'_, T> {
        if !self.take() {
            self.lock_contended();
        }
        ShortGuard::new(self)
    }

    /// Takes the lock, unless another thread has it.
    pub fn try_lock(&self) -> Option<ShortGuard<'_, T>> {
        self.take().then(|| ShortGuard::new(self))
    }

    /// The address of the value: for a holder that cannot reach its guard.
    #[inline]
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Tries once.
    #[inline]
    fn take(&self) -> bool {
        self.taken
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// The part of [`lock`](Self::lock) for a lock that another thread has.
    #[cold]
    fn lock_contended(&self) {
        let mut backoff = Backoff::new();
        while self.taken.load(Ordering::Relaxed) || !self.take() {
            backoff.wait();
        }
    }
}

#[cfg(loom)]
impl<T> crate::sync::EndOfFrame for ShortLock<T> {
    fn end_of_frame(&mut self) {
        self.taken.end_of_frame();
    }
}

impl<T: fmt::Debug> fmt::Debug for ShortLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("ShortLock");
        match self.try_lock() {
            Some(value) => tuple.field(&*value).finish(),
            None => tuple.field(&format_args!("<taken>")).finish(),
        }
    }
}

/// The right to the value; gives the lock back when dropped.
#[must_use = "the lock is given back at once"]
pub struct ShortGuard<'a, T> {
    lock: &'a ShortLock<T>,
    /// Not `Send`: the guard stays on its thread.
    _stays: PhantomData<*mut T>,
}

impl<'a, T> ShortGuard<'a, T> {
    /// The guard of a lock that the caller has taken.
    #[inline]
    fn new(lock: &'a ShortLock<T>) -> Self {
        tell(true);
        Self {
            lock,
            _stays: PhantomData,
        }
    }
}

impl<T> Deref for ShortGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is ours.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for ShortGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is ours.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for ShortGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.taken.store(false, Ordering::Release);
        tell(false);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn one_at_a_time() {
        let count = ShortLock::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50_000).for_each(|_| *count.lock() += 1));
            }
        });
        assert_eq!(*count.lock(), 200_000);
    }

    #[test]
    fn a_holder_that_does_not_run_is_waited_for() {
        let order = ShortLock::new(Vec::new());
        thread::scope(|scope| {
            let mut held = order.lock();
            let waiting = scope.spawn(|| order.lock().push(2));
            // Longer than all spins and yields, so that the other one naps.
            thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            held.push(1);
        });
        assert_eq!(*order.lock(), [1, 2]);
    }

    #[test]
    fn the_value_is_where_it_is_said_to_be() {
        let lock = ShortLock::new(7);
        let held = lock.lock();
        assert!(std::ptr::eq(lock.as_ptr(), &*held));
    }

    #[test]
    fn a_taken_lock_can_be_printed() {
        let lock = ShortLock::new(7);
        assert_eq!(format!("{lock:?}"), "ShortLock(7)");
        let held = lock.lock();
        assert_eq!(format!("{lock:?}"), "ShortLock(<taken>)");
        drop(held);
    }
}
