//! The spin lock of pthreads.
//!
//! A spinning fibre lets the others of its processor run between its tries, since the holder may be
//! one of them; a thread yields its CPU.

use crate::lock::{RawLock, Spinning};
use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use std::sync::atomic::{AtomicBool, Ordering};

/// `pthread_spinlock_t`. See [`raw`](crate::raw).
///
/// ```
/// use fibre::sync::raw::{Error, Spin, Wait};
///
/// static SPIN: Spin = Spin::new();
///
/// SPIN.lock(Wait::FOREVER)?;
/// assert_eq!(SPIN.try_lock(), Err(Error::Busy));
/// // SAFETY: locked above.
/// unsafe { SPIN.unlock()? };
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Spin {
    lock: Spinning,
    destroyed: AtomicBool,
}

fibre_core::layout!(Spin: 2, 1);

impl Spin {
    fibre_core::const_outside_models! {
        /// A free lock: all zeros.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                lock: fibre_core::const_or!(Spinning::FREE, Spinning::default()),
                destroyed: AtomicBool::new(false),
            }
        }
    }

    /// Tries until the lock is the caller's. Blocks nothing, and burns CPU time.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn lock(&self, wait: Wait) -> Result {
        self.check()?;
        wait.run(|limit| self.lock.lock_within(limit))
    }

    /// Takes the lock if it is free. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if it is not, [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn try_lock(&self) -> Result {
        self.check()?;
        match self.lock.try_lock() {
            true => Ok(()),
            false => Err(Error::Busy),
        }
    }

    /// Gives the lock back. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Invalid`](Error::Invalid) if destroyed.
    ///
    /// # Safety
    ///
    /// The lock is the caller's.
    #[inline]
    pub unsafe fn unlock(&self) -> Result {
        self.check()?;
        // SAFETY: passed on.
        unsafe { self.lock.unlock() };
        Ok(())
    }

    /// Ends the use of the lock. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if the lock is held, [`Invalid`](Error::Invalid) if destroyed.
    pub fn destroy(&self) -> Result {
        self.check()?;
        if self.lock.is_locked() {
            return Err(Error::Busy);
        }
        self.destroyed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// An error if it has been destroyed.
    #[inline]
    fn check(&self) -> Result {
        match self.destroyed.load(Ordering::Relaxed) {
            true => Err(Error::Invalid),
            false => Ok(()),
        }
    }
}
