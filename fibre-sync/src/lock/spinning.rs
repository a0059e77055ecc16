//! A lock whose waiters never block.
//!
//! Test and test-and-set: who finds it taken looks until it is free. A fibre lets the others of its
//! processor run after each short spin, as the holder may be one of them; a thread
//! gives its CPU away. Nothing is fair here, and who waits for long burns CPU time all the while: it is the
//! end of the spectrum, for comparison and for sections of a few instructions among few.

use super::raw_lock::RawLock;
use crate::contention::{Contended, Ending};
use fibre_core::sync::{AtomicBool, Ordering, SPIN_LIMIT, spin_hint};
use fibre_core::{Limit, is_cancelled, yield_now, yield_point};

/// See the module text.
#[derive(Debug, Default)]
pub struct Spinning {
    held: AtomicBool,
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Spinning {
    fn end_of_frame(&mut self) {
        self.held.end_of_frame();
    }
}

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

/// Takes a lock of any kind without ever blocking: tries until it succeeds or the limit comes, and counts it
/// where waits are watched.
#[cold]
#[track_caller]
pub fn spin_for(lock: &impl RawLock, limit: Limit) -> bool {
    let contended = Contended::begin();
    let mut ending = Ending::Taken;
    while !spin(lock) {
        if is_over(limit) {
            ending = Ending::GaveUp;
            break;
        }
        yield_now();
    }
    contended.end(ending);
    ending == Ending::Taken
}

/// Whether the limit has come.
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
    #[cfg(not(loom))]
    const FREE: Self = Self {
        held: AtomicBool::new(false),
    };

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
