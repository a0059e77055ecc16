//! The wait of a task of asynchronous code, which may be dropped at any moment.
//!
//! A fibre or thread that waits stays in its frame until it has been resumed, so its waiter lies
//! there. A task has no frame: between two polls nobody runs it, and its future may be dropped
//! meanwhile. So its waiter, and whatever a list needs beside it (`E`: a node, a slot), lie in an
//! allocation that the future and the winner of the wait share. The winner's reference is made
//! before the waiter is published, and used up by the resume.
//!
//! ```text
//!   new ──► register ──► begin, publish ──┬─► won ──► resumed: the waker is called once
//!              ▲                │         └─► taken out by the future: end
//!              └── polled again ┘
//! ```
//!
//! A future that is dropped takes the waiter out, under the lock that wakers hold to claim it. If a
//! waker was faster, it still resumes the wait, though nobody learns of that. The future must then
//! pass on what the waker has given it.
//!
//! A short lock protects the waker. None of the waker's code runs under it: clones are made before,
//! and the replaced waker is dropped after. Whoever calls the waker does so outside of all locks.
//!
//! # Memory ordering
//!
//! The resume is noted under the lock. A future that finds the note sees what the winner did
//! before.

use crate::sync::planted;
use crate::wait::waiter::{Parker, Waiter, Wakeable};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

#[cfg(loom)]
use crate::sync::model::short_lock::ShortLock;
#[cfg(not(loom))]
use crate::sync::short_lock::ShortLock;

/// One wait of a task. See the module text. The parker comes first: the waiter points there.
#[repr(C)]
pub struct TaskWait<F, E> {
    /// How the task is woken.
    parker: Parker,
    /// What the lock protects.
    state: ShortLock<State>,
    /// What wakers claim.
    waiter: Waiter<F>,
    /// What the list needs beside it.
    extra: E,
}

/// Which waker is called, and whether that has been done.
#[derive(Default)]
struct State {
    waker: Option<Waker>,
    resumed: bool,
}

// SAFETY: the extra part is used under the lock of the list that it is in, or by the future alone,
// as the list's rules have it; the rest is made for any thread.
unsafe impl<F, E: Send> Send for TaskWait<F, E> {}
// SAFETY: as above.
unsafe impl<F, E: Send> Sync for TaskWait<F, E> {}

impl<F: Wakeable, E> TaskWait<F, E> {
    /// A wait that has not begun.
    #[must_use]
    pub fn new(extra: E) -> Arc<Self> {
        let wait = Arc::<Self>::new_uninit();
        let place = Arc::as_ptr(&wait).cast_mut().cast::<Self>();
        // SAFETY: nobody else has the allocation, which is written as a whole. The waiter's winner
        // has a reference to it.
        unsafe {
            place.write(Self {
                parker: Parker::new(Self::wake),
                state: ShortLock::new(State::default()),
                waiter: Waiter::for_parker(NonNull::new_unchecked(place).cast()),
                extra,
            });
            wait.assume_init()
        }
    }

    /// What is published for wakers to claim.
    #[must_use]
    pub fn waiter(&self) -> &Waiter<F> {
        &self.waiter
    }

    /// What the list needs beside the waiter.
    #[must_use]
    pub fn extra(&self) -> &E {
        &self.extra
    }

    /// Has this waker called when the wait is resumed. `true`: it has been, and no waker is called
    /// any more.
    #[must_use = "a wait that has been resumed calls no waker"]
    pub fn register(&self, waker: &Waker) -> bool {
        let looks = |state: &State| {
            let is_same = |kept: &Waker| kept.will_wake(waker);
            state.resumed || state.waker.as_ref().is_some_and(is_same)
        };
        {
            let state = self.state.lock();
            if looks(&state) {
                return state.resumed;
            }
        }
        let waker = waker.clone();
        let mut state = self.state.lock();
        let resumed =
            state.resumed && !planted("task: it does not look again whether it is resumed");
        let before = match resumed {
            true => Some(waker),
            false => state.waker.replace(waker),
        };
        drop(state);
        drop(before);
        resumed
    }

    /// Gives the winner its reference. Before the waiter is published, once.
    pub fn begin(self: &Arc<Self>) {
        // The reference is used up by `wake`, or by `end`.
        let _ = Arc::into_raw(Arc::clone(self));
    }

    /// Takes the winner's reference back: there will be none.
    ///
    /// # Safety
    ///
    /// The wait has begun, the waiter has been taken out of where it was published, or was not
    /// published at all, and nobody has claimed it.
    pub unsafe fn end(self: &Arc<Self>) {
        // SAFETY: the reference that `begin` has made, which nobody will use.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(self)) };
    }

    /// Wakes the task.
    ///
    /// # Safety
    ///
    /// The parker of such a wait, whose winner calls this, once.
    unsafe fn wake(parker: NonNull<Parker>) {
        // SAFETY: the winner's reference, which `begin` has made.
        let wait = unsafe { Arc::from_raw(parker.as_ptr().cast::<Self>().cast_const()) };
        let waker = {
            let mut state = wait.state.lock();
            state.resumed = true;
            state.waker.take()
        };
        // Before the waker is called, as what that does may take its time.
        drop(wait);
        if let Some(waker) = waker {
            // Those who resume are in the middle of something. The panic hook has told of it.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                std::mem::forget(payload);
            }
        }
    }
}

impl<F, E> fmt::Debug for TaskWait<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskWait").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::wait::no_fibre::NoFibre;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    /// Counts how often it was woken, and panics then if it is to.
    struct Count(AtomicUsize, bool);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if self.1 {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
        }
    }

    fn count(panics: bool) -> (Arc<Count>, Waker) {
        let count = Arc::new(Count(AtomicUsize::new(0), panics));
        (Arc::clone(&count), Waker::from(count))
    }

    #[test]
    fn the_last_waker_is_called_once() {
        let (extra, wait) = (Arc::new(()), |extra: &Arc<()>| {
            TaskWait::<NoFibre, _>::new(Arc::clone(extra))
        });
        let ([first, _], [last, waker]) = (
            [count(false).0, count(false).0],
            [count(true).0, count(false).0],
        );
        let _ = waker;
        let resumed = wait(&extra);
        let (first_waker, last_waker) = (
            Waker::from(Arc::clone(&first)),
            Waker::from(Arc::clone(&last)),
        );
        assert!(!resumed.register(&first_waker) && !resumed.register(&first_waker));
        assert!(!resumed.register(&last_waker));
        resumed.begin();
        let resume = resumed.waiter().claim(0).unwrap();
        assert!(!resumed.register(&last_waker), "claimed is not resumed");
        resume.resume();
        assert!(resumed.register(&first_waker));
        assert_eq!(first.0.load(Ordering::Relaxed), 0);
        assert_eq!(last.0.load(Ordering::Relaxed), 1);
        drop((first_waker, last_waker));
        assert_eq!(
            (Arc::strong_count(&first), Arc::strong_count(&last)),
            (1, 1)
        );
        drop(resumed);
        assert_eq!(Arc::strong_count(&extra), 1);
    }

    #[test]
    fn the_allocation_stays_for_the_winner_and_no_longer() {
        let extra = Arc::new(());
        let (counted, waker) = count(false);
        let dropped = TaskWait::<NoFibre, _>::new(Arc::clone(&extra));
        assert!(!dropped.register(&waker));
        dropped.begin();
        let resume = dropped.waiter().claim(0).unwrap();
        drop(dropped);
        assert_eq!(Arc::strong_count(&extra), 2);
        resume.resume();
        assert_eq!(Arc::strong_count(&extra), 1);
        assert_eq!(counted.0.load(Ordering::Relaxed), 1);
        let ended = TaskWait::<NoFibre, _>::new(Arc::clone(&extra));
        ended.begin();
        // SAFETY: it was published nowhere.
        unsafe { ended.end() };
        drop(ended);
        assert_eq!(Arc::strong_count(&extra), 1);
    }
}
