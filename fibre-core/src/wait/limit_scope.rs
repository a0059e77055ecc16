//! Scopes that limit all waits of the calls in them; [`timeout`](crate::timeout()) leaves one in
//! its frame.
//!
//! Each fibre and each plain thread has a chain of scopes, the innermost first. A scope lies in the
//! frame of its call, and the chain changes only when such a call begins or ends. *Nothing fires
//! when the time of a scope is over.* A wait within the scope takes the scope's deadline for a
//! limit of its own, and its own timer ends it. So a scope can end nothing once its call has
//! returned, no other thread ever reads a scope, and a scope costs nothing while its calls need not
//! wait.
//!
//! A wait that a scope has ended says so in one of two ways:
//!
//! * a call that can fail fails as in a cancelled fibre;
//! * a call that cannot fail does not return: the stack is unwound to the call that the scope
//!   belongs to. A waiter is out of every list by then, and has won nothing.
//!
//! Invariants:
//!
//! 1. The deadline of a scope is no later than that of the scope outside of it. So a wait looks at
//!    the innermost one only.
//! 2. A scope in the chain lies in a frame of the calling fibre or thread that has not ended.
//! 3. A scope that begins in a shield lies in no scope outside of the shield: the outer scopes are
//!    not in force there, but the new one is. The same holds for a scope that begins in a
//!    destructor while the stack unwinds, or in the panic hook: until that is over, nothing can be
//!    unwound to the scopes outside.
//! 4. [`are_used`] is true from before the first scope on. Until then no wait looks for a scope.

use crate::sync::thread_mutex::Mutex;
use crate::sys::panic_count::Panics;
use crate::wait::limit::Limit;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// The bit of [`DETOUR`] for scopes.
const SCOPES: u8 = 1;
/// The bit of [`DETOUR`] for noted times.
const TIMES: u8 = 2;
/// The bit of [`DETOUR`] for clusters that unwind their fibres.
const STOPS: u8 = 4;

/// Why waits take a longer way than usual: the bits above. One word, so that the usual way pays for
/// one look. The first two are set, and never cleared.
static DETOUR: AtomicU8 = AtomicU8::new(0);

/// Whether waits take the longer way.
#[inline]
pub(crate) fn is_detour() -> bool {
    DETOUR.load(Ordering::Relaxed) != 0
}

/// Has waits take the longer way from now on, as they note times.
pub(crate) fn note_times() {
    DETOUR.fetch_or(TIMES, Ordering::Relaxed);
}

/// Whether there has been a scope.
#[inline]
pub(crate) fn are_used() -> bool {
    DETOUR.load(Ordering::Relaxed) & SCOPES != 0
}

/// Whether waits without a limit may be unwound: there has been a scope, or a cluster unwinds its
/// fibres.
#[inline]
pub(crate) fn may_unwind() -> bool {
    DETOUR.load(Ordering::Relaxed) & (SCOPES | STOPS) != 0
}

/// How many clusters unwind their fibres.
static STOPPING: Mutex<usize> = Mutex::new(0);

/// While it lives, a cluster unwinds its fibres, and waits ask whether it is theirs.
#[derive(Debug)]
pub(crate) struct Unwinding(());

impl Unwinding {
    /// Begins it. The order to the processors has to be given after that.
    pub(crate) fn begin() -> Self {
        let mut stopping = STOPPING.lock();
        *stopping += 1;
        DETOUR.fetch_or(STOPS, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Unwinding {
    fn drop(&mut self) {
        let mut stopping = STOPPING.lock();
        *stopping -= 1;
        if *stopping == 0 {
            DETOUR.fetch_and(!STOPS, Ordering::Relaxed);
        }
    }
}

/// One scope of limits.
#[derive(Debug)]
pub(crate) struct LimitScope {
    /// The scope outside of it; null for none.
    outer: *const Self,
    /// When its time is over, or that of a scope outside of it.
    deadline: Option<Instant>,
    /// Whether cancellation, too, ends calls that cannot fail.
    unwinds: bool,
    /// How many shields its fibre or thread had raised when it began. One that is raised later
    /// keeps it out.
    shields: u32,
    /// The panics of its fibre or thread that were under way when it began. One that has begun
    /// since is not interrupted by another.
    panics: Panics,
    /// Whether its deadline has ended a call.
    ended: Cell<bool>,
}

impl LimitScope {
    /// A scope within `outer`, of a fibre or thread with so many raised shields, and these panics
    /// under way.
    ///
    /// # Safety
    ///
    /// `outer` is null, or a scope that outlives this one.
    pub(crate) unsafe fn new(
        outer: *const Self,
        deadline: Option<Instant>,
        unwinds: bool,
        shields: u32,
        panics: Panics,
    ) -> Self {
        if !are_used() {
            DETOUR.fetch_or(SCOPES, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        let beyond = unsafe { outer.as_ref() };
        let before = beyond.and_then(|outer| outer.deadline);
        Self {
            outer,
            deadline: earlier(deadline, before),
            unwinds: unwinds || beyond.is_some_and(|outer| outer.unwinds),
            shields,
            panics,
            ended: Cell::new(false),
        }
    }

    /// When its time is over, or that of a scope outside of it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether cancellation, too, ends calls that cannot fail.
    pub(crate) fn unwinds(&self) -> bool {
        self.unwinds
    }

    /// Whether no shield keeps it out: none has been raised in it, of the `raised` ones.
    pub(crate) fn is_in_force(&self, raised: u32) -> bool {
        raised <= self.shields
    }

    /// The panics that were under way when it began.
    pub(crate) fn panics(&self) -> Panics {
        self.panics
    }

    /// Whether its deadline has ended a call.
    pub(crate) fn has_ended_a_call(&self) -> bool {
        self.ended.get()
    }

    /// What limits a wait with this limit in the scope: whichever comes first.
    pub(crate) fn bound(&self, limit: Limit) -> Limit {
        let Some(deadline) = self.deadline else {
            return match limit {
                Limit::None if self.unwinds => Limit::Cancellation,
                limit => limit,
            };
        };
        match limit {
            Limit::None | Limit::Cancellation => Limit::Deadline(deadline),
            Limit::Deadline(own) => Limit::Deadline(own.min(deadline)),
            Limit::Wall(moment) if moment.is_before(deadline) => limit,
            Limit::Wall(_) => Limit::Deadline(deadline),
        }
    }

    /// Notes that a call ends because the time of this scope is over, if it is. Returns the scope
    /// that the call is unwound to, the outermost one whose time is over.
    pub(crate) fn end_call(&self, now: Instant) -> Option<*const Self> {
        let mut over = None;
        let mut next: *const Self = self;
        // SAFETY: invariant 2.
        while let Some(scope) = unsafe { next.as_ref() } {
            if scope.deadline.is_none_or(|deadline| now < deadline) {
                break;
            }
            // Those in between are left, too, and their calls have ended by then.
            scope.ended.set(true);
            over = Some(next);
            next = scope.outer;
        }
        over
    }

    /// The same by its address, for what is to be found again.
    pub(crate) fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// The earlier of two moments, if there are any.
fn earlier(left: Option<Instant>, right: Option<Instant>) -> Option<Instant> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wait::wall_clock::WallTime;
    use std::time::Duration;

    /// A scope within another one.
    fn within(outer: *const LimitScope, deadline: Option<Instant>, unwinds: bool) -> LimitScope {
        // SAFETY: the tests keep the outer one.
        unsafe { LimitScope::new(outer, deadline, unwinds, 0, Panics::NONE) }
    }

    #[test]
    fn the_first_limit_to_come_counts() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let scope = within(ptr::null(), Some(now + second), false);
        let soon = Limit::Deadline(now + second);
        assert_eq!(scope.bound(Limit::None), soon);
        assert_eq!(scope.bound(Limit::Cancellation), soon);
        assert_eq!(scope.bound(Limit::Deadline(now)), Limit::Deadline(now));
        assert_eq!(scope.bound(Limit::Deadline(now + 2 * second)), soon);
        let walls = [0, 3600].map(|later| WallTime::now().after(later * second));
        assert_eq!(scope.bound(Limit::Wall(walls[0])), Limit::Wall(walls[0]));
        assert_eq!(scope.bound(Limit::Wall(walls[1])), soon);
        let endless = within(ptr::null(), None, false);
        assert_eq!(endless.bound(Limit::None), Limit::None);
        let unwinds = within(&endless, None, true);
        assert_eq!(unwinds.bound(Limit::None), Limit::Cancellation);
        assert!(within(&unwinds, None, false).unwinds() && !endless.unwinds());
        assert!(are_used() && is_detour());
    }

    #[test]
    fn waits_ask_for_as_long_as_a_cluster_unwinds() {
        let stops = || DETOUR.load(Ordering::Relaxed) & STOPS != 0;
        let (first, second) = (Unwinding::begin(), Unwinding::begin());
        assert!(stops() && may_unwind() && is_detour());
        drop(first);
        assert!(stops());
        drop(second);
        assert!(!stops());
    }

    #[test]
    fn a_call_is_unwound_to_the_outermost_scope_that_is_over() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let outer = within(ptr::null(), Some(now + 3 * second), false);
        let middle = within(&outer, Some(now + second), false);
        let inner = within(&middle, Some(now + 2 * second), false);
        assert_eq!(inner.deadline(), Some(now + second));
        assert_eq!(inner.end_call(now), None);
        assert_eq!(inner.end_call(now + second), Some(ptr::from_ref(&middle)));
        let ended = [&outer, &middle, &inner].map(LimitScope::has_ended_a_call);
        assert_eq!(ended, [false, true, true]);
        assert_eq!(
            inner.end_call(now + 3 * second),
            Some(ptr::from_ref(&outer))
        );
    }
}
