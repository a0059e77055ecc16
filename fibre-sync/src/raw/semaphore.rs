//! A semaphore as POSIX has it.

use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use std::sync::atomic::{AtomicBool, Ordering};

/// `sem_t`. See [`raw`](crate::raw). First come, first served.
///
/// ```
/// use fibre_sync::raw::{Error, Semaphore};
///
/// let permits = Semaphore::new(1)?;
/// assert_eq!(permits.try_wait(), Ok(()));
/// assert_eq!(permits.try_wait(), Err(Error::Again));
/// permits.post()?;
/// assert_eq!(permits.value(), Ok(1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Semaphore {
    permits: crate::Semaphore,
    destroyed: AtomicBool,
}

const _: () = assert!(size_of::<Semaphore>() == 48 && align_of::<Semaphore>() == 8);

impl Semaphore {
    /// The most permits there may be: `SEM_VALUE_MAX`.
    pub const MAX: u32 = i32::MAX.unsigned_abs();

    /// A semaphore with so many permits. With none it is all zeros.
    ///
    /// # Errors
    ///
    /// [`Invalid`](Error::Invalid) if that is more than [`MAX`](Self::MAX).
    pub const fn new(permits: u32) -> Result<Self> {
        if permits > Self::MAX {
            return Err(Error::Invalid);
        }
        Ok(Self {
            permits: crate::Semaphore::new(permits as usize),
            destroyed: AtomicBool::new(false),
        })
    }

    /// Waits for a permit and takes it. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Invalid`](Error::Invalid) if destroyed.
    pub fn wait(&self, wait: Wait) -> Result {
        self.check()?;
        wait.run(|limit| self.permits.acquire_within(limit))
    }

    /// Takes a permit if one is there. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Again`](Error::Again) if there is none, [`Invalid`](Error::Invalid) if destroyed.
    pub fn try_wait(&self) -> Result {
        self.check()?;
        match self.permits.try_acquire() {
            true => Ok(()),
            false => Err(Error::Again),
        }
    }

    /// Brings a permit. Blocks nothing; any fibre or thread.
    ///
    /// # Errors
    ///
    /// [`Overflow`](Error::Overflow) if there are [`MAX`](Self::MAX), [`Invalid`](Error::Invalid) if
    /// destroyed.
    pub fn post(&self) -> Result {
        self.check()?;
        let posted = self.permits.try_release_many(1, Self::MAX as usize);
        posted.map_err(|_| Error::Overflow)
    }

    /// How many permits there are at this moment; zero while somebody waits.
    ///
    /// # Errors
    ///
    /// [`Invalid`](Error::Invalid) if destroyed.
    pub fn value(&self) -> Result<u32> {
        self.check()?;
        Ok(u32::try_from(self.permits.available()).unwrap_or(Self::MAX))
    }

    /// Ends the use of the semaphore. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if somebody waits, [`Invalid`](Error::Invalid) if destroyed.
    pub fn destroy(&self) -> Result {
        self.check()?;
        if self.permits.has_waiters() {
            return Err(Error::Busy);
        }
        self.destroyed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// An error if it has been destroyed.
    fn check(&self) -> Result {
        match self.destroyed.load(Ordering::Relaxed) {
            true => Err(Error::Invalid),
            false => Ok(()),
        }
    }
}
