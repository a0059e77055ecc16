//! Groups of fibres that are cancelled together, and groups within groups.
//!
//! A group knows its members until it is cancelled, and each member until that ends: a fibre enters
//! when it is spawned, and leaves before the runtime gives it up. The canceller takes the members
//! out under the lock, with a reference each, and cancels them after releasing the lock. So no lock
//! is held while a fibre is queued.
//!
//! Selections that watch a group wait for its cancellation without being members: their waiters are
//! claimed under the lock, and resumed after it.
//!
//! An inner group keeps the outer one alive, and the outer one knows the inner one weakly. So a
//! chain of groups has no gaps, and nothing keeps a group without its owner.

use crate::fibre::cancel_batch::{Cancellable, Cancelling};
use crate::wait::waiter::Waiter;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::error::Error;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// A group of fibres.
#[derive(Debug)]
pub(crate) struct CancelGroup<F: Cancellable> {
    /// Set once, under the lock of `members`.
    cancelled: AtomicBool,
    /// The members that are to be cancelled.
    members: Mutex<Members<F>>,
    /// The group that this one is within.
    outer: Option<Arc<CancelGroup<F>>>,
    /// Why it was cancelled, if the canceller said so.
    cause: OnceLock<Cause>,
}

/// Why a group was cancelled.
pub(crate) type Cause = Arc<dyn Error + Send + Sync>;

/// The members. Empty once the group has been cancelled.
#[derive(Debug)]
struct Members<F: Cancellable> {
    /// Fibres that have not ended.
    fibres: HashSet<Member<F>>,
    /// Groups within this one; some may be gone.
    inner: Vec<Weak<CancelGroup<F>>>,
    /// The waiters of those that watch the group.
    watchers: Vec<Member<Waiter<F>>>,
    /// How many groups `inner` may have before those that are gone are swept out.
    sweep_at: usize,
}

/// A fibre, or a waiter, by its address.
#[derive(Debug)]
struct Member<F>(NonNull<F>);

// SAFETY: the address is used for calls that are made for any thread.
unsafe impl<F> Send for Member<F> {}

impl<F> PartialEq for Member<F> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<F> Eq for Member<F> {}

impl<F> std::hash::Hash for Member<F> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// How many inner groups a new group may have before the first sweep.
const FIRST_SWEEP: usize = 8;

impl<F: Cancellable> CancelGroup<F> {
    /// Makes a group without members, within `outer` if there is one, and cancelled if `outer` is.
    pub(crate) fn new(outer: Option<Arc<Self>>) -> Arc<Self> {
        let group = Arc::new(Self {
            cancelled: AtomicBool::new(false),
            members: Mutex::new(Members {
                fibres: HashSet::new(),
                inner: Vec::new(),
                watchers: Vec::new(),
                sweep_at: FIRST_SWEEP,
            }),
            outer,
            cause: OnceLock::new(),
        });
        if let Some(outer) = &group.outer
            && !outer.add(&group)
        {
            group.cancelled.store(true, Ordering::Release);
        }
        group
    }

    /// Whether the group has been cancelled.
    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Notes why it is about to be cancelled, unless that is known, or it has been.
    pub(crate) fn set_cause(&self, cause: Cause) {
        if !self.is_cancelled() {
            let _ = self.cause.set(cause);
        }
    }

    /// Why it has been cancelled, or a group that it is within.
    pub(crate) fn cause(&self) -> Option<Cause> {
        let chain = std::iter::successors(Some(self), |group| group.outer.as_deref());
        let mut cancelled = chain.filter(|group| group.is_cancelled());
        cancelled.find_map(|group| group.cause.get().cloned())
    }

    /// Cancels all members, and all groups within this one.
    pub(crate) fn cancel(&self) {
        let mut groups = self.cancel_fibres();
        while let Some(group) = groups.pop() {
            if let Some(group) = group.upgrade() {
                groups.append(&mut group.cancel_fibres());
            }
        }
    }

    /// Cancels the fibres and returns the inner groups.
    fn cancel_fibres(&self) -> Vec<Weak<Self>> {
        let mut members = self.members.lock();
        self.cancelled.store(true, Ordering::Release);
        let fibres = std::mem::take(&mut members.fibres);
        let inner = std::mem::take(&mut members.inner);
        for fibre in &fibres {
            // SAFETY: the fibre cannot leave, and hence not be given up, while we have the lock.
            unsafe { F::retain(fibre.0) };
        }
        let mut watchers = std::mem::take(&mut members.watchers);
        // SAFETY: a watcher's waiter cannot end while we have the lock.
        watchers.retain(|watcher| unsafe { watcher.0.as_ref() }.claim(0).is_some());
        drop(members);
        for watcher in watchers {
            // SAFETY: claimed and not resumed, hence alive.
            unsafe { watcher.0.as_ref().claimed() }.resume();
        }
        let mut cancelling = Cancelling::new();
        for fibre in &fibres {
            // SAFETY: the reference is ours.
            unsafe { cancelling.cancel(fibre.0) };
        }
        drop(cancelling);
        for fibre in &fibres {
            // SAFETY: the reference is ours, and is not used any more.
            unsafe { F::release(fibre.0) };
        }
        inner
    }

    /// Takes an inner group in. `false`: this group has been cancelled.
    fn add(&self, inner: &Arc<Self>) -> bool {
        let mut members = self.members.lock();
        if self.is_cancelled() {
            return false;
        }
        if members.inner.len() >= members.sweep_at {
            members.inner.retain(|inner| inner.strong_count() > 0);
            members.sweep_at = (2 * members.inner.len()).max(FIRST_SWEEP);
        }
        members.inner.push(Arc::downgrade(inner));
        true
    }

    /// Takes a new fibre in, or cancels it at once if the group has been cancelled.
    ///
    /// # Safety
    ///
    /// The fibre has not begun, and the caller has a reference until it has [left](Self::leave).
    pub(crate) unsafe fn join(&self, fibre: NonNull<F>) {
        let mut members = self.members.lock();
        if self.is_cancelled() {
            drop(members);
            // SAFETY: the caller's promise.
            unsafe { F::cancel_later(fibre) };
        } else {
            members.fibres.insert(Member(fibre));
        }
    }

    /// Lets an ended fibre out.
    pub(crate) fn leave(&self, fibre: NonNull<F>) {
        self.members.lock().fibres.remove(&Member(fibre));
    }

    /// Lets the group's canceller claim this waiter and resume it. `false`: the group has been
    /// cancelled already.
    ///
    /// # Safety
    ///
    /// The waiter stays where it is until [`unwatch`](Self::unwatch) has been called with it.
    pub(crate) unsafe fn watch(&self, waiter: NonNull<Waiter<F>>) -> bool {
        let mut members = self.members.lock();
        let waits = !self.is_cancelled();
        if waits {
            members.watchers.push(Member(waiter));
        }
        waits
    }

    /// Takes out a waiter, if the canceller has not.
    pub(crate) fn unwatch(&self, waiter: NonNull<Waiter<F>>) {
        let watchers = &mut self.members.lock().watchers;
        if let Some(index) = watchers.iter().position(|watcher| watcher.0 == waiter) {
            watchers.swap_remove(index);
        }
    }
}

impl<F: Cancellable> Drop for CancelGroup<F> {
    /// Drops a long chain of groups one by one, without recursion.
    fn drop(&mut self) {
        let mut outer = self.outer.take();
        while let Some(mut group) = outer.and_then(Arc::into_inner) {
            outer = group.outer.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::waiter::{ThreadParker, Wakeable};
    use std::sync::atomic::AtomicUsize;

    /// Counts what is done to it.
    #[derive(Debug, Default)]
    struct Counts {
        references: AtomicUsize,
        cancelled: AtomicUsize,
    }

    impl Wakeable for Counts {
        unsafe fn resume(_: NonNull<Self>) {
            unreachable!("nothing waits in these tests");
        }

        unsafe fn resume_at_home(_: NonNull<Self>) {
            unreachable!("nothing waits in these tests");
        }
    }

    impl Cancellable for Counts {
        unsafe fn retain(this: NonNull<Self>) {
            // SAFETY: alive in these tests.
            unsafe { this.as_ref() }
                .references
                .fetch_add(1, Ordering::Relaxed);
        }

        unsafe fn cancel_later(this: NonNull<Self>) {
            // SAFETY: passed on.
            unsafe { Self::end_cancel(this) };
        }

        unsafe fn begin_cancel(_: NonNull<Self>) -> bool {
            true
        }

        fn membarrier_all() {}

        unsafe fn end_cancel(this: NonNull<Self>) {
            // SAFETY: alive in these tests.
            unsafe { this.as_ref() }
                .cancelled
                .fetch_add(1, Ordering::Relaxed);
        }

        unsafe fn release(this: NonNull<Self>) {
            // SAFETY: alive in these tests.
            unsafe { this.as_ref() }
                .references
                .fetch_sub(1, Ordering::Relaxed);
        }
    }

    impl Counts {
        fn cancelled(&self) -> usize {
            assert_eq!(self.references.load(Ordering::Relaxed), 0);
            self.cancelled.load(Ordering::Relaxed)
        }
    }

    fn join(group: &CancelGroup<Counts>, fibre: &Counts) {
        // SAFETY: the fibres of these tests outlive the groups' use of them.
        unsafe { group.join(NonNull::from(fibre)) };
    }

    #[test]
    fn members_are_cancelled_once_and_those_who_left_never() {
        let fibres: [Counts; 4] = Default::default();
        let group = CancelGroup::new(None);
        fibres[..3].iter().for_each(|fibre| join(&group, fibre));
        group.leave(NonNull::from(&fibres[1]));
        group.cancel();
        group.cancel();
        group.leave(NonNull::from(&fibres[0]));
        join(&group, &fibres[3]);
        let counts = fibres.each_ref().map(Counts::cancelled);
        assert_eq!(counts, [1, 0, 1, 1]);
    }

    /// Those that watch are resumed by the cancellation, unless something else has ended their wait
    /// or they have left; and nobody waits at a group that has been cancelled.
    #[test]
    fn watchers_learn_of_the_cancellation_once() {
        let group = CancelGroup::<Counts>::new(None);
        let parkers: [_; 3] = std::array::from_fn(|_| ThreadParker::new());
        // SAFETY: the parkers outlive the waits.
        let waiters = parkers
            .each_ref()
            .map(|parker| unsafe { Waiter::for_thread(parker) });
        for waiter in &waiters {
            // SAFETY: the waiters outlive the group's use of them.
            assert!(unsafe { group.watch(NonNull::from(waiter)) });
        }
        group.unwatch(NonNull::from(&waiters[1]));
        assert!(waiters[2].time_out().is_some());
        group.cancel();
        parkers[0].park();
        assert_eq!(
            waiters.each_ref().map(Waiter::is_claimed),
            [true, false, true]
        );
        assert!(waiters[2].has_given_up() && !waiters[0].has_given_up());
        // SAFETY: as above.
        assert!(unsafe { !group.watch(NonNull::from(&waiters[1])) });
        waiters
            .iter()
            .for_each(|waiter| group.unwatch(NonNull::from(waiter)));
    }

    #[test]
    fn groups_within_are_cancelled_across_a_gap_and_not_the_other_way() {
        let fibres: [Counts; 3] = Default::default();
        let outer = CancelGroup::new(None);
        let middle = CancelGroup::new(Some(Arc::clone(&outer)));
        let inner = CancelGroup::new(Some(Arc::clone(&middle)));
        drop(middle);
        let beside = CancelGroup::new(Some(Arc::clone(&outer)));
        for (group, fibre) in [&outer, &inner, &beside].into_iter().zip(&fibres) {
            join(group, fibre);
        }
        beside.cancel();
        assert_eq!(fibres.each_ref().map(Counts::cancelled), [0, 0, 1]);
        outer.cancel();
        assert_eq!(fibres.each_ref().map(Counts::cancelled), [1, 1, 1]);
        assert!(CancelGroup::new(Some(inner)).is_cancelled());
    }

    #[test]
    fn the_cause_is_that_of_the_first_canceller() {
        let cause = |text: &str| -> Cause { Arc::from(Box::<dyn Error + Send + Sync>::from(text)) };
        let outer = CancelGroup::<Counts>::new(None);
        let inner = CancelGroup::new(Some(Arc::clone(&outer)));
        let text = |group: &CancelGroup<Counts>| group.cause().map(|cause| cause.to_string());
        outer.set_cause(cause("outer"));
        assert_eq!(text(&inner), None, "it has not been cancelled");
        outer.cancel();
        assert_eq!(text(&inner).as_deref(), Some("outer"));
        inner.set_cause(cause("late"));
        outer.set_cause(cause("later"));
        assert_eq!(text(&inner).as_deref(), Some("outer"));
        let silent = CancelGroup::<Counts>::new(None);
        silent.cancel();
        assert_eq!(text(&silent), None);
    }

    #[test]
    fn groups_that_are_gone_are_forgotten() {
        let outer = CancelGroup::<Counts>::new(None);
        for _ in 0..10 * FIRST_SWEEP {
            drop(CancelGroup::new(Some(Arc::clone(&outer))));
        }
        assert!(outer.members.lock().inner.len() <= FIRST_SWEEP);
    }

    #[test]
    fn a_long_chain_is_dropped_on_a_small_stack() {
        let mut group = CancelGroup::<Counts>::new(None);
        for _ in 0..100_000 {
            group = CancelGroup::new(Some(group));
        }
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        let dropped = small.spawn(move || drop(group));
        assert!(dropped.is_ok_and(|thread| thread.join().is_ok()));
    }
}
