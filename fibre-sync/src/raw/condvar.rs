//! The condition variable of pthreads.
//!
//! A waiter enters the list while it still holds the mutex. A claimed waiter does not touch the
//! condition variable any more, so that may be destroyed right after a broadcast. One case remains:
//! waiters that have just reached their deadline. The broadcast has taken them out and lost the
//! claim, and they are about to look at the list once more, to leave it. So the waiters *inside*
//! are counted: neither claimed nor gone. If the list is empty and a waiter is inside, it is of
//! that kind, and the destruction waits for it.
//!
//! A wait unlocks a recursive mutex by one level, as in glibc: if it was locked twice, it stays
//! locked during the wait.

use crate::faults;
use crate::raw::error::{Error, Result};
use crate::raw::mutex::Mutex;
use crate::raw::wait::{Clock, Wait, until};
use crate::wait_list::{Claimed, ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, ShortGuard};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitKind, WaitObject};

/// `pthread_cond_t`. See [`raw`](crate::raw).
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use fibre::sync::raw::{Condvar, Error, Kind, Mutex, Wait};
///
/// static MUTEX: Mutex = Mutex::new(Kind::Normal);
/// static CHANGED: Condvar = Condvar::new();
/// static READY: AtomicBool = AtomicBool::new(false);
///
/// let waiting = fibre::spawn(|| {
///     MUTEX.lock(Wait::FOREVER)?;
///     while !READY.load(Ordering::Relaxed) {
///         // SAFETY: locked above.
///         unsafe { CHANGED.wait(&MUTEX, Wait::FOREVER)? };
///     }
///     // SAFETY: locked again.
///     unsafe { MUTEX.unlock() }
/// });
/// MUTEX.lock(Wait::FOREVER)?;
/// READY.store(true, Ordering::Relaxed);
/// CHANGED.signal()?;
/// // SAFETY: locked above.
/// unsafe { MUTEX.unlock()? };
/// waiting.join().unwrap()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Condvar {
    state: Locked<State>,
    /// The number of the [`Clock`] of its deadlines, for callers that ask.
    clock: u32,
    /// Zero, where glibc's object may say whether processes share it, which C libraries ask.
    _tag: u32,
}

fibre_core::layout!(Condvar: 32, 8, _tag at 28);

/// What the lock protects.
#[derive(Debug)]
#[repr(C)]
struct State {
    waiting: WaitList,
    /// How many waiters have entered, and have neither been claimed nor gone.
    inside: u32,
    destroyed: bool,
}

fibre_core::end_of_frame!(Condvar: state);

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    fibre_core::const_outside_models! {
        /// A condition variable that nobody waits on: all zeros. Its clock is the one of real time.
        #[must_use]
        pub const fn new() -> Self {
            Self::with_clock(Clock::Realtime)
        }

        /// The same with this clock.
        #[must_use]
        pub const fn with_clock(clock: Clock) -> Self {
            Self {
                state: Locked::new(State {
                    waiting: WaitList::new(),
                    inside: 0,
                    destroyed: false,
                }),
                clock: clock as u32,
                _tag: 0,
            }
        }
    }

    /// The clock of deadlines ([`Wait::at`]).
    #[must_use]
    pub const fn clock(&self) -> Clock {
        match self.clock {
            0 => Clock::Realtime,
            _ => Clock::Monotonic,
        }
    }

    /// Unlocks the mutex, waits for a signal, and locks the mutex again, in any case. Blocks the
    /// fibre, or the thread if the caller is not a fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it; then no
    /// signal has been consumed. [`NotOwner`](Error::NotOwner) if the mutex is not the caller's and
    /// checks that; [`Invalid`](Error::Invalid) if either is destroyed.
    ///
    /// # Safety
    ///
    /// The mutex is the caller's.
    #[inline(always)]
    pub unsafe fn wait(&self, mutex: &Mutex, wait: Wait) -> Result {
        mutex.check_owner()?;
        let mut entered = false;
        mutex.begin_wait();
        // SAFETY: passed on.
        let waited = wait.run(|limit| unsafe { self.wait_within(mutex, limit, &mut entered) });
        if entered {
            mutex.lock(Wait::FOREVER)?;
        }
        mutex.end_wait();
        match entered {
            true => waited,
            false => waited.and(Err(Error::Invalid)),
        }
    }

    /// Waits, with the mutex unlocked at the end if the wait took place.
    ///
    /// # Safety
    ///
    /// The mutex is the caller's.
    #[inline(always)]
    unsafe fn wait_within(&self, mutex: &Mutex, limit: Limit, entered: &mut bool) -> bool {
        let enter = |state: &mut ShortGuard<'_, State>| {
            *entered = !state.destroyed;
            state.inside += u32::from(*entered);
            *entered
        };
        // SAFETY: the caller's; if it knows its owner, that has been checked.
        let unlock = || _ = unsafe { mutex.unlock_to_wait() };
        let leave = |state: &mut ShortGuard<'_, State>, _| state.inside -= 1;
        // SAFETY: the list stays in its place while a waiter is inside.
        let outcome = unsafe {
            ListWait::new(WaitObject::new(WaitKind::Condvar, self).closed(), limit).under(
                || self.state.lock(),
                |state| &raw mut state.waiting,
                enter,
                unlock,
                leave,
            )
        };
        !matches!(outcome, Outcome::TimedOut | Outcome::Cancelled)
    }

    /// Wakes the waiter that has waited longest, if any. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn signal(&self) -> Result {
        let mut state = self.state.lock();
        if state.destroyed {
            return Err(Error::Invalid);
        }
        let first = state.waiting.claim_first(0);
        state.inside -= u32::from(first.is_some());
        drop(state);
        if let Some(first) = first {
            first.resume();
        }
        Ok(())
    }

    /// Wakes all present waiters. Blocks nothing. The condition variable may be destroyed at once.
    ///
    /// # Errors
    ///
    /// [`Invalid`](Error::Invalid) if destroyed.
    pub fn broadcast(&self) -> Result {
        let mut state = self.state.lock();
        if state.destroyed {
            return Err(Error::Invalid);
        }
        let mut all = Claimed::none();
        while !state.waiting.is_empty() {
            let won = state.waiting.claim_first_of_many(0, &mut all);
            state.inside -= u32::from(won);
        }
        drop(state);
        all.resume();
        Ok(())
    }

    /// Ends the use of the condition variable. Blocks the fibre (or thread) while waiters leave
    /// that had reached their deadlines at the last broadcast.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if a caller waits, [`Invalid`](Error::Invalid) if destroyed.
    pub fn destroy(&self) -> Result {
        until(|| self.try_destroy())
    }

    /// Destroys it, unless a waiter is about to leave.
    fn try_destroy(&self) -> Result<bool> {
        let mut state = self.state.lock();
        if state.destroyed {
            return Err(Error::Invalid);
        }
        if !state.waiting.is_empty() {
            return Err(Error::Busy);
        }
        let hasty = planted(faults::raw_condvar::DESTRUCTION_WAITS_FOR_NOBODY);
        state.destroyed = state.inside == 0 || hasty;
        Ok(state.destroyed)
    }
}
