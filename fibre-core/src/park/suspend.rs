//! Everything that leaves a fibre's stack without waiting for something.
//!
//! Each function that leaves the stack is inlined into its caller, as far as possible: a return
//! after a switch goes where the CPU does not expect it, which costs more than the switch. The end
//! of a slice is an exception, since it is rare.

use crate::config::settings::default_processors;
use crate::fibre::ControlBlock;
use crate::park::bounds;
use crate::park::leave::{suspend, suspend_untied};
use crate::park::wait::Resume;
use crate::processor::{Processor, with_running};
use crate::queue::Runnable;
use crate::stack::context::Action;
use crate::sys::current;
use crate::wait::limit_scope;
use std::sync::LazyLock;

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
#[doc(alias("Gosched", "sched_yield", "pthread_yield"))]
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

/// Whether waits that begin now may unwind: there has been a limit scope in this process
/// ([`timeout`](crate::timeout()) and the like), or a cluster that is stopped unwinds its fibres.
/// One that has begun before may unwind in any case, unless it is
/// [closed](crate::WaitObject::closed) or in a shield.
#[inline]
#[must_use]
pub fn waits_may_unwind() -> bool {
    limit_scope::may_unwind()
}
