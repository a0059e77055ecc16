//! Activities: fibres that are run again and again, without an allocation.

use crate::api::spawn::Builder;
use crate::cluster::{Cluster, try_caller_place};
use crate::config::policy::Placement;
use crate::fibre::activity_word::Scheduled;
use crate::fibre::{ControlBlock, FibreRef, FibreReport, Reserved, Viewer};
use crate::park::ending::end_in_turn;
use crate::processor::Processor;
use crate::queue::Runnable;
use crate::ready::record_ready_here;
use crate::scheduler::activity::{ActivityBlock, Value};
use crate::spawn::body::{FibreBody, REMEDY, free_task};
use crate::spawn::ending::end_thread;
use crate::spawn::task::{SpawnError, SpawnTarget, tell_of_panic};
use crate::stack::StackError;
use crate::sync::unwind_guard::quietly;
use crate::sys::{fork, numbers};
use crate::trace::{self, TraceKind};
use std::alloc::Layout;
use std::fmt;
use std::io;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// What an [`Activity`] does each time it is run.
pub trait Work: Send + Sync + Sized + 'static {
    /// One run, on a fibre's stack: it may block as any fibre, and others run meanwhile. No two
    /// runs of an activity overlap, and each sees what the one before did.
    ///
    /// A panic ends the run only, and is reported on standard error. Fibre-local values end with
    /// the run.
    fn run(this: &Activity<Self>);

    /// What reports call it, also those of a stack overflow: this must be async-signal-safe, and
    /// not panic. Default: the name that its builder was given.
    fn name(&self) -> Option<&str> {
        None
    }

    /// Says that no run will come any more, as the cluster was stopped
    /// [within limits](Cluster::stop_within) before a run that was due, or in the middle of one,
    /// which then stays where it is. Those that wait for what the activity does can be told here.
    /// Default: does nothing.
    ///
    /// Called once, in the end of the call that stops the cluster, or by another thread if the
    /// activity is found later; so it may block, but should not. A panic is reported on standard
    /// error.
    fn abandoned(&self) {}
}

/// A fibre that is run each time somebody has [scheduled](Self::schedule) it, and that rests in
/// between: the handle, which is counted.
///
/// The value is dropped with the last handle or at the end of the last run, whichever comes later:
/// on the stack of that run, or where the last handle of an idle activity is dropped. Only there
/// does its destructor block. Values that go with the value of another activity are dropped within
/// its drop; if there are many in a chain, those at its end are dropped when the first has been, so
/// that the chain needs no deep stack.
///
/// An idle activity is a block of memory: it has no stack, no fibre counts it, and its cluster can
/// be stopped. Making it ready takes no allocation. A run that does not block needs no stack of its
/// own either: it has one that other activities of the processor use, too. This is what actors,
/// serial queues and event handlers are made of; see `docs/decisions/0048`.
///
/// ```
/// use fibre::activity::{Activity, Work};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::mpsc;
///
/// struct Adder {
///     sum: AtomicU32,
///     done: mpsc::SyncSender<u32>,
/// }
///
/// impl Work for Adder {
///     fn run(this: &Activity<Self>) {
///         let before = this.sum.fetch_add(1, Ordering::Relaxed);
///         this.done.send(before + 1).unwrap();
///     }
/// }
///
/// let (done, runs) = mpsc::sync_channel(8);
/// let adder = Activity::new(None, Adder { sum: AtomicU32::new(0), done })?;
/// adder.schedule()?;
/// assert_eq!(runs.recv(), Ok(1));
/// adder.schedule()?;
/// assert_eq!(runs.recv(), Ok(2));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Activity<W: Work>(NonNull<Whole<W>>);

// SAFETY: it gives shared access to the value, which is `Send` and `Sync`, and to atomic words.
unsafe impl<W: Work> Send for Activity<W> {}
// SAFETY: the same holds for shared references.
unsafe impl<W: Work> Sync for Activity<W> {}

/// The allocation of an activity.
#[repr(C)]
struct Whole<W> {
    /// Comes first: a pointer to it is a pointer to the whole.
    head: ActivityBlock,
    /// The value. Dropped by [`Activity::drop_value`].
    work: ManuallyDrop<W>,
}

/// Why an activity was not scheduled: its cluster has been stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cluster of the activity has been stopped")
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        Self::other(stopped)
    }
}

impl Builder {
    /// Makes an activity with these settings, in `cluster`, or else in the caller's. A cancel token
    /// is no setting of activities, and is left out.
    ///
    /// # Errors
    ///
    /// If there is no memory for it, the cluster has no such processor, or the default cluster
    /// cannot be started.
    pub fn activity<W: Work>(self, cluster: Option<&Cluster>, work: W) -> io::Result<Activity<W>> {
        let make = |place: &SpawnTarget<'_>| Activity::make(self, place, work);
        match cluster {
            None => try_caller_place(make)?,
            Some(cluster) => cluster.with_place(make)?,
        }
    }
}

impl<W: Work> Activity<W> {
    /// An idle activity in `cluster`, or else in the caller's; see
    /// [`Builder::activity`] for one with a name or another stack.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn new(cluster: Option<&Cluster>, work: W) -> io::Result<Self> {
        Builder::new().activity(cluster, work)
    }

    /// Makes one, for [`Builder::activity`].
    fn make(builder: Builder, place: &SpawnTarget<'_>, work: W) -> io::Result<Self> {
        let attributes = builder.attributes();
        place.check(&attributes)?;
        let memory = place.allocate(Layout::new::<Whole<W>>());
        let memory = memory.ok_or(SpawnError::NoMemory)?.cast::<Whole<W>>();
        let id = numbers::take_one();
        let block = ControlBlock::new(&Whole::<W>::BODY, attributes, id, Reserved::Activity);
        // SAFETY: fresh memory of this layout.
        unsafe {
            memory.write(Whole {
                head: ActivityBlock::new(block, Arc::clone(place.domain())),
                work: ManuallyDrop::new(work),
            });
            // A fibre has two references at first; an activity that does not run has its handle's.
            ControlBlock::release(memory.cast());
        }
        Ok(Self(memory))
    }

    /// The allocation.
    #[inline]
    fn whole(&self) -> &Whole<W> {
        // SAFETY: our reference.
        unsafe { self.0.as_ref() }
    }

    /// Makes the activity run, once for any number of calls that come before that run begins. A
    /// call that comes while it runs makes it run once more. Any thread; blocks nothing.
    ///
    /// Where it runs is the cluster's [`Revival`](crate::Revival); others that are idle may take
    /// it.
    ///
    /// # Errors
    ///
    /// [`Stopped`], if the cluster has been stopped, and in a forked child. Fibres of a cluster
    /// that is being stopped may still schedule.
    #[inline]
    pub fn schedule(&self) -> Result<(), Stopped> {
        self.schedule_at(None)
    }

    /// [`schedule`](Self::schedule), on this processor if it is this call that makes the activity
    /// ready, and the activity has neither a priority nor a processor of its own. Others may still
    /// take it.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// If the cluster has no such processor.
    pub fn schedule_on(&self, processor: usize) -> Result<(), Stopped> {
        let processors = self.whole().head.domain().regular();
        assert!(
            processor < processors,
            "the cluster has no processor {processor}"
        );
        self.schedule_at(Some(processor))
    }

    /// [`schedule`](Self::schedule) for an activity that has just been made. Where the cluster puts
    /// new fibres at the [head](crate::Placement::Head), a fibre of it puts the activity there, at
    /// its own processor, as if it spawned a fibre. Otherwise there is no difference.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn schedule_first(&self) -> Result<(), Stopped> {
        let head = &self.whole().head;
        let scheduled = Processor::here(|here| {
            let ours = Arc::ptr_eq(here.domain(), head.domain());
            let at_head = here.domain().settings.placement == Placement::Head;
            (ours && at_head).then(|| head.word.schedule())
        });
        match scheduled.flatten() {
            Some(Scheduled::Enqueue) => {
                let _ = Processor::here(|here| {
                    // The number is lost: the activity has one.
                    let _ = here.stats().count_spawned();
                    self.place(None, |runnable| here.place(runnable));
                });
                Ok(())
            }
            Some(Scheduled::Noticed) => Ok(()),
            Some(Scheduled::Refused) => Err(Stopped),
            None => self.schedule(),
        }
    }

    /// The form that both share.
    #[inline(always)]
    fn schedule_at(&self, wanted: Option<usize>) -> Result<(), Stopped> {
        let head = &self.whole().head;
        let scheduled = Processor::here(|here| {
            let ours = Arc::ptr_eq(here.domain(), head.domain());
            ours.then(|| head.word.schedule())
        });
        match scheduled.flatten() {
            Some(Scheduled::Enqueue) => self.enqueue(wanted),
            Some(Scheduled::Noticed) => {}
            Some(Scheduled::Refused) => return Err(Stopped),
            None => return self.schedule_from_outside(wanted),
        }
        Ok(())
    }

    /// Queues the activity, as the word has told the calling fibre of its domain to do.
    #[inline]
    fn enqueue(&self, wanted: Option<usize>) {
        let head = &self.whole().head;
        let _ = Processor::here(|here| {
            // The number is lost: the activity has one.
            let _ = here.stats().count_spawned();
            self.place(wanted, |runnable| here.revive(runnable, head.last()));
        });
    }

    /// [`schedule_at`](Self::schedule_at) by a thread that is no processor of the domain, which may
    /// be closed to it.
    fn schedule_from_outside(&self, wanted: Option<usize>) -> Result<(), Stopped> {
        let head = &self.whole().head;
        let domain = head.domain();
        if head.word.notice() {
            return Ok(());
        }
        if fork::is_forked_child() || !domain.count_foreign() {
            return Err(Stopped);
        }
        let scheduled = head.word.schedule();
        if scheduled == Scheduled::Enqueue {
            self.place(wanted, |runnable| {
                domain.revive(runnable, None, head.last())
            });
            return Ok(());
        }
        domain.uncount_foreign();
        match scheduled {
            Scheduled::Refused => Err(Stopped),
            _ => Ok(()),
        }
    }

    /// Places the activity, which has been counted, on the wanted processor, if that is named and
    /// the activity has no other claims.
    #[inline(always)]
    fn place(&self, wanted: Option<usize>, revive: impl FnOnce(Runnable)) {
        let head = &self.whole().head;
        // SAFETY: the word has told us to queue it.
        let runnable = unsafe { head.runnable() };
        if trace::is_on() {
            record_ready_here(TraceKind::Ready, runnable.id());
        }
        match wanted.filter(|_| runnable.link().is_ordinary()) {
            Some(wanted) => head.domain().revive_on(runnable, wanted),
            None => revive(runnable),
        }
    }

    /// Cancels the activity, for good: waits in its runs that can be cancelled end, also the one
    /// that it is in. It still runs when it is scheduled. Any thread; blocks nothing.
    pub fn cancel(&self) {
        // SAFETY: our reference.
        unsafe { ControlBlock::cancel(self.0.cast()) };
    }

    /// The activity's number, which no other fibre or activity has.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.whole().head.block.id()
    }

    /// Whether it neither runs nor is about to. A hint: others may schedule it meanwhile.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.whole().head.word.is_idle()
    }

    /// Whether its cluster has been stopped, so that it never runs again.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let domain = self.whole().head.domain();
        domain.is_over() || domain.control.must_abandon()
    }

    /// Whether the caller is a fibre of its cluster.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        let domain = self.whole().head.domain();
        Processor::here(|here| Arc::ptr_eq(here.domain(), domain)).unwrap_or(false)
    }

    /// The bytes of its allocation.
    #[must_use]
    pub const fn footprint() -> usize {
        size_of::<Whole<W>>()
    }

    /// Drops the value, before the rest goes.
    ///
    /// # Safety
    ///
    /// The caller has the only reference, and the value is there.
    unsafe fn drop_value(whole: NonNull<Whole<W>>) {
        // SAFETY: alive by the caller's reference, which is the only one.
        unsafe {
            whole.as_ref().head.set_value(Value::Gone);
            ManuallyDrop::drop(&mut (*whole.as_ptr()).work);
        }
    }

    /// What reports call it: the name that the value has, or else the builder's.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let whole = self.whole();
        let given = whole.head.block.attributes.name();
        whole.work.name().or(given)
    }

    /// Tells the value that the activity has been abandoned.
    unsafe fn tell_abandoned(this: FibreRef) {
        // SAFETY: the runtime's reference is never given up.
        let activity = ManuallyDrop::new(Self(this.cast()));
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| activity.abandoned())) {
            let block = &activity.whole().head.block;
            tell_of_panic("activity", block, activity.name(), &*payload, false);
            quietly(|| drop(payload));
        }
    }

    /// Calls what ends a value, in its turn: the value may have the last handle of another
    /// activity.
    fn end(end: impl FnOnce() + 'static) {
        match mem::needs_drop::<W>() {
            true => end_in_turn(end),
            false => end(),
        }
    }
}

// SAFETY: `repr(C)`, and the block comes first.
unsafe impl<W: Work> FibreBody for Whole<W> {
    const IS_ACTIVITY: bool = true;

    unsafe fn run(this: NonNull<Self>) {
        // SAFETY: the runtime's reference keeps it until the stack has been left.
        let activity = ManuallyDrop::new(Activity(this));
        let head = &activity.whole().head;
        head.word.begin();
        if head.value() == Value::There {
            let run = catch_unwind(AssertUnwindSafe(|| W::run(&activity)));
            end_thread("the end of a run");
            if let Err(payload) = run {
                let name = activity.name();
                tell_of_panic("activity", &head.block, name, &*payload, false);
                quietly(|| drop(payload));
            }
        }
        // The run may have scheduled the activity itself, and given the last handle up.
        let last = head.block.is_alone() && !head.word.is_to_run_again();
        if last && head.value() != Value::Gone {
            // SAFETY: this is the only reference, and nobody else can come by another.
            Activity::<W>::end(move || unsafe { Activity::drop_value(this) });
        }
        head.block.end_locals();
        head.block.shields.set(0);
    }

    unsafe fn fail(_this: NonNull<Self>, _error: StackError) {
        unreachable!("an activity waits for its stack")
    }

    unsafe fn abandon(this: NonNull<Self>) {
        // SAFETY: it will never run again, and the runtime's reference is never given up.
        let head = unsafe { &this.as_ref().head };
        if head.word.refuse() && head.value() == Value::There {
            let abandoned = &head.domain().left_behind.activities;
            // SAFETY: the same.
            unsafe { abandoned.note(this.cast(), Activity::<W>::tell_abandoned) };
        }
    }

    unsafe fn free(this: NonNull<Self>) {
        // SAFETY: the last reference has been given up, so nobody else refers to it.
        unsafe {
            if this.as_ref().head.value() == Value::Gone {
                return free_task(this);
            }
            Activity::<W>::end(move || {
                quietly(|| Activity::drop_value(this));
                free_task(this);
            });
        }
    }

    unsafe fn describe(this: NonNull<Self>, tell: Viewer<'_>) {
        // SAFETY: the caller's promise: the block is there, and so is the whole.
        let activity = ManuallyDrop::new(Activity(this));
        let head = &activity.whole().head;
        let name = match head.value() {
            // Its destructor has begun: it has no name to give any more.
            Value::Gone => head.block.attributes.name(),
            Value::There | Value::Unwanted => activity.name(),
        };
        tell(FibreReport {
            noun: "activity",
            name,
            remedy: REMEDY,
        });
    }
}

impl<W: Work> Deref for Activity<W> {
    type Target = W;

    #[inline]
    fn deref(&self) -> &W {
        &self.whole().work
    }
}

impl<W: Work> Clone for Activity<W> {
    #[inline]
    fn clone(&self) -> Self {
        self.whole().head.block.retain_one();
        Self(self.0)
    }
}

impl<W: Work> Drop for Activity<W> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: our reference. There is no result, and the value goes with the memory.
        unsafe { ControlBlock::release(self.0.cast()) };
    }
}

impl<W: Work> fmt::Debug for Activity<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity")
            .field("id", &self.id())
            .field("name", &self.name())
            .field("idle", &self.is_idle())
            .finish_non_exhaustive()
    }
}
