//! The ready queue of one processor, and how the processor is woken for it.
//!
//! Three basic queues under one roof:
//!
//! * `local`: started fibres that this processor made ready itself. No atomics.
//! * `inbox`: fibres that other threads made ready and that must run here. Nobody steals
//!   from it.
//! * `shared`: fibres that may run elsewhere. Idle processors steal from it. By default
//!   those are the ones that have not started.
//!
//! The owner moves the inbox behind `local` whenever it looks, and takes turns
//! between `local` and `shared` when both have something, so neither starves.
//!
//! **Plain and by rules.** All that is *plain*: every fibre has normal priority, and one that
//! has started stays. Then pushes and pops of the owner are a few plain instructions. As soon
//! as a fibre of another priority shows up here, and in clusters that move started
//! fibres once there is a second processor, they go by the rules in `ready/rules.rs`.
//!
//! **Who keeps it alive.** A fibre has a plain pointer to the ready queue of its
//! home. Processors of the same group (cluster) keep each other's queues alive
//! until all of their threads have ended; any other thread takes a reference for
//! the time of a push, because the fibre it pushes may be the last one of the
//! cluster, and may end before the pusher is done with waking the processor.

mod rules;

use crate::commons::Commons;
use crate::current;
use crate::deferred;
use crate::parker::Halt;
use crate::policy::Stealing;
use crate::queue::{BasicQueue, Fifo, LEVELS, Level, Link, LogicalQueue, Popped, Pushed};
use crate::settings::Settings;
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// See the module text.
pub struct ReadyQueue {
    /// Started fibres made ready by the owner, by level. The owner only.
    local: [Fifo; LEVELS],
    /// Whose turn it is when both `local` and `shared` have something. The owner only.
    shared_next: Cell<bool>,
    /// How often the owner has taken something from `shared` lately. The owner only.
    shared_turns: Cell<u32>,
    /// Whether the simple rules will do. A hint: who finds too late that they do not finds
    /// his fibre when it tries to sleep.
    plain: AtomicBool,
    /// Pops by rules. The owner only.
    turn: Cell<u32>,
    /// Where started fibres move: the youngest one that the owner made ready. Thieves leave
    /// it alone, unless the owner is stuck. Filled by the owner only.
    lone: AtomicPtr<Link>,
    /// The turn at which it was filled. The owner only.
    lone_since: Cell<u32>,
    /// Whether the owner has nothing to do, and sleeps or is about to. A hint.
    resting: AtomicBool,
    /// Whether one fibre keeps the owner from what is queued here, as others have seen. A hint.
    kept: AtomicBool,
    /// Fibres made ready by others that must run here.
    inbox: BasicQueue,
    /// Fibres that may run elsewhere.
    shared: LogicalQueue,
    /// How many there are in `shared`, where thieves want to know; else zero.
    length: AtomicUsize,
    /// What the processors of the group have in common.
    commons: Arc<Commons>,
    /// The owner's place in the group.
    index: usize,
    /// What the cluster's builder chose, as far as it matters here.
    rules: Rules,
    /// Where fibres go that are woken on this queue, if not here (forced migration).
    forward: AtomicPtr<ReadyQueue>,
    /// Equal for processors that keep each other's queues alive.
    group: u64,
}

/// The choices that matter to ready queues.
#[derive(Debug, Clone, Copy)]
struct Rules {
    /// Whether started fibres may move.
    moves_started: bool,
    /// Whether fibres that may move go to the staging queue.
    sharing: bool,
    /// Whether the length of `shared` is counted.
    counting: bool,
}

// SAFETY: `local`, `shared_next`, `shared_turns`, `turn` and `lone_since` are touched by the owner's
// thread only, which every method that does so demands; the rest is made for any thread.
unsafe impl Send for ReadyQueue {}
// SAFETY: as above.
unsafe impl Sync for ReadyQueue {}

impl ReadyQueue {
    /// The empty queue of processor `index` in `group`.
    #[must_use]
    pub fn new(group: u64, index: usize, commons: Arc<Commons>, settings: &Settings) -> Self {
        let rules = Rules {
            moves_started: settings.moves_started,
            sharing: settings.sharing,
            counting: settings.moves_started && settings.stealing != Stealing::Transient,
        };
        Self {
            local: std::array::from_fn(|_| Fifo::new()),
            shared_next: Cell::new(false),
            shared_turns: Cell::new(0),
            plain: AtomicBool::new(!rules.sharing && !settings.blocks),
            turn: Cell::new(0),
            lone: AtomicPtr::new(ptr::null_mut()),
            lone_since: Cell::new(0),
            resting: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            inbox: BasicQueue::new(settings.queue),
            shared: LogicalQueue::new(settings.queue),
            length: AtomicUsize::new(0),
            commons,
            index,
            rules,
            forward: AtomicPtr::new(ptr::null_mut()),
            group,
        }
    }

    /// Whether the simple rules will do, see the module text.
    #[inline]
    fn is_plain(&self) -> bool {
        self.plain.load(Ordering::Relaxed)
    }

    /// The owner's plain fibres.
    #[inline]
    fn normal(&self) -> &Fifo {
        &self.local[Level::Normal as usize]
    }

    /// The plain fibre that the owner made ready first and has not run yet. It stays where it is. The
    /// owner only.
    #[inline]
    pub fn first_local(&self) -> Option<NonNull<Link>> {
        self.normal().first()
    }

    /// Queues a started fibre that has been woken. Any thread.
    ///
    /// # Safety
    ///
    /// `this` comes from an `Arc` and is the home of the fibre, whose link `node`
    /// is, is in no queue, and is the caller's to queue.
    #[inline]
    pub unsafe fn push_woken(this: *const Self, node: NonNull<Link>) {
        let here: *const Self = current::ready().cast();
        // SAFETY: the home of a parked fibre is alive, see the module text.
        if ptr::eq(here, this) && unsafe { (*this).is_plain() } {
            // SAFETY: this thread is the owner; the node is the caller's.
            unsafe { (*this).normal().push(node) };
        } else {
            // SAFETY: passed on.
            unsafe { Self::push_by_rules(here, this, node, true) };
        }
    }

    /// [`push_woken`](Self::push_woken) for a fibre that may be on its stack yet: it stays there until it
    /// runs.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline]
    pub unsafe fn push_woken_at_home(this: *const Self, node: NonNull<Link>) {
        let here: *const Self = current::ready().cast();
        // SAFETY: as in `push_woken`.
        if ptr::eq(here, this) && unsafe { (*this).is_plain() } {
            // SAFETY: this thread is the owner; the node is the caller's.
            unsafe { (*this).normal().push(node) };
        } else {
            // SAFETY: passed on.
            unsafe { Self::push_by_rules(here, this, node, false) };
        }
    }

    /// [`push_woken_at_home`](Self::push_woken_at_home), before the others.
    ///
    /// # Safety
    ///
    /// As there.
    pub unsafe fn push_woken_first(this: *const Self, node: NonNull<Link>) {
        let here: *const Self = current::ready().cast();
        // SAFETY: passed on; who pushes to another one's inbox owns the node until then.
        unsafe {
            if ptr::eq(here, this) {
                (*this).push_next(node);
            } else {
                node.as_ref().hurry();
                Self::push_by_rules(here, this, node, false);
            }
        }
    }

    /// Queues a fibre that has just run here. The owner only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue; `home` is where the fibre
    /// is at home.
    #[inline]
    pub unsafe fn push_again(&self, node: NonNull<Link>, home: impl FnOnce() -> *const Self) {
        if self.is_plain() {
            // SAFETY: passed on.
            unsafe { self.normal().push(node) };
        } else {
            // SAFETY: passed on; this thread is the owner.
            unsafe { Self::push_by_rules(self, home(), node, true) };
        }
    }

    /// Takes notice of a second processor, which started fibres may move to, if they may. Any thread.
    pub fn notice_others(&self) {
        if self.rules.moves_started {
            self.plain.store(false, Ordering::Relaxed);
        }
    }

    /// Queues a fibre before all others of its level that stay here. The owner only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    pub unsafe fn push_next(&self, node: NonNull<Link>) {
        // SAFETY: passed on.
        let level = unsafe { self.level_of(node) };
        // SAFETY: passed on.
        unsafe { self.local[level as usize].push_front(node) };
    }

    /// Queues a fibre behind the others of its level that stay here. The owner only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    #[inline]
    pub unsafe fn push_local(&self, node: NonNull<Link>) {
        // SAFETY: passed on.
        let level = unsafe { self.level_of(node) };
        // SAFETY: passed on.
        unsafe { self.local[level as usize].push(node) };
    }

    /// Queues a fibre behind those of normal priority that stay here, whatever its level. The
    /// owner only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    pub unsafe fn push_now(&self, node: NonNull<Link>) {
        // SAFETY: passed on.
        unsafe { self.normal().push(node) };
    }

    /// The level of a fibre that becomes the owner's, which is taken notice of.
    ///
    /// # Safety
    ///
    /// The node is the caller's.
    #[inline]
    unsafe fn level_of(&self, node: NonNull<Link>) -> Level {
        // SAFETY: the caller's promise.
        let level = unsafe { node.as_ref() }.level();
        if level != Level::Normal {
            self.plain.store(false, Ordering::Relaxed);
        }
        level
    }

    /// Takes notice of a fibre that becomes the owner's without being queued here.
    #[inline]
    pub fn notice(&self, link: &Link) {
        if link.level() != Level::Normal {
            self.plain.store(false, Ordering::Relaxed);
        }
    }

    /// Queues a fibre that must run here, and wakes the owner for it. Any thread that keeps
    /// `self` alive.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    pub unsafe fn push_inbox(&self, node: NonNull<Link>) {
        // SAFETY: passed on.
        if unsafe { self.inbox.push(node) } == Pushed::WakeConsumer {
            deferred::wake(&self.commons, self.index);
        }
    }

    /// Queues a fibre that may run elsewhere. Any thread that keeps `self` alive.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    #[inline]
    pub unsafe fn push_shared(&self, node: NonNull<Link>) {
        // SAFETY: the node is the caller's.
        self.notice(unsafe { node.as_ref() });
        if self.rules.counting {
            self.length.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: passed on.
        if unsafe { self.shared.push(node) } == Pushed::WakeConsumer {
            deferred::wake(&self.commons, self.index);
        }
    }

    /// Takes the next fibre. The owner only.
    #[inline(always)]
    pub fn pop(&self) -> Option<NonNull<Link>> {
        if !self.inbox.is_empty() {
            self.empty_inbox();
        }
        if !self.is_plain() {
            return self.pop_by_rules();
        }
        if !self.shared.has_no_normal()
            && let Some(node) = self.pop_shared_in_turn()
        {
            return Some(node);
        }
        self.shared_next.set(true);
        self.normal().pop()
    }

    /// Takes a fibre that may run elsewhere, if it is the turn of those.
    #[inline(never)]
    fn pop_shared_in_turn(&self) -> Option<NonNull<Link>> {
        if !self.shared_next.get() && !self.normal().is_empty() {
            return None;
        }
        self.shared_next.set(false);
        // SAFETY: this thread is the owner.
        let popped = unsafe { self.shared.pop_own(Level::Normal) };
        match self.count_popped(popped) {
            Popped::Node(node) => {
                self.count_shared_turn();
                Some(node)
            }
            Popped::Empty | Popped::InFlight => None,
        }
    }

    /// Counts what the owner takes from `shared`.
    #[inline]
    fn count_shared_turn(&self) {
        self.shared_turns
            .set(self.shared_turns.get().wrapping_add(1));
    }

    /// How often the owner has taken something from `shared` since it asked last, while others
    /// waited in `local`, perhaps. The owner only.
    pub fn take_shared_turns(&self) -> u32 {
        self.shared_turns.replace(0)
    }

    /// Whether a fibre of normal priority is there that the owner made ready and that stays. The owner
    /// only.
    pub fn has_started(&self) -> bool {
        !self.normal().is_empty()
    }

    /// Moves what others made ready behind what we made ready.
    #[inline(never)]
    fn empty_inbox(&self) {
        // SAFETY: the owner is the only consumer of its inbox.
        while let Popped::Node(node) = unsafe { self.inbox.pop() } {
            // SAFETY: just taken out.
            unsafe {
                if node.as_ref().take_hurry() {
                    self.push_next(node);
                } else {
                    self.push_local(node);
                }
            }
        }
    }

    /// Whether nothing is ready, not even a push in flight, but for the background. The
    /// owner only.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.normal().is_empty()
            && self.inbox.is_empty()
            && self.shared.has_no_normal()
            && (self.is_plain() || self.is_empty_by_rules())
    }

    /// Takes a fibre that may run elsewhere. Any thread.
    pub fn steal(&self) -> Popped {
        let popped = self.shared.pop();
        self.count_popped(popped)
    }

    /// Counts what has been taken from `shared`.
    #[inline]
    fn count_popped(&self, popped: Popped) -> Popped {
        if self.rules.counting && matches!(popped, Popped::Node(_)) {
            self.length.fetch_sub(1, Ordering::Relaxed);
        }
        popped
    }

    /// Whether there is something to steal at this moment.
    #[must_use]
    pub fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// How many there are to steal, if that is counted; a hint.
    pub fn length(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// Says that the owner is about to sleep: from now on a push wakes it.
    /// `false`: something came, and the owner must not sleep.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.has_none_local() && self.inbox.arm() && self.shared.arm()
    }

    /// Says whether the owner has nothing to do. The owner only.
    pub fn set_resting(&self, resting: bool) {
        self.resting.store(resting, Ordering::Relaxed);
        self.set_kept(false);
    }

    /// Whether the owner has nothing to do, and nobody has pushed anything here; a hint.
    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Relaxed) && self.inbox.is_empty()
    }

    /// Whether the owner sleeps, and nobody has pushed anything yet; a hint.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.shared.is_armed() && self.inbox.is_armed()
    }

    /// Ends what [`arm`](Self::arm) began, whatever it returned. The owner only.
    pub fn disarm(&self) {
        self.inbox.disarm();
        self.shared.disarm();
    }

    /// Blocks the owner's thread until there may be work or the deadline passes.
    pub fn sleep(&self, deadline: Option<std::time::Instant>) {
        self.commons.sleeper(self.index).sleep(deadline);
    }

    /// Blocks the owner's thread until [`unpark`](Self::unpark), whatever is pushed and
    /// whatever happens elsewhere, or not so long. Its queues must not be armed.
    pub fn stand(&self) {
        self.commons.sleeper(self.index).stand();
    }

    /// Ends the owner's sleep, or its next one. Any thread.
    pub fn unpark(&self) {
        self.commons.sleeper(self.index).unpark();
    }

    /// What a layer above installed.
    #[inline]
    pub fn halt(&self) -> Option<&Arc<dyn Halt>> {
        self.commons.sleeper(self.index).halt()
    }

    /// Installs another way to sleep, unless there is one; returns what is there.
    /// Any thread.
    pub fn install_halt(&self, halt: Arc<dyn Halt>) -> &Arc<dyn Halt> {
        self.commons.sleeper(self.index).install_halt(halt)
    }

    /// Sends fibres that are woken here to `other` from now on, where started fibres move.
    ///
    /// `other` is of the same group.
    pub fn forward_to(&self, other: &Arc<Self>) {
        debug_assert_eq!(self.group, other.group);
        self.forward
            .store(Arc::as_ptr(other).cast_mut(), Ordering::Relaxed);
    }
}

impl std::fmt::Debug for ReadyQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadyQueue")
            .field("group", &self.group)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
