//! A wait group: waits until a number of jobs are done.
//!
//! It is a count, in Go's style, and not a token that is cloned and dropped, as in crossbeam: a
//! count needs no allocation, lies in a frame or in a static, can be used again, and other
//! languages can wrap it. In the other style nothing can be counted twice or forgotten in a panic;
//! [`WaitGroup::guard`] gives that safety here. Misuse that the count shows is a panic.
//!
//! The caller that brings the count to zero claims all waiters, releases the lock, and then resumes
//! them. The release is its last access: a resumed waiter may free the group.

use crate::faults;
use crate::selection::{ListArm, Listed, list_arm};
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, within, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::time::Duration;

/// Waits until as many jobs have been done as were added. All zeros is a group without jobs.
///
/// Add a job before you start it, not within it: a `wait` that comes first finds nothing to wait
/// for. A group can be used again.
///
/// ```
/// use fibre::sync::WaitGroup;
/// use std::sync::Arc;
///
/// let group = Arc::new(WaitGroup::new());
/// for _ in 0..3 {
///     group.add(1);
///     let group = Arc::clone(&group);
///     fibre::spawn(move || {
///         // … the job
///         group.done();
///     });
/// }
/// group.wait();
/// ```
#[doc(alias("CountDownLatch", "TaskTracker"))]
#[derive(Debug, Default)]
pub struct WaitGroup {
    state: Locked<State>,
}

/// The state that the lock protects.
#[derive(Debug, Default)]
struct State {
    /// Jobs that are not done. If there are none, no one waits.
    count: usize,
    waiting: WaitList,
}

fibre_core::end_of_frame!(WaitGroup: state);

impl WaitGroup {
    fibre_core::const_outside_models! {
        /// A group without jobs.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: Locked::new(State {
                    count: 0,
                    waiting: WaitList::new(),
                }),
            }
        }
    }

    /// Adds `jobs` jobs. Blocks nothing.
    ///
    /// # Panics
    ///
    /// When there would be more than `usize::MAX` jobs.
    pub fn add(&self, jobs: usize) {
        let mut state = self.state.lock();
        let sum = state.count.checked_add(jobs);
        state.count = sum.unwrap_or(state.count);
        drop(state);
        assert!(
            sum.is_some(),
            "a wait group with more jobs than it can count"
        );
    }

    /// Records that one job is done; if it was the last one, all waiters go on. Blocks nothing. Any
    /// thread may call it.
    ///
    /// # Panics
    ///
    /// When no job is left: `done` was called more often than jobs were added.
    pub fn done(&self) {
        let mut state = self.state.lock();
        let left = state.count.checked_sub(1);
        state.count = left.unwrap_or(0);
        let all = (left == Some(0)).then(|| state.waiting.claim_all(0));
        if !planted(faults::wait_group::UNLOCKS_AFTER_RESUME) {
            drop(state);
        }
        assert!(
            left.is_some(),
            "a wait group of which more was done than was added"
        );
        if let Some(all) = all {
            all.resume();
        }
    }

    /// Adds a job that is done when the guard is dropped, even by a panic.
    ///
    /// ```
    /// let group = fibre::sync::WaitGroup::new();
    /// fibre::scope(|scope| {
    ///     let job = group.guard();
    ///     scope.spawn(move || drop(job));
    ///     group.wait();
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// As [`add`](Self::add).
    #[must_use = "the job is done when the guard is dropped"]
    pub fn guard(&self) -> WaitGroupGuard<'_> {
        self.add(1);
        WaitGroupGuard { group: self }
    }

    /// How many jobs are not done at this moment.
    #[must_use]
    pub fn count(&self) -> usize {
        self.state.lock().count
    }

    /// Waits until no job is left. Blocks the fibre, or the thread if the caller is not a fibre.
    /// Jobs that are added after the last one was done do not delay it.
    pub fn wait(&self) {
        // Without a limit this cannot fail.
        self.wait_limited(Limit::None);
    }

    /// Whether no job is left, so that [`wait`](Self::wait) would not block.
    #[must_use = "`false` means that jobs are left"]
    pub fn try_wait(&self) -> bool {
        self.count() == 0
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled;
    /// says whether all was done. If no job is left, this is always `true`.
    #[must_use = "`false` means that jobs are left"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then jobs were left.
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        within(limit, |limit| self.wait_limited(limit).then_some(()))
    }

    /// [`wait`](Self::wait) as an arm of `select!`.
    ///
    /// ```
    /// use fibre::{select, sync::WaitGroup};
    /// use std::time::Duration;
    ///
    /// let jobs = WaitGroup::new();
    /// fibre::scope(|scope| {
    ///     let job = jobs.guard();
    ///     scope.spawn(move || drop(job));
    ///     let done = select! {
    ///         () = jobs.wait_arm() => true,
    ///         default(Duration::from_secs(10)) => false,
    ///     };
    ///     assert!(done);
    /// });
    /// ```
    pub fn wait_arm(&self) -> WaitGroupArm<'_> {
        WaitGroupArm(ListArm::new(Waits(self)))
    }

    /// The form that all with a limit share.
    fn wait_limited(&self, limit: Limit) -> bool {
        yield_point();
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            ListWait::new(WaitObject::new(WaitKind::WaitGroup, self), limit).in_list(
                &self.state,
                |state| &mut state.waiting,
                |state| state.count > 0 || planted(faults::wait_group::WAITS_THOUGH_ALL_ARE_DONE),
            )
        };
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }
}

/// One job of a [`WaitGroup`]; dropping it says that it is done.
#[must_use = "the job is done when the guard is dropped"]
#[derive(Debug)]
pub struct WaitGroupGuard<'a> {
    group: &'a WaitGroup,
}

impl Drop for WaitGroupGuard<'_> {
    fn drop(&mut self) {
        self.group.done();
    }
}

/// A wait for the end of all jobs.
struct Waits<'a>(&'a WaitGroup);

impl Listed for Waits<'_> {
    type State = State;
    type Output = ();

    fn locked(&self) -> &Locked<State> {
        &self.0.state
    }

    fn list(state: &mut State) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State) -> Option<()> {
        self.is_there(state).then_some(())
    }

    fn is_there(&self, state: &State) -> bool {
        state.count == 0
    }

    fn handed(&self) -> Option<()> {
        Some(())
    }
}

list_arm! {
    /// An arm of `select!` that waits for the end of all jobs; made by [`WaitGroup::wait_arm`].
    WaitGroupArm<'a> ['a] over Waits<'a> => ()
}
