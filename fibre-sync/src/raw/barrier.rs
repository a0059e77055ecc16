//! The barrier of pthreads.
//!
//! A resumed party does not touch the barrier any more, so any party may destroy it. One case
//! remains: parties that have just reached their deadline. The last party has counted them, and
//! they are about to look at the barrier once more. So waits with a limit are counted from before
//! they begin until their party is done with the barrier, and a destruction waits for them.

use crate::faults;
use crate::raw::error::{Error, Result};
use crate::raw::wait::{Wait, until};
use fibre_core::sync::{AtomicU32, Ordering, planted};

/// `pthread_barrier_t`. See [`raw`](crate::raw). All zeros is a barrier that has not been
/// initialised: there is no barrier for zero parties.
///
/// ```
/// use fibre::sync::raw::{Barrier, Error, Wait};
///
/// static BARRIER: Barrier = Barrier::new(2);
///
/// let other = fibre::spawn(|| BARRIER.wait(Wait::FOREVER));
/// let here = BARRIER.wait(Wait::FOREVER)?;
/// assert_ne!(other.join().unwrap()?, here); // one of them is told that it is the one
/// assert_eq!(BARRIER.destroy(), Ok(()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Barrier {
    barrier: crate::Barrier,
    /// How many parties have a wait with a limit. A party leaves with release, which is its last
    /// touch.
    limited: AtomicU32,
    /// The number of parties, for readers without the lock; zero once the barrier is destroyed. C
    /// libraries compare it with what stands in word 8, which in glibc's object is something else.
    parties: AtomicU32,
}

fibre_core::layout!(Barrier: 32, 8);

fibre_core::end_of_frame!(Barrier: barrier, limited, parties);

impl Barrier {
    fibre_core::const_outside_models! {
        /// A barrier for `parties` parties. For zero it is all zeros, and all its calls are
        /// invalid.
        #[must_use]
        pub const fn new(parties: u32) -> Self {
            Self {
                barrier: crate::Barrier::new(parties as usize),
                limited: AtomicU32::new(0),
                parties: AtomicU32::new(parties),
            }
        }
    }

    /// Waits until all parties have come. `true` for one of them:
    /// `PTHREAD_BARRIER_SERIAL_THREAD`. Blocks the fibre, or the thread if the caller is not a
    /// fibre. Whoever returns may destroy the barrier at once.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it; then the
    /// arrival has been taken back. [`Invalid`](Error::Invalid) if it is for zero parties, or
    /// destroyed.
    #[inline]
    pub fn wait(&self, wait: Wait) -> Result<bool> {
        self.check()?;
        if wait == Wait::FOREVER || planted(faults::raw_barrier::DESTRUCTION_WAITS_FOR_NOBODY) {
            return self.come(wait);
        }
        self.limited.fetch_add(1, Ordering::Relaxed);
        let came = self.come(wait);
        self.limited.fetch_sub(1, Ordering::Release);
        came
    }

    /// Comes to the barrier and waits, without counting the wait as limited.
    #[inline]
    fn come(&self, wait: Wait) -> Result<bool> {
        let mut is_serial = false;
        wait.run(|limit| {
            let result = self.barrier.wait_limited(limit);
            is_serial = result.is_some_and(|result| result.is_leader());
            result.is_some()
        })?;
        Ok(is_serial)
    }

    /// Ends the use of the barrier. Blocks the fibre (or thread) while parties leave that had
    /// reached their deadlines as the last party came.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if a party waits, [`Invalid`](Error::Invalid) if it is for zero
    /// parties, or destroyed.
    pub fn destroy(&self) -> Result {
        self.check()?;
        until(|| match self.barrier.waiting() {
            0 => Ok(self.limited.load(Ordering::Acquire) == 0),
            _ => Err(Error::Busy),
        })?;
        self.parties.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// An error if it cannot be used.
    #[inline]
    fn check(&self) -> Result {
        match self.parties.load(Ordering::Relaxed) {
            0 => Err(Error::Invalid),
            _ => Ok(()),
        }
    }
}
