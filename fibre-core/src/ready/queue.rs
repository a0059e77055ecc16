//! The ready queue of one processor, and how the processor is woken for it.
//!
//! Three basic queues under one roof:
//!
//! * `local`: started fibres that this processor made ready itself. No atomics.
//! * `inbox`: fibres that other threads made ready, and that must run here. Nobody steals from it.
//! * `shared`: fibres that may run elsewhere. Idle processors steal from it. By default those are
//!   the fibres that have not started.
//!
//! The owner moves the inbox behind `local` whenever it looks, and takes turns
//! between `local` and `shared` when both have something, so neither starves.
//!
//! **Plain and by rules.** A queue is *plain* as long as every fibre has normal priority, and every
//! started one stays. Then the owner's pushes and pops are a few plain instructions. A fibre of
//! another priority ends that, and so does a second processor in a cluster that moves started
//! fibres: from then on the rules in `ready/enqueue.rs` hold. They always hold if events are
//! recorded, so that the plain path pays nothing for recording.
//!
//! **Life.** A fibre has a plain pointer to the ready queue of its home. Processors of the same
//! group (cluster) keep each other's queues alive until all of their threads have ended. Any other
//! thread takes a reference for the time of a push, because the fibre it pushes may be the last one
//! of the cluster, and may end before the pusher is done with waking the processor.

use crate::config::policy::{StealOrder, Stealing};
use crate::config::settings::Settings;
use crate::idle::armed::{Announced, ConsumerQueues};
use crate::idle::parker::Driver;
use crate::idle::shared_queues::SharedQueues;
use crate::idle::wake_batch;
use crate::queue::{
    BasicQueue, Fifo, LEVELS, Level, Link, MultilevelQueue, Popped, Pushed, QueueKind, Runnable,
    SharedSlot,
};
use crate::ready::owner_gate::OwnerGate;
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use crate::sys::current;
use crate::trace::{self, TraceKind, Track};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};

/// What tells the number of a fibre. Queues know only its link.
pub(crate) type Identify = fn(&Runnable) -> u64;

/// The ready queue of one processor.
pub(crate) struct ReadyQueue {
    /// Started fibres made ready by the owner, by level. The owner only.
    pub(super) local: [Fifo; LEVELS],
    /// Whether it is `shared`'s turn when both `local` and `shared` have something. The owner only.
    shared_next: Cell<bool>,
    /// How often the owner has taken something from `shared` lately. The owner only.
    shared_turns: Cell<u32>,
    /// Whether the simple rules will do, and whether a rescuer takes what the owner is kept from. A
    /// hint as to the rules: an owner that misses their end sees the fibre when it tries to sleep.
    pub(super) gate: OwnerGate,
    /// Whether the owner takes nothing that others could run: a spare processor that is not needed.
    aside: AtomicBool,
    /// The number of pops by the rules. The owner only.
    pub(super) turn: Cell<u32>,
    /// Where started fibres move: the youngest one that the owner made ready. Thieves leave
    /// it alone, unless the owner is stuck. Filled by the owner only.
    pub(super) next: SharedSlot,
    /// The turn when `next` was filled. The owner only.
    pub(super) next_since: Cell<u32>,
    /// Whether the owner has nothing to run, and sleeps or is about to. A hint.
    idle: AtomicBool,
    /// Whether one fibre keeps the owner from what is queued here, as others have noted. A hint.
    pub(super) stuck: AtomicBool,
    /// Fibres that others made ready and that must run here.
    pub(super) inbox: BasicQueue,
    /// Fibres that may run elsewhere.
    pub(super) shared: MultilevelQueue,
    /// The number of fibres in `shared`, or some more, where thieves want to know it; else zero.
    pub(super) length: AtomicUsize,
    /// What the processors of the group have in common.
    pub(super) shared_queues: Arc<SharedQueues>,
    /// The owner's place in the group.
    pub(super) index: usize,
    /// The choices of the cluster's builder, as far as they matter here.
    pub(super) rules: Rules,
    /// The queue that fibres woken on this queue go to, if not here (forced migration).
    pub(super) forward: AtomicPtr<ReadyQueue>,
    /// Where the owner records events, if it does.
    pub(super) track: OnceLock<Arc<Track>>,
}

/// The choices that matter to ready queues.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether started fibres may move.
    pub(super) moves_started: bool,
    /// Whether fibres that may move go to the staging queue.
    pub(super) sharing: bool,
    /// Whether the length of `shared` is counted.
    pub(super) counting: bool,
}

// SAFETY: `local`, `shared_next`, `shared_turns`, `turn` and `next_since` are touched by way of
// [`Owner`], and so by the owner's thread only, or by a rescuer, which has them to itself
// meanwhile (see `owner_gate`). The rest is made for any thread.
unsafe impl Send for ReadyQueue {}
// SAFETY: as above.
unsafe impl Sync for ReadyQueue {}

impl ReadyQueue {
    /// Where words are that may name fibres which are not in the queue any more. All that are in
    /// it are reached by other words, too.
    pub(crate) fn stale_words(&self) -> [usize; LEVELS] {
        self.local.each_ref().map(Fifo::tail_word)
    }

    /// The empty queue of processor `index` in the group with these shared queues.
    #[must_use]
    pub(crate) fn new(index: usize, shared_queues: Arc<SharedQueues>, settings: &Settings) -> Self {
        let rules = Rules {
            moves_started: settings.moves_started,
            sharing: settings.sharing,
            counting: counts(settings),
        };
        Self {
            local: std::array::from_fn(|_| Fifo::new()),
            shared_next: Cell::new(false),
            shared_turns: Cell::new(0),
            gate: OwnerGate::new(!rules.sharing && !settings.blocks && !trace::is_on()),
            aside: AtomicBool::new(false),
            turn: Cell::new(0),
            next: SharedSlot::default(),
            next_since: Cell::new(0),
            idle: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            inbox: BasicQueue::new(settings.queue),
            shared: MultilevelQueue::new(settings.queue),
            length: AtomicUsize::new(0),
            shared_queues,
            index,
            rules,
            forward: AtomicPtr::new(ptr::null_mut()),
            track: OnceLock::new(),
        }
    }

    /// Whether the owners of both queues keep each other's queues alive. They do if both refer to
    /// the same shared queues; as both do, no stranger's shared queues can lie at that address.
    #[inline]
    pub(crate) fn is_kin(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared_queues, &other.shared_queues)
    }

    /// Whether the simple rules will do; see the module text.
    #[inline]
    fn is_single_level(&self) -> bool {
        self.gate.is_single_level()
    }

    /// The queue as its owner sees it.
    ///
    /// # Safety
    ///
    /// This thread is the owner; or the owner's thread has left its loop for good, and one thread
    /// at a time stands in for it.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn as_owner(&self) -> Owner<'_> {
        Owner {
            queue: self,
            _this_thread: PhantomData,
        }
    }

    /// Queues a started fibre that has been woken. Any thread. `id` tells its number, for the event
    /// trace.
    ///
    /// # Safety
    ///
    /// `home` comes from an `Arc` and is the home of the fibre.
    #[inline]
    pub(crate) unsafe fn push_woken(home: *const Self, runnable: Runnable, id: Identify) {
        let here: *const Self = current::ready().cast();
        // SAFETY: the caller's promise.
        if let Err(runnable) = unsafe { Self::try_push_here(here, home, runnable) } {
            // SAFETY: the caller's promise.
            unsafe { Self::push_woken_slow(here, home, runnable, true, id) };
        }
    }

    /// [`push_woken`](Self::push_woken) for a fibre that may still be on its stack: it stays at
    /// home until it runs.
    ///
    /// # Safety
    ///
    /// As for [`push_woken`](Self::push_woken).
    #[inline]
    pub(crate) unsafe fn push_woken_at_home(home: *const Self, runnable: Runnable, id: Identify) {
        let here: *const Self = current::ready().cast();
        // SAFETY: the caller's promise.
        if let Err(runnable) = unsafe { Self::try_push_here(here, home, runnable) } {
            // SAFETY: the caller's promise.
            unsafe { Self::push_woken_slow(here, home, runnable, false, id) };
        }
    }

    /// Queues a fibre at home in this thread's queue, if the simple rules will do.
    ///
    /// # Errors
    ///
    /// The fibre, if they will not, or its home is elsewhere.
    ///
    /// # Safety
    ///
    /// `here` is this thread's queue, or null.
    #[inline(always)]
    unsafe fn try_push_here(
        here: *const Self,
        home: *const Self,
        runnable: Runnable,
    ) -> Result<(), Runnable> {
        if !ptr::eq(here, home) {
            return Err(runnable);
        }
        // SAFETY: `home` is the queue of this thread, which is a processor.
        unsafe { (*home).as_owner() }.push_if_single_level(runnable)
    }

    /// [`push_woken_at_home`](Self::push_woken_at_home), before the others.
    ///
    /// # Safety
    ///
    /// As for [`push_woken_at_home`](Self::push_woken_at_home).
    pub(crate) unsafe fn push_woken_first(home: *const Self, runnable: Runnable, id: Identify) {
        let here: *const Self = current::ready().cast();
        if trace::is_on() {
            // SAFETY: the queue of this thread, or null.
            Self::record_ready(unsafe { here.as_ref() }, TraceKind::Ready, id(&runnable));
        }
        if ptr::eq(here, home) {
            // SAFETY: `home` is the queue of this thread, which is a processor.
            unsafe { (*home).as_owner() }.push_next(runnable);
        } else {
            runnable.link().hurry();
            // SAFETY: the caller's promise.
            unsafe { Self::push_slow(here, home, runnable, false) };
        }
    }

    /// Takes notice of a second processor: started fibres may move there if the cluster moves them.
    /// Any thread.
    pub(crate) fn notice_others(&self) {
        if self.rules.moves_started {
            self.gate.end_single_level();
        }
    }

    /// Takes notice of a fibre that becomes the owner's without being queued here.
    #[inline]
    pub(crate) fn notice(&self, link: &Link) {
        if link.level() != Level::Normal {
            self.gate.end_single_level();
        }
    }

    /// Queues a fibre that must run here, and wakes the owner for it. Any thread that keeps
    /// `self` alive.
    pub(crate) fn push_inbox(&self, runnable: Runnable) {
        if self.inbox.push(runnable) == Pushed::WakeConsumer {
            wake_batch::wake(&self.shared_queues, self.index);
        }
    }

    /// Queues a fibre that may run elsewhere. Any thread that keeps `self` alive.
    #[inline]
    pub(crate) fn push_shared(&self, runnable: Runnable) {
        self.share(runnable, MultilevelQueue::push);
    }

    /// [`push_shared`](Self::push_shared) before the others, if the queues have two ends. Any
    /// thread that keeps `self` alive.
    pub(crate) fn push_shared_first(&self, runnable: Runnable) {
        self.share(runnable, MultilevelQueue::push_first);
    }

    /// Queues a fibre in `shared`, and wakes the owner for it.
    #[inline(always)]
    fn share(&self, runnable: Runnable, push: impl FnOnce(&MultilevelQueue, Runnable) -> Pushed) {
        self.notice(runnable.link());
        if self.rules.counting {
            self.length.fetch_add(1, Ordering::Relaxed);
        }
        if push(&self.shared, runnable) == Pushed::WakeConsumer {
            wake_batch::wake(&self.shared_queues, self.index);
        }
    }

    /// Sets whether the owner stands aside, taking nothing that others could run. Then wake it.
    pub(crate) fn set_aside(&self, aside: bool) {
        self.aside.store(aside, Ordering::Release);
    }

    /// Whether the owner takes nothing that others could run.
    #[inline]
    pub(crate) fn is_aside(&self) -> bool {
        self.aside.load(Ordering::Acquire)
    }

    /// Takes a fibre that may run elsewhere, at the end where thieves take. Any thread.
    pub(crate) fn steal(&self) -> Popped {
        let popped = self.shared.steal();
        self.count_popped(popped)
    }

    /// Takes the fibre that may run elsewhere and is the next one here. Any thread.
    pub(super) fn pop_for_owner(&self) -> Popped {
        let popped = self.shared.pop();
        self.count_popped(popped)
    }

    /// Counts what has been taken from `shared`.
    #[inline]
    pub(super) fn count_popped(&self, popped: Popped) -> Popped {
        if self.rules.counting && matches!(popped, Popped::Node(_)) {
            self.length.fetch_sub(1, Ordering::Relaxed);
        }
        popped
    }

    /// Whether there is a fibre to steal at this moment.
    #[must_use]
    pub(crate) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// The number of fibres to steal, if that is counted; a hint.
    pub(crate) fn length(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// Whether the owner has nothing to run, and nobody has pushed a fibre here; a hint.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) && self.inbox.is_empty()
    }

    /// Whether the owner sleeps, and nobody has pushed a fibre yet; a hint.
    #[must_use]
    pub(crate) fn is_asleep(&self) -> bool {
        self.shared.is_armed() && self.inbox.is_armed()
    }

    /// Ends the owner's sleep, or its next one. Any thread.
    pub(crate) fn unpark(&self) {
        self.shared_queues.sleeper(self.index).unpark();
    }

    /// The driver that a layer above installed.
    #[inline]
    pub(crate) fn driver(&self) -> Option<&Arc<dyn Driver>> {
        self.shared_queues.sleeper(self.index).driver()
    }

    /// Installs another way to sleep, unless there is one; returns what is there.
    /// Any thread.
    pub(crate) fn install_driver(&self, driver: Arc<dyn Driver>) -> &Arc<dyn Driver> {
        self.shared_queues
            .sleeper(self.index)
            .install_driver(driver)
    }

    /// Sends fibres that are woken here to `other` from now on, where started fibres move.
    ///
    /// `other` is of the same group.
    pub(crate) fn forward_to(&self, other: &Arc<Self>) {
        debug_assert!(self.is_kin(other), "fibres are sent to a stranger");
        self.forward
            .store(Arc::as_ptr(other).cast_mut(), Ordering::Relaxed);
    }
}

/// A ready queue as its owner sees it: only the owner's thread has one. See
/// [`ReadyQueue::as_owner`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'q> {
    /// The queue.
    queue: &'q ReadyQueue,
    /// It stays on its thread.
    _this_thread: PhantomData<*const ()>,
}

impl Deref for Owner<'_> {
    type Target = ReadyQueue;

    #[inline(always)]
    fn deref(&self) -> &ReadyQueue {
        self.queue
    }
}

impl Owner<'_> {
    /// The owner's plain fibres.
    #[inline]
    fn normal(&self) -> &Fifo {
        &self.local[Level::Normal as usize]
    }

    /// Calls `look` with the plain fibre that the owner made ready first and has not run yet, if
    /// there is one. The fibre stays where it is.
    #[inline]
    pub(crate) fn look_at_first(self, look: impl FnOnce(NonNull<Link>)) {
        if self.normal().is_empty() {
            return;
        }
        self.gate.begin();
        if self.is_single_level()
            && let Some(first) = self.normal().first()
        {
            look(first);
        }
        self.gate.leave();
    }

    /// Queues a fibre of normal priority that stays here, if the simple rules will do.
    ///
    /// # Errors
    ///
    /// The fibre, if they will not.
    #[inline(always)]
    pub(crate) fn push_if_single_level(self, runnable: Runnable) -> Result<(), Runnable> {
        self.gate.begin();
        let pushed = if self.is_single_level() {
            self.normal().push(runnable);
            Ok(())
        } else {
            Err(runnable)
        };
        self.gate.leave();
        pushed
    }

    /// Queues a fibre that has just run here.
    ///
    /// # Safety
    ///
    /// `home` returns where the fibre is at home, which comes from an `Arc`. This thread runs no
    /// fibre.
    #[inline]
    pub(crate) unsafe fn push_again(
        self,
        runnable: Runnable,
        home: impl FnOnce(&Runnable) -> *const ReadyQueue,
    ) {
        if self.is_single_level() {
            return self.normal().push(runnable);
        }
        let home = home(&runnable);
        // SAFETY: passed on; this is the queue of this thread.
        unsafe { ReadyQueue::push_slow(self.queue, home, runnable, true) };
    }

    /// Queues a fibre before all others of its level that stay here.
    pub(crate) fn push_next(self, runnable: Runnable) {
        let level = self.level_of(&runnable);
        self.gate.enter();
        self.local[level as usize].push_front(runnable);
        self.gate.leave();
    }

    /// Queues a fibre behind the others of its level that stay here.
    #[inline]
    pub(crate) fn push_local(self, runnable: Runnable) {
        let level = self.level_of(&runnable);
        self.gate.enter();
        self.local[level as usize].push(runnable);
        self.gate.leave();
    }

    /// Queues a fibre behind those of normal priority that stay here, whatever its own level.
    pub(crate) fn push_now(self, runnable: Runnable) {
        self.gate.enter();
        self.normal().push(runnable);
        self.gate.leave();
    }

    /// Returns the level of a fibre that becomes the owner's, and takes notice of it.
    #[inline]
    fn level_of(self, runnable: &Runnable) -> Level {
        let level = runnable.link().level();
        if level != Level::Normal {
            self.gate.end_single_level();
        }
        level
    }

    /// Takes the next fibre.
    ///
    /// # Safety
    ///
    /// This thread runs no fibre: a rescuer knows by that that it has to leave.
    #[inline(always)]
    pub(crate) unsafe fn pop(self) -> Option<Runnable> {
        if !self.inbox.is_empty() {
            self.empty_inbox();
        }
        if !self.is_single_level() {
            return self.pop_slow();
        }
        if !self.shared.has_no_normal()
            && let Some(runnable) = self.pop_shared_in_turn()
        {
            return Some(runnable);
        }
        self.shared_next.set(true);
        self.normal().pop()
    }

    /// Takes a fibre that may run elsewhere, if it is the turn of `shared`.
    #[inline(never)]
    fn pop_shared_in_turn(self) -> Option<Runnable> {
        if !self.shared_next.get() && !self.normal().is_empty() {
            return None;
        }
        self.shared_next.set(false);
        let runnable = self.pop_shared(Level::Normal)?;
        self.count_shared_turn();
        Some(runnable)
    }

    /// Takes a fibre of this level that may run elsewhere.
    #[inline]
    pub(super) fn pop_shared(self, level: Level) -> Option<Runnable> {
        // SAFETY: this thread is the owner.
        let popped = unsafe { self.shared.pop_own(level) };
        self.count_popped(popped).node()
    }

    /// Counts a fibre that the owner takes from `shared`.
    #[inline]
    pub(super) fn count_shared_turn(self) {
        self.shared_turns
            .set(self.shared_turns.get().wrapping_add(1));
    }

    /// How often the owner has taken something from `shared` since the last call, while fibres in
    /// `local` may have waited.
    pub(crate) fn take_shared_turns(self) -> u32 {
        self.shared_turns.replace(0)
    }

    /// Whether there is a fibre of normal priority that the owner made ready and that stays.
    pub(crate) fn has_started(self) -> bool {
        !self.normal().is_empty()
    }

    /// Called between two fibres, before the owner touches its queues: waits for a rescuer that has
    /// come meanwhile.
    pub(crate) fn pass_gate(self) {
        self.gate.pass();
    }

    /// Whether other threads have made fibres ready that must run here.
    pub(crate) fn has_foreign(self) -> bool {
        !self.inbox.is_empty()
    }

    /// Moves what others made ready behind what the owner made ready.
    #[inline(never)]
    pub(super) fn empty_inbox(self) {
        self.gate.pass();
        // SAFETY: the owner is the only consumer of its inbox, and there is no rescuer.
        while let Popped::Node(runnable) = unsafe { self.inbox.pop_alone() } {
            if runnable.link().take_hurry() {
                self.push_next(runnable);
            } else {
                self.push_local(runnable);
            }
        }
    }

    /// Whether nothing is ready, not even a push in flight. The background does not count.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.normal().is_empty()
            && self.inbox.is_empty()
            && self.shared.has_no_normal()
            && (self.is_single_level() || self.is_empty_slow())
    }

    /// How many fibres are queued here. `None`: that cannot be told, or there are too many. Called
    /// between two fibres, after [`pass_gate`](Self::pass_gate).
    pub(crate) fn count(self, most: usize) -> Option<usize> {
        let local: usize = self.local.iter().map(|local| local.count(most)).sum();
        // SAFETY: this thread is the owner, and there is no rescuer.
        let (inbox, shared) =
            unsafe { (self.inbox.count_own(most)?, self.shared.count_own(most)?) };
        let count = local + inbox + shared + usize::from(self.has_next());
        (count < most).then_some(count)
    }

    /// Sets whether the owner has nothing to run.
    pub(crate) fn set_idle(self, idle: bool) {
        self.idle.store(idle, Ordering::Relaxed);
        self.set_stuck(false);
    }

    /// Announces that the owner has nothing to do, before it sleeps; with `joins`, to all.
    pub(crate) fn announce(&self, joins: bool) -> Announced<'_, Self> {
        self.shared_queues.announce(self.index, *self, joins)
    }

    /// Blocks the owner's thread until [`unpark`](ReadyQueue::unpark) or less long, whatever is
    /// pushed and whatever happens elsewhere. It has announced nothing.
    pub(crate) fn stand(self) {
        self.shared_queues.sleeper(self.index).stand();
    }
}

impl ConsumerQueues for Owner<'_> {
    fn arm(&self) -> bool {
        self.has_none_local() && self.inbox.arm() && self.shared.arm()
    }

    fn disarm(&self) {
        self.inbox.disarm();
        self.shared.disarm();
    }
}

/// Whether the length of `shared` is counted: where the rules of stealing ask for it, and where the
/// kind promises it.
fn counts(settings: &Settings) -> bool {
    settings.moves_started && settings.stealing != Stealing::Transient
        || settings.steal_order == StealOrder::Hierarchical
        || settings.queue == QueueKind::TwoEnded
}

impl std::fmt::Debug for ReadyQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadyQueue")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
