//! Tests of groups that are cancelled together.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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

/// A member of a group, which looks at another group when it learns of its cancellation.
#[derive(Debug, Default)]
struct Looks {
    other: OnceLock<Arc<CancelGroup<Self>>>,
    learnt: AtomicUsize,
}

impl Wakeable for Looks {
    unsafe fn resume(_: NonNull<Self>) {
        unreachable!("nothing waits in these tests");
    }

    unsafe fn resume_at_home(_: NonNull<Self>) {
        unreachable!("nothing waits in these tests");
    }
}

impl Cancellable for Looks {
    unsafe fn retain(_: NonNull<Self>) {}

    unsafe fn cancel_later(_: NonNull<Self>) {
        unreachable!("it has joined before");
    }

    unsafe fn begin_cancel(this: NonNull<Self>) -> bool {
        // SAFETY: alive in these tests.
        let this = unsafe { this.as_ref() };
        assert!(this.other.get().is_none_or(|other| other.is_cancelled()));
        this.learnt.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn membarrier_all() {}

    unsafe fn end_cancel(_: NonNull<Self>) {}

    unsafe fn release(_: NonNull<Self>) {}
}

/// Whoever learns of a cancellation may end inner groups by itself, which spares nobody: so
/// these have been cancelled before, with the grace that there is.
#[test]
fn nobody_learns_of_it_before_all_groups_are_marked() {
    let looks = Looks::default();
    let outer = CancelGroup::new(None);
    let inner = CancelGroup::new(Some(Arc::clone(&outer)));
    looks.other.set(Arc::clone(&inner)).unwrap();
    // SAFETY: it outlives the group's use of it.
    unsafe { outer.join(NonNull::from(&looks)) };
    outer.cancel_with_grace(None);
    assert!(inner.is_cancelled() && looks.learnt.load(Ordering::Relaxed) == 1);
}

/// Grace spares members in a stretch until its end, or until the group is over; and a group
/// that has been cancelled lets none begin.
#[test]
fn stretches_are_spared_until_they_end_or_the_group_is_over() {
    let fibres: [Counts; 4] = Default::default();
    let pointers = fibres.each_ref().map(NonNull::from);
    let group = CancelGroup::new(None);
    fibres.iter().for_each(|fibre| join(&group, fibre));
    assert_eq!(group.begin_stretch(pointers[0]), Stretching::Begun);
    assert_eq!(group.begin_stretch(pointers[0]), Stretching::Within);
    assert_eq!(group.begin_stretch(pointers[1]), Stretching::Begun);
    assert_eq!(group.begin_stretch(pointers[2]), Stretching::Begun);
    assert!(!group.end_stretch(pointers[2]), "nobody has cancelled it");
    let (soon, late) = (
        Instant::now(),
        Instant::now() + std::time::Duration::from_secs(1),
    );
    for limit in [late, soon, late] {
        group.cancel_with_grace(Some(limit));
    }
    assert_eq!(group.limit(), Some(soon));
    let counts = fibres.each_ref().map(Counts::cancelled);
    assert_eq!(counts, [0, 0, 1, 1]);
    assert_eq!(group.begin_stretch(pointers[3]), Stretching::Refused);
    assert!(group.end_stretch(pointers[0]) && !group.end_stretch(pointers[0]));
    assert!(group.has_stretches());
    group.cancel();
    assert!(!group.end_stretch(pointers[1]), "its canceller has come");
    let counts = fibres.each_ref().map(Counts::cancelled);
    assert_eq!(counts, [0, 1, 1, 1], "who ends a stretch cancels itself");
}

/// Groups made in a stretch end with their outer one; whoever waits for the limit learns that
/// no stretch is left, whichever group of the tree it was in.
#[test]
fn the_last_stretch_of_a_tree_ends_it() {
    let fibres: [Counts; 3] = Default::default();
    let pointers = fibres.each_ref().map(NonNull::from);
    let outer = CancelGroup::new(None);
    let inner = CancelGroup::new(Some(Arc::clone(&outer)));
    let limiting = CancelGroup::new_part(Some(Arc::clone(&outer)), Part::Limiting);
    join(&outer, &fibres[0]);
    join(&inner, &fibres[1]);
    for (group, fibre) in [(&outer, pointers[0]), (&inner, pointers[1])] {
        assert_eq!(group.begin_stretch(fibre), Stretching::Begun);
    }
    let stretched = CancelGroup::new_part(Some(Arc::clone(&inner)), Part::Stretched);
    join(&stretched, &fibres[2]);
    outer.cancel_with_grace(None);
    assert!(inner.is_cancelled() && !stretched.is_cancelled() && !limiting.is_cancelled());
    let later = CancelGroup::new_part(Some(Arc::clone(&inner)), Part::Stretched);
    assert!(!later.is_cancelled(), "the stretch goes on");
    drop(later);
    assert!(outer.end_stretch(pointers[0]));
    outer.note_stretch_end();
    assert!(!limiting.is_cancelled(), "the inner one has a stretch");
    stretched.leave(pointers[2]);
    drop(stretched);
    assert!(inner.end_stretch(pointers[1]));
    inner.note_stretch_end();
    assert!(limiting.is_cancelled() && outer.members.lock().over);
    let late = CancelGroup::new_part(Some(Arc::clone(&outer)), Part::Stretched);
    assert!(late.is_cancelled());
}

/// An inner group may be cancelled without grace meanwhile, and its stretches were the last ones.
#[test]
fn an_inner_group_that_is_cancelled_ends_the_tree() {
    let fibres: [Counts; 2] = Default::default();
    let pointers = fibres.each_ref().map(NonNull::from);
    let outermost = CancelGroup::new(None);
    let outer = CancelGroup::new(Some(Arc::clone(&outermost)));
    let inner = [(); 2].map(|()| CancelGroup::new(Some(Arc::clone(&outer))));
    let limiting = CancelGroup::new_part(Some(Arc::clone(&outermost)), Part::Limiting);
    for ((group, fibre), pointer) in inner.iter().zip(&fibres).zip(pointers) {
        join(group, fibre);
        assert_eq!(group.begin_stretch(pointer), Stretching::Begun);
    }
    outermost.cancel_with_grace(None);
    inner[0].cancel();
    assert!(!limiting.is_cancelled(), "the other one has a stretch");
    inner[1].cancel_at_limit(Instant::now());
    assert!(limiting.is_cancelled() && outermost.members.lock().over);
    let counts = fibres.each_ref().map(Counts::cancelled);
    assert_eq!(counts, [1, 1]);
    assert!(!inner[0].end_stretch(pointers[0]), "its canceller has come");
}

#[test]
fn groups_that_are_gone_are_forgotten() {
    let outer = CancelGroup::<Counts>::new(None);
    for _ in 0..10 * FIRST_SWEEP {
        drop(CancelGroup::new(Some(Arc::clone(&outer))));
    }
    assert!(outer.members.lock().inner.groups.len() <= FIRST_SWEEP);
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
