//! A condition variable for fibres.
//!
//! A waiter enters the list while it still holds the mutex, and unlocks the mutex only then. So a
//! notifier that has held the mutex since finds the waiter.

use crate::faults;
use crate::lock::RawLock;
use crate::mutex::MutexGuard;
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, ShortGuard, begin_within, given_up};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::ptr;
use std::time::Duration;

/// Waits for a condition on a value in a [`Mutex`](crate::Mutex).
///
/// When a wait ends, check the condition again: other waiters compete for it, and a wait may end
/// without a notification.
///
/// ```
/// use fibre::sync::{Condvar, Mutex};
///
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// fibre::scope(|scope| {
///     scope.spawn(|| {
///         let mut guard = ready.lock();
///         while !*guard {
///             changed.wait(&mut guard);
///         }
///     });
///     *ready.lock() = true;
///     changed.notify_one();
/// });
/// ```
#[doc(alias("pthread_cond_t", "condition_variable"))]
#[derive(Debug, Default)]
pub struct Condvar {
    waiting: Locked<WaitList>,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    /// A notification ended it.
    Notified,
    /// Its limit ended it.
    InVain,
}

fibre_core::end_of_frame!(Condvar: waiting);

impl Condvar {
    fibre_core::const_outside_models! {
        /// A condition variable without waiters.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                waiting: Locked::new(WaitList::new()),
            }
        }
    }

    /// Unlocks the guard's mutex, waits for a notification, and locks it again.
    /// Blocks the fibre, or the thread if the caller is not a fibre.
    #[track_caller]
    pub fn wait<T: ?Sized, L: RawLock>(&self, guard: &mut MutexGuard<'_, T, L>) {
        let _ = self.wait_limited(guard, Limit::None);
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled.
    /// Returns `false` if that came before a notification. The mutex is locked again in any case,
    /// which may take longer.
    #[track_caller]
    pub fn wait_timeout<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        timeout: Duration,
    ) -> bool {
        self.wait_limited(guard, Limit::after(timeout)) == Waited::Notified
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes. The mutex is locked again
    /// in any case, which may take longer.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no notification has been consumed.
    #[inline]
    #[track_caller]
    pub fn wait_within<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        limit: impl Into<Limit>,
    ) -> Result<(), WaitError> {
        let limit = begin_within(limit)?;
        match self.wait_limited(guard, limit) {
            Waited::Notified => Ok(()),
            Waited::InVain => Err(given_up(limit)),
        }
    }

    /// The form that all with a limit share.
    #[track_caller]
    fn wait_limited<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        limit: Limit,
    ) -> Waited {
        let early = planted(faults::condvar::UNLOCKS_MUTEX_BEFORE_ENTERING);
        if early {
            guard.unlock_for_wait();
        }
        let held: &MutexGuard<'_, T, L> = guard;
        let unlock = move || {
            if !early {
                held.unlock_for_wait();
            }
        };
        let wait = ListWait::new(WaitObject::new(WaitKind::Condvar, self), limit);
        let lock = || self.waiting.lock();
        let list = |list: &mut ShortGuard<'_, WaitList>| ptr::from_mut(&mut **list);
        let unwound = guard.relock_on_unwind();
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe { wait.under(lock, list, |_| true, unlock, |_, _| ()) };
        std::mem::forget(unwound);
        guard.relock();
        match outcome {
            Outcome::TimedOut | Outcome::Cancelled => Waited::InVain,
            Outcome::Woken(_) | Outcome::NotParked => Waited::Notified,
        }
    }

    /// Waits until `condition` is false for the value. Blocks the fibre (or thread).
    #[track_caller]
    pub fn wait_while<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Like [`wait_while`](Self::wait_while), but gives up after `timeout`, or when the fibre is
    /// cancelled. Returns whether `condition` is false.
    #[track_caller]
    pub fn wait_while_timeout<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        timeout: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> bool {
        self.wait_while_limited(guard, Limit::after(timeout), condition)
    }

    /// Like [`wait_while`](Self::wait_while), but gives up when the [`Limit`] comes.
    ///
    /// ```
    /// use fibre::WaitError;
    /// use fibre::sync::{Condvar, Mutex};
    /// use std::time::Instant;
    ///
    /// let (number, changed) = (Mutex::new(0), Condvar::new());
    /// let mut guard = number.lock();
    /// let now = Instant::now();
    /// let waited = changed.wait_while_within(&mut guard, now, |number| *number == 0);
    /// assert_eq!(waited, Err(WaitError::TimedOut));
    /// let waited = changed.wait_while_within(&mut guard, now, |number| *number == 1);
    /// assert_eq!(waited, Ok(()));
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then `condition` is true, unless the fibre had been cancelled before the
    /// call.
    #[inline]
    #[track_caller]
    pub fn wait_while_within<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        limit: impl Into<Limit>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> Result<(), WaitError> {
        let limit = begin_within(limit)?;
        match self.wait_while_limited(guard, limit, condition) {
            true => Ok(()),
            false => Err(given_up(limit)),
        }
    }

    /// The form that all with a limit share.
    #[track_caller]
    fn wait_while_limited<T: ?Sized, L: RawLock>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        limit: Limit,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> bool {
        while condition(guard) {
            if self.wait_limited(guard, limit) == Waited::InVain {
                return !condition(guard);
            }
        }
        true
    }

    /// Wakes the waiter that has waited longest, if any. Blocks nothing.
    pub fn notify_one(&self) {
        let mut waiting = self.waiting.lock();
        let first = waiting.claim_first(0);
        if !planted(faults::condvar::UNLOCKS_AFTER_RESUME) {
            drop(waiting);
        }
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Wakes all present waiters. Blocks nothing.
    pub fn notify_all(&self) {
        let all = self.waiting.lock().claim_all(0);
        all.resume();
    }
}
