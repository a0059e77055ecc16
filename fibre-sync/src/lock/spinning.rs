//! A lock with waiters that never block.
//!
//! Test and test-and-set: a caller that finds the lock taken looks until it is free. After each
//! short spin a fibre lets the others of its processor run, as the holder may be one of them; a
//! thread yields its CPU. The lock is not fair, and a long wait burns CPU time throughout. It is
//! the end of the spectrum, for comparison and for sections of a few instructions with few callers.

use super::raw_lock::RawLock;
use crate::contention::{Contended, Ending};
use fibre_core::internal::{unwind_if_over, yield_point};
use fibre_core::sync::{AtomicBool, Ordering, SPIN_LIMIT, spin_hint};
use fibre_core::{Limit, is_cancelled, yield_now};

/// A lock that callers try again and again until it is free.
#[derive(Debug, Default)]
pub struct Spinning {
    held: AtomicBool,
}

fibre_core::end_of_frame!(Spinning: held);

/// Looks for a short time, and takes the lock if it is free.
fn spin(lock: &impl RawLock) -> bool {
    for _ in 0..SPIN_LIMIT {
        if !lock.is_locked() && lock.try_lock() {
            return true;
        }
        spin_hint();
    }
    false
}

/// Takes a lock of any kind without ever blocking: tries until it succeeds or the limit comes.
/// Counts the wait where contention is recorded.
#[cold]
#[track_caller]
pub fn spin_for(lock: &impl RawLock, limit: Limit) -> bool {
    let contended = Contended::begin();
    let mut ending = Ending::Taken;
    while !spin(lock) {
        if limit == Limit::None {
            unwind_if_over();
        }
        if is_over(limit) {
            ending = Ending::GaveUp;
            break;
        }
        yield_now();
    }
    contended.end(ending);
    ending == Ending::Taken
}

/// Whether the limit has been reached.
fn is_over(limit: Limit) -> bool {
    match limit {
        Limit::None => false,
        Limit::Cancellation => is_cancelled(),
        Limit::Deadline(_) | Limit::Wall(_) => is_cancelled() || limit.next_look().is_none(),
    }
}

// SAFETY: the word is set by one exchange at a time, with acquire, and cleared by one store, with
// release, which is the last touch.
unsafe impl RawLock for Spinning {
    fibre_core::const_outside_models! {
        const FREE: Self = Self {
            held: AtomicBool::new(false),
        };
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.held
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    #[track_caller]
    fn lock_within(&self, limit: Limit) -> bool {
        yield_point();
        self.try_lock() || spin_for(self, limit)
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.held.store(false, Ordering::Release);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn who_may_not_wait_for_long_gives_up() {
        let lock = Spinning::default();
        assert!(!lock.is_locked() && lock.lock_within(Limit::None));
        assert!(lock.is_locked() && !lock.try_lock());
        let deadline = Instant::now() + Duration::from_millis(5);
        assert!(!lock.lock_within(Limit::Deadline(deadline)));
        assert!(Instant::now() >= deadline && lock.is_locked());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lock.lock_within(Limit::None));
            // SAFETY: it has been taken above.
            unsafe { lock.unlock() };
            assert!(waits.join().is_ok_and(|taken| taken));
        });
        assert!(lock.is_locked());
    }
}
