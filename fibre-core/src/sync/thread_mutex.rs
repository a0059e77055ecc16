//! The runtime's own locks, which block the kernel thread: [`Mutex`] and [`Condvar`].
//!
//! They are `parking_lot`'s. In a program with `fibre-libc`, a fibre with thread-locals of its own
//! that waits for a lock of `parking_lot` leaves its stack. In the runtime it must not: it may be
//! looking at its processor, or be about to wait for something else. So a wait for one of these
//! locks marks its thread, and is the thread's.

#[cfg(not(loom))]
use crate::sys::plain_thread::PlainThread;
use std::fmt;
use std::time::Duration;

pub use parking_lot::{MutexGuard, WaitTimeoutResult};

/// Stands for the mark of a thread in models, which have no fibres.
#[cfg(loom)]
struct PlainThread;

#[cfg(loom)]
impl PlainThread {
    fn begin() -> Self {
        Self
    }
}

/// A lock that blocks the kernel thread, whoever asks for it.
///
/// ```
/// use fibre_core::sync::thread_mutex::Mutex;
///
/// static COUNT: Mutex<u32> = Mutex::new(6);
/// *COUNT.lock() += 1;
/// assert_eq!(*COUNT.lock(), 7);
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// A free lock around a value.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::const_mutex(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock. Blocks the thread.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.try_lock() {
            Some(guard) => guard,
            None => self.wait(),
        }
    }

    /// Waits for the lock.
    #[cold]
    fn wait(&self) -> MutexGuard<'_, T> {
        let _plain = PlainThread::begin();
        self.0.lock()
    }

    /// Takes the lock, unless another thread has it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// Takes the lock if that is possible within a time. Blocks the thread.
    pub fn try_lock_for(&self, time: Duration) -> Option<MutexGuard<'_, T>> {
        let _plain = PlainThread::begin();
        self.0.try_lock_for(time)
    }

    /// The value, of a lock that nobody else knows.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A condition variable that blocks the kernel thread.
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// A condition variable without waiters.
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Gives the lock back, waits for a call, and takes the lock again. Blocks the thread.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        let _plain = PlainThread::begin();
        self.0.wait(guard);
    }

    /// The same for at most so long. Blocks the thread.
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Duration,
    ) -> WaitTimeoutResult {
        let _plain = PlainThread::begin();
        self.0.wait_for(guard, time)
    }

    /// Lets one waiter go on; whether there was one.
    pub fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    /// Lets all waiters go on, and returns how many there were.
    pub fn notify_all(&self) -> usize {
        self.0.notify_all()
    }
}
