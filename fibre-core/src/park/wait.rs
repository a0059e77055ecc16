//! One wait of a fibre or thread, from its waiter to its outcome.
//!
//! [`Wait`] is the one primitive: it makes a [`Waiter`], lets the caller hang it
//! somewhere, and suspends until the waiter's winner resumes. From a fibre it
//! blocks the fibre; from any other thread, the thread. This is the only place
//! that knows the difference, so everything above works from everywhere.
//!
//! A fibre that waits in a destructor during unwinding switches like any other, and takes along
//! what std counts of its panics by thread (see docs/decisions/0076). It is never moved to another
//! kernel thread meanwhile. A fibre in the panic hook does not switch: another fibre that then set
//! the hook would block the whole thread. Until it leaves the hook, its processor runs no other
//! fibre and only handles events and timers (see docs/decisions/0004).

use crate::fibre::{ControlBlock, FibreRef};
use crate::park::bounds::{self, WaitLimits};
use crate::park::leave::{leave, suspend_untied};
use crate::park::roused::{give_up_parked, give_up_roused, has_left, has_left_anywhere};
use crate::processor::{Processor, in_fibre};
use crate::stack::context::Action;
use crate::sys::current;
use crate::sys::fork;
use crate::sys::stderr;
use crate::wait::limit::Limit;
use crate::wait::limit_scope;
use crate::wait::task_wait;
use crate::wait::timer::Entry;
use crate::wait::wait_object::WaitObject;
use crate::wait::waiter::{self, Outcome, ThreadParker};
use std::time::Instant;

/// One wait of one fibre or thread.
pub type Waiter = waiter::Waiter<ControlBlock>;

/// One wait of a task of asynchronous code.
pub type TaskWait<E> = task_wait::TaskWait<ControlBlock, E>;

/// The right and the duty of a wait's winner.
pub type Resume = waiter::Resume<ControlBlock>;

/// A wait that is about to begin: for what, and what ends it beside a waker.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// What reports show (see [`waits`](crate::waits())).
    awaited: WaitObject,
    /// The limit of the call.
    limit: Limit,
    /// When the wait ends, too.
    due: Option<Instant>,
    /// Whether the fibre notices neither its cancellation nor limit scopes.
    unheeding: bool,
}

impl Wait {
    /// A wait within this limit: a deadline, or the fibre's cancellation.
    ///
    /// Unless what it is for is [closed](WaitObject::closed), a [`timeout`](crate::timeout())
    /// around the call limits it, too, and a cluster that is stopped within limits ends it. If that
    /// ends a wait without a limit of its own, the wait does not return: **it unwinds**, after
    /// `withdraw` has been called. So what lies between it and the call of the user has to be as it
    /// should if the wait panics. [`shield`](crate::shield) prevents that.
    #[inline(always)]
    #[must_use]
    pub const fn new(awaited: WaitObject, limit: Limit) -> Self {
        Self {
            awaited,
            limit,
            due: None,
            unheeding: false,
        }
    }

    /// A wait that only a waker ends.
    #[inline(always)]
    #[must_use]
    pub const fn closed(awaited: WaitObject) -> Self {
        Self::new(awaited.closed(), Limit::None)
    }

    /// The same, which also ends when something is `due`: with [`Outcome::TimedOut`], like one with
    /// a limit of its own that has come. That moment is no limit of the call: without another
    /// limit, the wait notices no cancellation, and a limit scope unwinds it.
    #[inline(always)]
    #[must_use]
    pub const fn until(self, due: Option<Instant>) -> Self {
        Self { due, ..self }
    }

    /// The same, with a limit, for a fibre that notices neither its cancellation nor limit scopes.
    #[inline(always)]
    pub(super) const fn unheeding(self) -> Self {
        Self {
            unheeding: true,
            ..self
        }
    }

    /// Waits until a waker claims the waiter and resumes, or the limit comes. Blocks the fibre, or
    /// the thread if the caller is not a fibre.
    ///
    /// `publish` hangs the waiter where a waker finds it; if it returns `false`, there is no wait
    /// ([`Outcome::NotParked`]). It gets the limit that the wait has after all.
    ///
    /// `withdraw` is called if the limit wins: it takes the waiter out of where it was published,
    /// under the lock that wakers claim it under. It is also called for a waiter without a limit
    /// that is to leave, and that a waker may have claimed by then; so it tolerates that, and no
    /// waker can claim the waiter after it. Neither closure may panic, block the fibre or let
    /// others run. Builds with debug assertions check this of `publish`, and abort.
    ///
    /// A fibre that has been cancelled publishes all the same: a call that need not wait succeeds.
    /// Instead of waiting, the fibre lets the others of its processor run once, so that a loop
    /// which tries again and again blocks nobody.
    ///
    /// # Safety
    ///
    /// The waiter lies in this call's frame. If `publish` returns `false`, nobody has claimed it
    /// and nobody can reach it. If it returns `true`, a waker reaches it under a lock (or by a word
    /// of equal power) under which it is taken out before, or by, its claim or by `withdraw`; and
    /// the waker that claims it resumes it.
    #[inline(always)]
    pub unsafe fn park(
        self,
        publish: impl FnOnce(&Waiter, Limit) -> bool,
        withdraw: impl FnOnce(&Waiter),
    ) -> Outcome {
        park_here::<false>(self, publish, withdraw)
    }

    /// [`park`](Self::park) for a waiter that is published in several places: `withdraw` is called
    /// however the wait ends, since a waker takes the waiter out of only one of them.
    ///
    /// # Safety
    ///
    /// As for [`park`](Self::park); `withdraw` takes the waiter out of all places where it may
    /// still be.
    #[inline(always)]
    pub unsafe fn park_among(
        self,
        publish: impl FnOnce(&Waiter, Limit) -> bool,
        withdraw: impl FnOnce(&Waiter),
    ) -> Outcome {
        let outcome = park_here::<true>(self, publish, withdraw);
        if self.limit == Limit::None && outcome == Outcome::Cancelled {
            bounds::unwind(None);
        }
        outcome
    }

    /// Whether limit scopes end it, too.
    fn is_open(&self) -> bool {
        !self.unheeding && !self.awaited.is_closed()
    }

    /// Its limits, with those of the scopes around the call.
    fn limits<'a>(&self) -> WaitLimits<'a> {
        WaitLimits::of_wait(self.is_open(), self.limit, self.due)
    }
}

/// The common part of both; the waiter may be `AMONG` several places.
#[inline(always)]
fn park_here<const AMONG: bool>(
    wait: Wait,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    let publish = |waiter: &Waiter, limit| publish_in_place(|it| publish(it, limit), waiter);
    let parks = Processor::here(|here| {
        let fibre = here.running()?;
        let at_home = here.keeps_fibres()
            && (wait.limit == Limit::None || here.limits_at_home())
            && !current::panicking();
        debug_assert!(
            !at_home || here.is_home_of(fibre),
            "a fibre waits at home elsewhere"
        );
        Some((fibre, at_home))
    });
    let Some((fibre, at_home)) = parks.flatten() else {
        return park_rarely::<AMONG, _, _>(None, wait, publish, withdraw);
    };
    // SAFETY: the running fibre's own block.
    let block = unsafe { fibre.as_ref() };
    match at_home {
        true => block.note(wait.awaited),
        false => block.note(wait.awaited.away()),
    }
    if limit_scope::is_detour() || wait.due.is_some() {
        return park_rarely::<AMONG, _, _>(Some((fibre, at_home)), wait, publish, withdraw);
    }
    let (limit, unheeding) = (wait.limit, wait.unheeding);
    match at_home {
        true => park_at_home::<AMONG>(fibre, limit, unheeding, publish, withdraw),
        false => park_fibre::<AMONG>(fibre, limit, unheeding, publish, withdraw),
    }
}

/// The ways of a wait that are not the usual one: of a fibre, which has noted what it waits for, in
/// a limit scope; or of a plain thread (`None`). They are compiled once, not for each kind of wait,
/// and the usual way need not have its closures in memory.
#[cold]
#[inline(never)]
fn park_rarely<const AMONG: bool, P, W>(
    fibre: Option<(FibreRef, bool)>,
    wait: Wait,
    publish: P,
    withdraw: W,
) -> Outcome
where
    P: FnOnce(&Waiter, Limit) -> bool,
    W: FnOnce(&Waiter),
{
    let (mut publish, mut withdraw) = (Some(publish), Some(withdraw));
    let closures = Closures {
        publish: &mut |waiter, limit| {
            let publish = publish.take();
            publish.is_some_and(|publish| publish(waiter, limit))
        },
        withdraw: &mut |waiter| {
            if let Some(withdraw) = withdraw.take() {
                withdraw(waiter);
            }
        },
    };
    match fibre {
        Some((fibre, at_home)) => park_bounded::<AMONG>(fibre, at_home, wait, closures),
        None => park_thread::<AMONG>(wait, closures),
    }
}

/// What a wait does with its waiter. Each is called once at most.
struct Closures<'a> {
    /// Hangs the waiter up.
    publish: &'a mut dyn FnMut(&Waiter, Limit) -> bool,
    /// Takes it down.
    withdraw: &'a mut dyn FnMut(&Waiter),
}

/// The longer way of a wait of a fibre, which has noted what it waits for: looks for a limit scope
/// around the call.
fn park_bounded<const AMONG: bool>(
    fibre: FibreRef,
    at_home: bool,
    wait: Wait,
    closures: Closures<'_>,
) -> Outcome {
    let Closures { publish, withdraw } = closures;
    // SAFETY: the running fibre's own block.
    let block = unsafe { fibre.as_ref() };
    block.note_since();
    let bounds = wait.limits();
    let limits_at_home = || Processor::here(Processor::limits_at_home) == Some(true);
    let goes_away = at_home && bounds.limit() != Limit::None && !limits_at_home();
    if goes_away {
        block.note(wait.awaited.away());
    }
    let at_home = at_home && !goes_away;
    bounds.wait(|limit, bound| {
        let unheeding = wait.unheeding || bound;
        match at_home {
            true => park_at_home::<AMONG>(fibre, limit, unheeding, publish, withdraw),
            false => park_fibre::<AMONG>(fibre, limit, unheeding, publish, withdraw),
        }
    })
}

/// Publishes a wait. A fibre that leaves its stack meanwhile could be queued twice, so builds with
/// debug assertions look for that.
#[inline(always)]
fn publish_in_place(publish: impl FnOnce(&Waiter) -> bool, waiter: &Waiter) -> bool {
    if !cfg!(debug_assertions) {
        return publish(waiter);
    }
    if !in_fibre() {
        return publish(waiter);
    }
    let note = |publishing| Processor::here(|here| here.set_publishing(publishing));
    Processor::assert_may_leave();
    note(true);
    let published = publish(waiter);
    note(false);
    published
}

/// [`park_here`] for a fibre that stays on its processor and does not panic. Its waker queues it,
/// which a processor that holds the fibre could not tell.
#[inline(always)]
fn park_at_home<const AMONG: bool>(
    fibre: FibreRef,
    limit: Limit,
    unheeding: bool,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    // SAFETY: the running fibre's own block.
    let block = unsafe { fibre.as_ref() };
    // SAFETY: the running fibre, whose processor keeps it.
    let waiter = unsafe { Waiter::at_home(fibre) };
    let waiter = std::hint::black_box(&waiter);
    let unwound = AbortOnUnwind;
    let outcome = if !publish(waiter, limit) {
        Outcome::NotParked
    } else if !AMONG && limit == Limit::None {
        // A branch of its own, as the shortest path is the most used one.
        suspend_untied(block, Action::ParkAtHome);
        if block.link().is_roused() && has_left(block, waiter, withdraw) {
            block.wait_slot.end_wait();
            std::mem::forget(unwound);
            bounds::unwind(None);
        }
        waiter.outcome()
    } else {
        leave_at_home(block, waiter, limit, unheeding);
        let outcome = waiter.outcome();
        if AMONG || matches!(outcome, Outcome::TimedOut | Outcome::Cancelled) {
            withdraw(waiter);
        }
        outcome
    };
    block.wait_slot.end_wait();
    std::mem::forget(unwound);
    outcome
}

/// Leaves the stack at home until the waiter's winner resumes, or the limit comes.
#[inline(always)]
fn leave_at_home(block: &ControlBlock, waiter: &Waiter, limit: Limit, unheeding: bool) {
    if limit == Limit::None {
        suspend_untied(block, Action::ParkAtHome);
        if block.link().is_roused() {
            give_up_roused(block, waiter);
        }
        return;
    }
    let cancellable = !unheeding && block.shields.get() == 0;
    // SAFETY: the waiter stays in its frame until the end of this function at least.
    let cancelled = cancellable && unsafe { block.state.begin_wait_at_home(waiter) };
    // If it wins its own waiter, nobody else queues it.
    let given_up = cancelled && waiter.cancel().is_some();
    let action = if given_up {
        // It is queued like any other, where others may take it.
        block.wait_slot.leave_home();
        Action::Yield
    } else {
        Action::ParkAtHome
    };
    leave_armed(limit, waiter, || {
        suspend_untied(block, action);
        if block.link().is_roused() {
            give_up_roused(block, waiter);
        }
    });
    if cancellable {
        block.state.end_wait_at_home(waiter);
    }
}

/// [`park_here`] for a fibre that does not wait at home.
#[inline(always)]
fn park_fibre<const AMONG: bool>(
    fibre: FibreRef,
    limit: Limit,
    unheeding: bool,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    // SAFETY: the running fibre's own block.
    let block = unsafe { fibre.as_ref() };
    // SAFETY: the running fibre.
    let waiter = unsafe { Waiter::for_fibre(fibre) };
    let waiter = std::hint::black_box(&waiter);
    let unwound = AbortOnUnwind;
    if !publish(waiter, limit) {
        block.wait_slot.end_wait();
        std::mem::forget(unwound);
        return Outcome::NotParked;
    }
    let cancellable = limit != Limit::None && !unheeding && block.shields.get() == 0;
    // SAFETY: the waiter stays in this frame.
    unsafe { block.state.begin_wait(cancellable.then_some(waiter)) };
    let mut unwound = unwound;
    // A closure, as builds without optimisation would have its frames twice in this one.
    let leave = || leave(block);
    if !AMONG && limit == Limit::None {
        leave();
        if block.link().is_roused() {
            unwound = unwind_anywhere(block, waiter, withdraw, unwound);
        }
        block.wait_slot.end_wait();
        std::mem::forget(unwound);
        return waiter.outcome();
    }
    leave_armed(limit, waiter, || {
        leave();
        if block.link().is_roused() {
            give_up_parked(block, waiter);
        }
    });
    block.wait_slot.end_wait();
    let outcome = waiter.outcome();
    if AMONG || matches!(outcome, Outcome::TimedOut | Outcome::Cancelled) {
        withdraw(waiter);
    }
    std::mem::forget(unwound);
    outcome
}

/// The part of [`park_fibre`] of a fibre that has been roused in a wait without a limit: unwinds,
/// or comes back when the wait is over. Not inlined, as each kind of wait would have it in its
/// frame.
#[cold]
#[inline(never)]
fn unwind_anywhere(
    block: &ControlBlock,
    waiter: &Waiter,
    withdraw: impl FnOnce(&Waiter),
    unwound: AbortOnUnwind,
) -> AbortOnUnwind {
    if has_left_anywhere(block, waiter, withdraw) {
        block.wait_slot.end_wait();
        std::mem::forget(unwound);
        bounds::unwind(None);
    }
    unwound
}

/// Leaves the stack with the limit's deadline armed, if it is one.
#[inline(always)]
fn leave_armed(limit: Limit, waiter: &Waiter, leave: impl FnOnce()) {
    let entry = match limit {
        Limit::None | Limit::Cancellation => None,
        Limit::Deadline(deadline) => Some(Entry::new(deadline, waiter)),
        Limit::Wall(moment) => Some(Entry::by_wall_clock(moment, waiter)),
    };
    let armed = entry.as_ref().map(|entry| {
        // The reference stays good after a switch, whatever thread we are on then: a
        // processor outlives the fibres of its cluster, and its timers are locked.
        // SAFETY: this thread is a processor, since a fibre runs on it.
        let timers = unsafe { (*Processor::current()).timers() };
        // SAFETY: entry and waiter stay in these frames until `remove`.
        unsafe { timers.insert(entry) };
        (timers, entry)
    });
    leave();
    if let Some((timers, entry)) = armed {
        timers.remove(entry);
    }
}

/// [`park_here`] for a plain thread.
fn park_thread<const AMONG: bool>(wait: Wait, closures: Closures<'_>) -> Outcome {
    Processor::assert_may_block();
    wait.limits()
        .wait(|limit, _| park_thread_within::<AMONG>(limit, closures))
}

/// The wait of a plain thread within its limit.
fn park_thread_within<const AMONG: bool>(limit: Limit, closures: Closures<'_>) -> Outcome {
    let Closures { publish, withdraw } = closures;
    if !limit.is_timed() {
        fork::die_if_forked("a wait that nobody could end");
    }
    let parker = ThreadParker::new();
    // SAFETY: both are in this frame, which a resume is waited for in.
    let waiter = unsafe { Waiter::for_thread(&parker) };
    let unwound = AbortOnUnwind;
    let published = publish(&waiter, limit);
    // We claim the waiter; or a winner has, and is about to resume us.
    if published && !parker.park_within(limit) && waiter.time_out().is_none() {
        parker.park();
    }
    let outcome = if published {
        waiter.outcome()
    } else {
        Outcome::NotParked
    };
    if published && (AMONG || outcome == Outcome::TimedOut) {
        withdraw(&waiter);
    }
    std::mem::forget(unwound);
    outcome
}

/// Aborts if dropped: a published waiter must not be unwound over.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        stderr::abort_with(format_args!(
            "a panic would free a waiter that others can reach"
        ));
    }
}
