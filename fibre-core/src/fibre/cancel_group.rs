//! Groups of fibres that are cancelled together, and groups within groups.
//!
//! A group knows its members until it is cancelled, and each member until that ends: a fibre enters
//! when it is spawned, and leaves before the runtime gives it up. The canceller takes the members
//! out under the lock, with a reference each, and cancels them after releasing the lock. So no lock
//! is held while a fibre is queued.
//!
//! A group may be cancelled *with grace*: then members in a *stretch* of work stay until that
//! ends, or the limit comes, when the group is *over*: it is cancelled as usual. A stretch begins
//! and ends under the lock, so a canceller finds a fibre in it or outside of it. A group that has
//! been cancelled lets no stretch begin. So once the canceller has been to all groups of a tree,
//! the number of stretches in it only falls: the canceller then notes that, and looks whether one
//! is left; whoever ends a stretch, or cancels an inner group, looks if that has been noted.
//! Either sees that there is none, and that the group is over. Groups that are made within a
//! stretch are part of it: they are cancelled when their outer group is over.
//!
//! Selections that watch a group wait for its cancellation without being members: their waiters are
//! claimed under the lock, and resumed after it.
//!
//! An inner group keeps the outer one alive, and the outer one knows the inner one weakly. So a
//! chain of groups has no gaps, and nothing keeps a group without its owner.

use crate::fibre::cancel_batch::{Cancellable, Cancelling};
use crate::sync::thread_mutex::Mutex;
use crate::wait::waiter::Waiter;
use std::collections::HashSet;
use std::error::Error;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

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
    /// Fibres that have not ended, and are not in a stretch.
    fibres: HashSet<Member<F>>,
    /// Fibres in a stretch.
    stretching: HashSet<Member<F>>,
    /// Groups within this one.
    inner: Inner<F>,
    /// Groups that were made within a stretch.
    stretched: Inner<F>,
    /// Groups with a fibre that waits for the limit.
    limiting: Inner<F>,
    /// Whether it is over: nothing is spared any more.
    over: bool,
    /// Whether a cancellation with grace has come to all groups within this one, too: only from
    /// then on no stretch begins in any of them.
    graced: bool,
    /// The earliest limit of a cancellation with grace.
    limit: Option<Instant>,
    /// The waiters of those that watch the group.
    watchers: Vec<Member<Waiter<F>>>,
}

/// A list of groups within one; some may be gone.
#[derive(Debug)]
struct Inner<F: Cancellable> {
    /// The groups.
    groups: Vec<Weak<CancelGroup<F>>>,
    /// How many there may be before those that are gone are swept out.
    sweep_at: usize,
}

impl<F: Cancellable> Inner<F> {
    /// No group.
    const fn new() -> Self {
        let groups = Vec::new();
        Self {
            groups,
            sweep_at: FIRST_SWEEP,
        }
    }

    /// Takes a group in.
    fn add(&mut self, group: &Arc<CancelGroup<F>>) {
        if self.groups.len() >= self.sweep_at {
            self.groups.retain(|inner| inner.strong_count() > 0);
            self.sweep_at = (2 * self.groups.len()).max(FIRST_SWEEP);
        }
        self.groups.push(Arc::downgrade(group));
    }
}

/// What a group is within another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It is cancelled with the outer one.
    Usual,
    /// It is part of a stretch: cancelled when the outer one is over.
    Stretched,
    /// It ends the wait for the outer one's limit: cancelled when that is over.
    Limiting,
}

/// What has become of a stretch that was to begin.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretching {
    /// It has begun.
    Begun,
    /// The fibre is in one already.
    Within,
    /// The group has been cancelled.
    Refused,
}

/// What a cancellation spares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spared {
    /// Nobody.
    Nobody,
    /// Stretches.
    Stretches,
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
        Self::new_part(outer, Part::Usual)
    }

    /// The same, for a certain part in the outer group.
    pub(crate) fn new_part(outer: Option<Arc<Self>>, part: Part) -> Arc<Self> {
        let group = Arc::new(Self {
            cancelled: AtomicBool::new(false),
            members: Mutex::new(Members {
                fibres: HashSet::new(),
                stretching: HashSet::new(),
                inner: Inner::new(),
                stretched: Inner::new(),
                limiting: Inner::new(),
                over: false,
                graced: false,
                limit: None,
                watchers: Vec::new(),
            }),
            outer,
            cause: OnceLock::new(),
        });
        if let Some(outer) = &group.outer
            && !outer.add(&group, part)
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

    /// Shows this group and those that it is within, the outermost last, until `f` has seen
    /// enough: each by its address, which tells it from others while it exists, and whether it has
    /// been cancelled. Takes no lock, and allocates nothing.
    pub(crate) fn show_chain(&self, f: &mut dyn FnMut(usize, bool) -> bool) {
        let chain = std::iter::successors(Some(self), |group| group.outer.as_deref());
        for group in chain {
            if !f(std::ptr::from_ref(group).addr(), group.is_cancelled()) {
                return;
            }
        }
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
        self.cancel_at(None);
    }

    /// Cancels all members when this limit has come. It is noted in the same step, as the fibre
    /// that calls this may come before the one that cancels with grace.
    pub(crate) fn cancel_at_limit(&self, limit: Instant) {
        self.cancel_at(Some(limit));
    }

    /// Cancels all members, and all groups within this one. That may have been the last stretch of
    /// a group around it.
    fn cancel_at(&self, limit: Option<Instant>) {
        self.cancel_all(Spared::Nobody, limit);
        if let Some(outer) = &self.outer {
            outer.note_stretch_end();
        }
    }

    /// Cancels all members that are not in a stretch, and so with all groups within this one. The
    /// caller has the group cancelled at the limit. If nobody is in a stretch, the group is over.
    pub(crate) fn cancel_with_grace(&self, limit: Option<Instant>) {
        self.cancel_all(Spared::Stretches, limit);
        // The end of a stretch before this leaves the look to us.
        self.members.lock().graced = true;
        self.end_without_stretches();
    }

    /// Cancels what is left if nobody is in a stretch. The caller knows that none begins.
    fn end_without_stretches(&self) {
        if !self.has_stretches() {
            self.cancel_all(Spared::Nobody, None);
        }
    }

    /// Cancels the members of this group and of those within it. No fibre learns of it before all
    /// groups have: it might cancel an inner group by itself, as one that fails, and spare nobody.
    fn cancel_all(&self, spared: Spared, limit: Option<Instant>) {
        let (first, mut groups) = self.take_out(spared, limit);
        let mut taken = vec![first];
        while let Some(group) = groups.pop() {
            if let Some(group) = group.upgrade() {
                let (members, mut inner) = group.take_out(spared, limit);
                taken.push(members);
                groups.append(&mut inner);
            }
        }
        taken.into_iter().for_each(Taken::cancel);
    }

    /// Marks the group as cancelled. Returns the members that are to be told, and the inner groups.
    /// These stay in the list: another canceller may come before this one has been to all of them,
    /// and is to return after they have been marked.
    fn take_out(&self, spared: Spared, limit: Option<Instant>) -> (Taken<F>, Vec<Weak<Self>>) {
        let mut members = self.members.lock();
        self.cancelled.store(true, Ordering::Release);
        members.limit = members.limit.into_iter().chain(limit).min();
        let mut fibres = std::mem::take(&mut members.fibres);
        let inner = match spared {
            Spared::Nobody => {
                members.over = true;
                fibres.extend(members.stretching.drain());
                let parts = [&members.inner, &members.stretched, &members.limiting];
                parts
                    .iter()
                    .flat_map(|part| &part.groups)
                    .cloned()
                    .collect()
            }
            Spared::Stretches => members.inner.groups.clone(),
        };
        for fibre in &fibres {
            // SAFETY: the fibre cannot leave, and hence not be given up, while we have the lock.
            unsafe { F::retain(fibre.0) };
        }
        let mut watchers = std::mem::take(&mut members.watchers);
        // SAFETY: a watcher's waiter cannot end while we have the lock.
        watchers.retain(|watcher| unsafe { watcher.0.as_ref() }.claim(0).is_some());
        (Taken { fibres, watchers }, inner)
    }

    /// Takes an inner group in. `false`: this group has been cancelled, or is over.
    fn add(&self, inner: &Arc<Self>, part: Part) -> bool {
        let mut members = self.members.lock();
        let (ended, groups) = match part {
            Part::Usual => (self.is_cancelled(), &mut members.inner),
            Part::Stretched => (members.over, &mut members.stretched),
            Part::Limiting => (members.over, &mut members.limiting),
        };
        if !ended {
            groups.add(inner);
        }
        !ended
    }

    /// Begins a stretch of a member.
    pub(crate) fn begin_stretch(&self, fibre: NonNull<F>) -> Stretching {
        let mut members = self.members.lock();
        if members.stretching.contains(&Member(fibre)) {
            return Stretching::Within;
        }
        // Those that were cancelled are no members any more.
        if !members.fibres.remove(&Member(fibre)) {
            return Stretching::Refused;
        }
        members.stretching.insert(Member(fibre));
        Stretching::Begun
    }

    /// Whether a member is in a stretch.
    pub(crate) fn is_in_stretch(&self, fibre: NonNull<F>) -> bool {
        self.members.lock().stretching.contains(&Member(fibre))
    }

    /// Ends a stretch of a member. `true`: it has been spared, so the caller cancels it, and then
    /// [notes](Self::note_stretch_end) that.
    #[must_use]
    pub(crate) fn end_stretch(&self, fibre: NonNull<F>) -> bool {
        let mut members = self.members.lock();
        let was_in = members.stretching.remove(&Member(fibre));
        let is_spared = was_in && self.is_cancelled();
        if was_in && !is_spared {
            members.fibres.insert(Member(fibre));
        }
        is_spared
    }

    /// After the end of a stretch, or of all in an inner group: groups that have been cancelled
    /// with grace are over, if it was the last one in them.
    pub(crate) fn note_stretch_end(&self) {
        let chain = std::iter::successors(Some(self), |group| group.outer.as_deref());
        let is_graced = |group: &&Self| {
            let members = group.members.lock();
            members.graced && !members.over
        };
        chain
            .filter(is_graced)
            .for_each(Self::end_without_stretches);
    }

    /// The earliest limit of a cancellation with grace, of this group or one that it is within.
    pub(crate) fn limit(&self) -> Option<Instant> {
        let chain = std::iter::successors(Some(self), |group| group.outer.as_deref());
        chain.filter_map(|group| group.members.lock().limit).min()
    }

    /// Whether this group has been cancelled, or one that it is within, also with grace.
    pub(crate) fn is_ending(&self) -> bool {
        let mut chain = std::iter::successors(Some(self), |group| group.outer.as_deref());
        chain.any(Self::is_cancelled)
    }

    /// Whether a fibre of this group, or of one within it, is in a stretch. Groups that are part of
    /// a stretch last no longer than that.
    fn has_stretches(&self) -> bool {
        let look = |group: &Self, groups: &mut Vec<Weak<Self>>| {
            let members = group.members.lock();
            let found = !members.stretching.is_empty();
            if !found {
                groups.extend_from_slice(&members.inner.groups);
            }
            found
        };
        let mut groups = Vec::new();
        let mut found = look(self, &mut groups);
        while !found && let Some(group) = groups.pop() {
            found = group
                .upgrade()
                .is_some_and(|group| look(&group, &mut groups));
        }
        found
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
        let mut members = self.members.lock();
        members.fibres.remove(&Member(fibre));
        if !members.stretching.is_empty() {
            members.stretching.remove(&Member(fibre));
        }
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

/// What a canceller has taken out of a group: with a reference to each fibre, and with the claim of
/// each waiter.
#[must_use = "they are to be told"]
struct Taken<F: Cancellable> {
    /// The fibres.
    fibres: HashSet<Member<F>>,
    /// The waiters of those that watch the group.
    watchers: Vec<Member<Waiter<F>>>,
}

impl<F: Cancellable> Taken<F> {
    /// Resumes the waiters, and cancels the fibres.
    fn cancel(self) {
        for watcher in self.watchers {
            // SAFETY: claimed and not resumed, hence alive.
            unsafe { watcher.0.as_ref().claimed() }.resume();
        }
        let mut cancelling = Cancelling::new();
        for fibre in &self.fibres {
            // SAFETY: the reference is ours.
            unsafe { cancelling.cancel(fibre.0) };
        }
        drop(cancelling);
        for fibre in &self.fibres {
            // SAFETY: the reference is ours, and is not used any more.
            unsafe { F::release(fibre.0) };
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
#[path = "cancel_group_tests.rs"]
mod tests;
