//! The park side of suspension, and everything else that leaves a fibre's stack.
//!
//! [`park_until`] is the one primitive: it makes a [`Waiter`], lets the caller hang
//! it somewhere, and suspends until the waiter's winner resumes. From a fibre it
//! blocks the fibre; from any other thread, the thread. This is the only place
//! that knows the difference, so everything above works from everywhere.
//!
//! Each function that leaves the stack is inlined into its caller, as far as it goes: a function
//! that returns after a switch returns to where the CPU does not expect it, which costs more than
//! the switch. The end of a slice is an exception, as it comes so seldom.
//!
//! A fibre that waits in a destructor during unwinding switches like any other, and takes along
//! what std counts of its panics by thread (see docs/decisions/0076). It is never moved to another
//! kernel thread meanwhile. A fibre in the panic hook does not switch: another fibre that then set
//! the hook would block the whole thread. Until it leaves the hook, its processor runs no other
//! fibre and only handles events and timers (see docs/decisions/0004).

use crate::config::settings::default_processors;
use crate::fibre::{ControlBlock, FibreRef};
use crate::park::bounds::{self, WaitLimits};
use crate::park::leave::{leave, suspend, suspend_untied};
use crate::park::roused::{give_up_parked, give_up_roused, has_left};
use crate::processor::{Processor, in_fibre, with_running};
use crate::queue::Runnable;
use crate::ready::ReadyQueue;
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
use std::sync::LazyLock;
use std::time::Instant;

/// One wait of one fibre or thread.
pub type Waiter = waiter::Waiter<ControlBlock>;

/// One wait of a task of asynchronous code.
pub type TaskWait<E> = task_wait::TaskWait<ControlBlock, E>;

/// The right and the duty of a wait's winner.
pub type Resume = waiter::Resume<ControlBlock>;

/// Waits until a waker claims the waiter and resumes. Blocks the fibre, or the thread if the caller
/// is not a fibre. Reports show that it waits for `awaited` (see [`waits`](crate::waits())).
///
/// `publish` hangs the waiter where a waker finds it; if it returns `false`, there is no wait
/// ([`Outcome::NotParked`]). It must not panic: the process would abort.
///
/// Nothing else ends the wait, not even a [`timeout`](crate::timeout()) around the call.
///
/// # Safety
///
/// As for [`park_until`].
#[inline(always)]
pub unsafe fn park(awaited: WaitObject, publish: impl FnOnce(&Waiter) -> bool) -> Outcome {
    let publish = |waiter: &Waiter, _| publish(waiter);
    park_here::<PLAIN>(awaited.closed(), Limit::None, false, publish, |_| {})
}

/// [`park`] with a limit: a deadline, or the fibre's cancellation; and a cluster that is stopped
/// within limits ends the wait, too, unless what it is for is [closed](WaitObject::closed).
///
/// A call within a [`timeout`](crate::timeout()) has the limit of that, too. `publish` gets the
/// limit that the wait has after all. A wait without a limit of its own that such a limit ends
/// does not return: **it unwinds**, after `withdraw` has been called. So what lies between it and
/// the call of the user has to be as it should if the wait panics. [`shield`](crate::shield)
/// prevents that.
///
/// `withdraw` is called if the limit wins: it takes the waiter out of where it was published, under
/// the lock that wakers claim it under. It is also called for a waiter without a limit that is to
/// leave, and that a waker may have claimed by then; so it tolerates that, and no waker can claim
/// the waiter after it. Neither closure may panic, block the fibre or let others
/// run. Builds with debug assertions check this of `publish`, and abort.
///
/// A fibre that has been cancelled publishes all the same: a call that need not wait succeeds.
/// Instead of waiting, the fibre lets the others of its processor run once, so that a loop which
/// tries again and again blocks nobody.
///
/// # Safety
///
/// The waiter lies in this call's frame. If `publish` returns `false`, nobody has claimed it and
/// nobody can reach it. If it returns `true`, a waker reaches it under a lock (or by a word of
/// equal power) under which it is taken out before, or by, its claim or by `withdraw`; and the
/// waker that claims it resumes it.
#[inline(always)]
pub unsafe fn park_until(
    awaited: WaitObject,
    limit: Limit,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    park_here::<OPEN>(awaited, limit, false, publish, withdraw)
}

/// [`park_until`], with a limit, for a fibre that notices neither its cancellation nor limit scopes
/// in this wait.
///
/// # Safety
///
/// As for [`park_until`].
#[inline(always)]
pub(super) unsafe fn park_unheeding(
    awaited: WaitObject,
    limit: Limit,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    debug_assert!(limit != Limit::None, "nothing would end the wait");
    park_here::<LIMITED>(awaited, limit, true, publish, withdraw)
}

/// [`park_until`] for a waiter that is published in several places: `withdraw` is called however
/// the wait ends, since a waker takes the waiter out of only one of them.
///
/// # Safety
///
/// As for [`park_until`]; `withdraw` takes the waiter out of all places where it may still be.
#[inline(always)]
pub unsafe fn park_among(
    awaited: WaitObject,
    limit: Limit,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    park_here::<{ AMONG | OPEN }>(awaited, limit, false, publish, withdraw)
}

/// [`park_among`] for a wait that also ends when something is `due`: with [`Outcome::TimedOut`],
/// like one whose own limit has come. That moment is no limit of the call: without another limit,
/// it notices no cancellation, and a limit scope unwinds it.
///
/// # Safety
///
/// As for [`park_among`].
#[inline]
pub unsafe fn park_among_until(
    awaited: WaitObject,
    limit: Limit,
    due: Option<Instant>,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    let Some(due) = due else {
        let outcome = park_here::<{ AMONG | OPEN }>(awaited, limit, false, publish, withdraw);
        if limit == Limit::None && outcome == Outcome::Cancelled {
            bounds::unwind(None);
        }
        return outcome;
    };
    WaitLimits::of_wait(true, limit).wait_until(due, |limit, unheeding| {
        park_here::<AMONG>(awaited, limit, unheeding, publish, withdraw)
    })
}

/// A wait by [`park`]: closed.
const PLAIN: u8 = 0;
/// The waiter is in several places.
const AMONG: u8 = 1;
/// Limit scopes end the wait, too.
const OPEN: u8 = 2;
/// The wait has a limit of its own, and is in no scope.
const LIMITED: u8 = 4;

/// The common part of all; `FORM` is a set of the bits above. An `unheeding` wait notices no
/// cancellation.
#[inline(always)]
fn park_here<const FORM: u8>(
    awaited: WaitObject,
    limit: Limit,
    unheeding: bool,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    let publish = |waiter: &Waiter, limit| publish_in_place(|it| publish(it, limit), waiter);
    let parks = Processor::here(|here| {
        let fibre = here.running()?;
        let at_home = here.keeps_fibres()
            && (limit == Limit::None || here.limits_at_home())
            && !current::panicking();
        debug_assert!(
            !at_home || here.is_home_of(fibre),
            "a fibre waits at home elsewhere"
        );
        Some((fibre, at_home))
    });
    match parks.flatten() {
        Some((fibre, at_home)) => {
            // SAFETY: the running fibre's own block.
            unsafe { fibre.as_ref() }.note(awaited);
            if limit_scope::is_detour() {
                let closures = Closures { publish, withdraw };
                return park_bounded::<FORM, _, _>(fibre, at_home, limit, unheeding, closures);
            }
            match at_home {
                true => park_at_home::<FORM>(fibre, limit, unheeding, publish, withdraw),
                false => park_fibre::<FORM>(fibre, limit, unheeding, publish, withdraw),
            }
        }
        None => park_thread::<FORM>(limit, publish, withdraw),
    }
}

/// What a wait does with its waiter. Made where the longer way begins, so that the usual way need
/// not have its closures in memory.
struct Closures<P, W> {
    /// Hangs the waiter up.
    publish: P,
    /// Takes it down.
    withdraw: W,
}

/// The longer way of a wait of a fibre, which has noted what it waits for: looks for a limit scope
/// around the call.
#[cold]
#[inline(never)]
fn park_bounded<const FORM: u8, P, W>(
    fibre: FibreRef,
    at_home: bool,
    limit: Limit,
    unheeding: bool,
    closures: Closures<P, W>,
) -> Outcome
where
    P: FnOnce(&Waiter, Limit) -> bool,
    W: FnOnce(&Waiter),
{
    let Closures { publish, withdraw } = closures;
    // SAFETY: the running fibre's own block.
    let block = unsafe { fibre.as_ref() };
    block.note_since();
    let bounds = WaitLimits::of_wait(FORM & OPEN != 0, limit);
    let limits_at_home = || Processor::here(Processor::limits_at_home) == Some(true);
    let at_home = at_home && (bounds.limit() == Limit::None || limits_at_home());
    bounds.wait(|limit, bound| match at_home {
        true => park_at_home::<FORM>(fibre, limit, unheeding || bound, publish, withdraw),
        false => park_fibre::<FORM>(fibre, limit, unheeding || bound, publish, withdraw),
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
fn park_at_home<const FORM: u8>(
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
    } else if FORM & AMONG == 0 && limit == Limit::None {
        // A branch of its own, as the shortest path is the most used one.
        suspend_untied(block, Action::ParkAtHome);
        if FORM != PLAIN && block.link().is_roused() && has_left(block, waiter, withdraw) {
            block.wait_slot.end_wait();
            std::mem::forget(unwound);
            bounds::unwind(None);
        }
        waiter.outcome()
    } else {
        leave_at_home(block, waiter, limit, unheeding);
        let outcome = waiter.outcome();
        if FORM & AMONG != 0 || matches!(outcome, Outcome::TimedOut | Outcome::Cancelled) {
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
fn park_fibre<const FORM: u8>(
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
    leave_armed(limit, waiter, || {
        leave(block);
        if block.link().is_roused() {
            give_up_parked(block, waiter, FORM & AMONG != 0 || limit != Limit::None);
        }
    });
    block.wait_slot.end_wait();
    let outcome = waiter.outcome();
    if FORM & AMONG != 0 || matches!(outcome, Outcome::TimedOut | Outcome::Cancelled) {
        withdraw(waiter);
    }
    std::mem::forget(unwound);
    outcome
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
fn park_thread<const FORM: u8>(
    limit: Limit,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
    Processor::assert_may_block();
    let bounds = WaitLimits::of_wait(FORM & OPEN != 0, limit);
    bounds.wait(|limit, _| park_thread_within::<FORM>(limit, publish, withdraw))
}

/// The wait of a plain thread within its limit.
fn park_thread_within<const FORM: u8>(
    limit: Limit,
    publish: impl FnOnce(&Waiter, Limit) -> bool,
    withdraw: impl FnOnce(&Waiter),
) -> Outcome {
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
    if published && (FORM & AMONG != 0 || outcome == Outcome::TimedOut) {
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

/// Lets other fibres of this processor run. On a plain thread, lets other threads run.
///
/// Returns at once when nothing else is ready here.
///
/// ```
/// fibre::spawn(|| {
///     for _ in 0..3 {
///         fibre::yield_now();
///     }
/// })
/// .join()
/// .unwrap();
/// ```
#[inline(always)]
pub fn yield_now() {
    Processor::assert_may_leave();
    let yields = |here: &Processor, _: &ControlBlock| {
        let leaves = !here.yields_to_nobody();
        leaves.then_some(Action::Yield)
    };
    if leave_if(yields).is_none() {
        std::thread::yield_now();
    }
}

/// Leaves the stack of the calling fibre if `asks`, which gets its processor, says how. `None`: a
/// plain thread.
#[inline(always)]
pub(crate) fn leave_if(
    asks: impl FnOnce(&Processor, &ControlBlock) -> Option<Action>,
) -> Option<()> {
    let leaves = Processor::here(|here| {
        let fibre = here.running()?;
        // SAFETY: the calling fibre, which does not end meanwhile.
        let action = asks(here, unsafe { fibre.as_ref() })?;
        Some((fibre, action))
    })?;
    if let Some((fibre, action)) = leaves {
        // SAFETY: as above.
        suspend(unsafe { fibre.as_ref() }, action);
    }
    Some(())
}

/// Leaves the stack of the calling fibre, which runs on `processor`, to `successor`, which is new.
/// If the caller unwinds, or runs the panic hook, the successor is queued instead.
pub(crate) fn make_way(processor: &Processor, successor: Runnable) {
    let Some(fibre) = processor.running() else {
        unreachable!("only a fibre can make way")
    };
    if current::panicking() {
        return processor.place(successor);
    }
    let action = processor.change_places(successor);
    // SAFETY: the running fibre's own block.
    suspend_untied(unsafe { fibre.as_ref() }, action);
}

/// Lets the other fibres of this processor run, once the caller has run for about 20 µs
/// ([`ClusterBuilder::slice`](crate::ClusterBuilder::slice)). For fibres that never block, and for
/// calls that could block and did not have to. It does nothing in the panic hook, nor on a plain
/// thread, which the kernel takes care of.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let cluster = fibre::Cluster::builder().processors(1).build().unwrap();
/// let stop = std::sync::Arc::new(AtomicBool::new(false));
/// let told = std::sync::Arc::clone(&stop);
/// let busy = cluster.spawn(move || {
///     while !told.load(Ordering::Relaxed) {
///         fibre_core::internal::yield_point(); // without it the other fibre would never run
///     }
/// });
/// cluster.spawn(move || stop.store(true, Ordering::Relaxed));
/// busy.join().unwrap();
/// cluster.stop();
/// ```
#[inline]
pub fn yield_point() {
    Processor::assert_may_leave();
    if Processor::here(Processor::slice_is_over) == Some(true) {
        end_slice();
    }
}

/// Lets the other fibres of this processor run, as the caller's slice is over. Not inlined: a
/// function in which a stack is left saves all registers when it begins, also where it does not
/// come to that.
#[cold]
#[inline(never)]
pub(super) fn end_slice() {
    // A hook that was held for a moment at each of these points would take long.
    if !bounds::is_in_hook() {
        let _ = with_running(|fibre| suspend(fibre, Action::Yield));
    }
}

/// Has the CPU prefetch what the next fibre of this processor needs. For a caller that is about to
/// make a system call, during which that can arrive. A hint: it blocks nothing, and does nothing on
/// a plain thread.
#[inline]
pub fn prefetch_next() {
    let _ = Processor::here(Processor::prefetch_next);
}

/// Whether the caller had better spin for a moment, for something that another processor is about
/// to do: the caller's processor has nothing else to run, and the other one has a CPU of its own.
/// `false` on a plain thread, which had better block.
#[inline]
#[must_use]
pub fn may_spin() -> bool {
    Processor::here(Processor::may_spin) == Some(true)
}

/// Whether it can pay to spin for less time than blocking takes, though others could run meanwhile.
#[inline]
#[must_use]
pub fn may_spin_briefly() -> bool {
    Processor::here(|here| here.domain().spins()).unwrap_or_else(|| *SEVERAL)
}

/// Whether this process has several CPUs.
static SEVERAL: LazyLock<bool> = LazyLock::new(|| default_processors() > 1);

/// Whether another processor of the caller's cluster has nothing to do.
#[inline]
#[must_use]
pub fn others_idle() -> bool {
    Processor::here(Processor::others_idle) == Some(true)
}

/// Whether the processor sleeps on which the waiting fibre would go on. Called under the lock that
/// gives access to the waiter.
#[inline]
#[must_use]
pub fn waits_at_rest(waiter: &Waiter) -> bool {
    waiter.fibre().is_some_and(|fibre| {
        // SAFETY: the fibre waits, as its waiter is in a list: so it is alive, and so is its home.
        unsafe { fibre.as_ref().home().as_ref() }.is_some_and(ReadyQueue::is_idle)
    })
}

/// Whether the waiting fibre would go on here.
#[inline]
#[must_use]
pub fn waits_here(waiter: &Waiter) -> bool {
    let is_home = |here: &Processor| waiter.fibre().is_some_and(|fibre| here.is_home_of(fibre));
    Processor::here(is_home) == Some(true)
}

/// Lets the fibre of `resume` run next on this processor, and queues the caller before the others.
/// If that fibre may not run here, or the caller may not leave its stack without harm, the fibre is
/// merely resumed. Blocks nothing; but it leaves the stack, so a fibre whose waiter is published
/// must not call it.
pub fn switch_to(resume: Resume) {
    give_way(resume, Processor::change_places);
}

/// The common part of both ways of giving way to a fibre; `make_way` has it run next.
#[inline(always)]
pub(super) fn give_way(resume: Resume, make_way: impl FnOnce(&Processor, Runnable) -> Action) {
    // SAFETY: this thread is that processor, if it is one; `here` is not used after the switch.
    let here = unsafe { Processor::current().as_ref() };
    let Some((here, fibre)) = here.and_then(|here| Some((here, here.running()?))) else {
        return resume.resume();
    };
    if current::panicking() {
        return resume.resume();
    }
    match resume.successor(|successor| here.is_home_of(successor)) {
        Err(resume) => resume.resume(),
        Ok(successor) => {
            // SAFETY: its claim is ours, and its home is here, where it runs once we have left. The
            // caller is the running fibre.
            let (successor, block) = unsafe { (ControlBlock::runnable(successor), fibre.as_ref()) };
            suspend_untied(block, make_way(here, successor));
        }
    }
}

/// Resumes a fibre that should not be kept waiting, because others wait for it: if it waits at
/// home, it goes before the others there. To be used seldom: a fibre that goes first again and
/// again starves others.
pub fn wake_next(resume: Resume) {
    match resume.successor(|_| true) {
        // SAFETY: the claim is ours, and used up.
        Ok(fibre) => unsafe { ControlBlock::wake_next(fibre) },
        Err(resume) => resume.resume(),
    }
}

/// Whether waits that begin now may unwind: there has been a limit scope in this process
/// ([`timeout`](crate::timeout()) and the like), or a cluster that is stopped unwinds its fibres.
/// One that has begun before may unwind in any case, unless it is [closed](WaitObject::closed) or
/// in a shield.
#[inline]
#[must_use]
pub fn waits_may_unwind() -> bool {
    limit_scope::may_unwind()
}
