//! The ready queue of one processor, and how the processor is woken for it.
//!
//! Three basic queues under one roof:
//!
//! * `local`: started fibres that this processor made ready itself. No atomics.
//! * `inbox`: started fibres that other threads made ready. Nobody steals from it.
//! * `fresh`: fibres that have not started. Idle processors steal from it.
//!
//! The owner moves the inbox behind `local` whenever it looks, and takes turns
//! between `local` and `fresh` when both have something, so neither starves.
//!
//! **Who keeps it alive.** A fibre has a plain pointer to the ready queue of its
//! home. Processors of the same group (cluster) keep each other's queues alive
//! until all of their threads have ended; any other thread takes a reference for
//! the time of a push, because the fibre it pushes may be the last one of the
//! cluster, and may end before the pusher is done with waking the processor.

use crate::current;
use crate::parker::{Halt, Parker};
use crate::queue::{BasicQueue, Fifo, Link, Popped, Pushed, QueueKind, StealQueue};
use crate::sync::{AtomicPtr, Ordering};
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};

/// See the module text.
pub struct ReadyQueue {
    /// Started fibres made ready by the owner. The owner only.
    local: Fifo,
    /// Whose turn it is when both `local` and `fresh` have something. The owner only.
    fresh_next: Cell<bool>,
    /// Started fibres made ready by others.
    inbox: BasicQueue,
    /// Fibres that have not started.
    fresh: StealQueue,
    /// How the owner sleeps.
    parker: Parker,
    /// The owner's other way to sleep, once a layer above has installed one.
    halt: OnceLock<Arc<dyn Halt>>,
    /// Where fibres go that are woken on this queue, if not here (forced migration).
    forward: AtomicPtr<ReadyQueue>,
    /// Equal for processors that keep each other's queues alive.
    group: u64,
}

// SAFETY: `local` and `fresh_next` are touched by the owner's thread only, which
// every method that does so demands; the rest is made for any thread.
unsafe impl Send for ReadyQueue {}
// SAFETY: as above.
unsafe impl Sync for ReadyQueue {}

impl ReadyQueue {
    /// An empty queue of a processor in `group`, made of queues of this kind.
    #[must_use]
    pub fn new(group: u64, kind: QueueKind) -> Self {
        Self {
            local: Fifo::new(),
            fresh_next: Cell::new(false),
            inbox: BasicQueue::new(kind),
            fresh: StealQueue::new(kind),
            parker: Parker::new(),
            halt: OnceLock::new(),
            forward: AtomicPtr::new(ptr::null_mut()),
            group,
        }
    }

    /// Queues a started fibre that has been woken; elsewhere than here only if it
    /// `may_move`. Any thread.
    ///
    /// # Safety
    ///
    /// `this` comes from an `Arc` and is the home of the fibre, whose link `node`
    /// is, is in no queue, and is the caller's to queue.
    #[inline]
    pub unsafe fn push_woken(this: *const Self, node: NonNull<Link>, may_move: bool) {
        let here: *const Self = current::ready().cast();
        // SAFETY: the home of a parked fibre is alive, see the module text.
        let forward = unsafe { (*this).forward.load(Ordering::Relaxed) };
        let home = if forward.is_null() || !may_move {
            this
        } else {
            forward.cast_const()
        };
        if ptr::eq(here, home) {
            // SAFETY: this thread is the owner; the node is the caller's.
            unsafe { (*home).local.push(node) };
        } else {
            // SAFETY: as above; `forward` is of the same group.
            unsafe { Self::push_remote(here, home, node) };
        }
    }

    /// The part of [`push_woken`](Self::push_woken) for other threads.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn push_remote(here: *const Self, home: *const Self, node: NonNull<Link>) {
        // SAFETY: alive until the fibre in our hands has ended.
        let kin = !here.is_null() && unsafe { (*here).group == (*home).group };
        let guest = (!kin).then(|| {
            // SAFETY: `home` comes from an `Arc`, of which one reference exists.
            unsafe {
                Arc::increment_strong_count(home);
                Arc::from_raw(home)
            }
        });
        // SAFETY: alive by kinship or by `guest`; the node is the caller's.
        let queue = unsafe { &*home };
        // SAFETY: the node is the caller's.
        if unsafe { queue.inbox.push(node) } == Pushed::WakeConsumer {
            queue.unpark();
        }
        drop(guest);
    }

    /// Queues a fibre that has not started. Any thread that keeps `self` alive.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    #[inline]
    pub unsafe fn push_fresh(&self, node: NonNull<Link>) {
        // SAFETY: passed on.
        if unsafe { self.fresh.push(node) } == Pushed::WakeConsumer {
            self.unpark();
        }
    }

    /// Queues a started fibre behind the local ones, or, if it `may_move`, where
    /// forced migration wants it. The owner only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    #[inline]
    pub unsafe fn push_local(&self, node: NonNull<Link>, may_move: bool) {
        let forward = self.forward.load(Ordering::Relaxed);
        if forward.is_null() || !may_move {
            // SAFETY: passed on.
            unsafe { self.local.push(node) };
        } else {
            // SAFETY: passed on; `forward` is of our group.
            unsafe { Self::push_remote(self, forward, node) };
        }
    }

    /// Takes the next fibre. The owner only.
    #[inline]
    pub fn pop(&self) -> Option<NonNull<Link>> {
        if !self.inbox.is_empty() {
            self.empty_inbox();
        }
        if !self.fresh.is_empty() && (self.fresh_next.get() || self.local.is_empty()) {
            self.fresh_next.set(false);
            // SAFETY: this thread is the owner.
            if let Popped::Node(node) = unsafe { self.fresh.pop_own() } {
                return Some(node);
            }
        }
        self.fresh_next.set(true);
        self.local.pop()
    }

    /// Moves what others made ready behind what we made ready.
    fn empty_inbox(&self) {
        // SAFETY: the owner is the only consumer of its inbox.
        while let Popped::Node(node) = unsafe { self.inbox.pop() } {
            // SAFETY: just taken out.
            unsafe { self.local.push(node) };
        }
    }

    /// Whether nothing is ready, not even a push in flight. The owner only.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.local.is_empty() && self.inbox.is_empty() && self.fresh.is_empty()
    }

    /// Takes a fibre that has not started. Any thread.
    pub fn steal(&self) -> Popped {
        self.fresh.pop()
    }

    /// Whether there is something to steal at this moment.
    #[must_use]
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// Says that the owner is about to sleep: from now on a push wakes it.
    /// `false`: something came, and the owner must not sleep.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.local.is_empty() && self.inbox.arm() && self.fresh.arm()
    }

    /// Whether the owner sleeps, and nobody has pushed anything yet; a hint.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.fresh.is_armed() && self.inbox.is_armed()
    }

    /// Ends what [`arm`](Self::arm) began, whatever it returned. The owner only.
    pub fn disarm(&self) {
        self.inbox.disarm();
        self.fresh.disarm();
    }

    /// Blocks the owner's thread until there may be work or the deadline passes.
    pub fn sleep(&self, deadline: Option<std::time::Instant>) {
        self.parker.sleep(self.halt.get(), deadline);
    }

    /// Blocks the owner's thread until [`unpark`](Self::unpark), whatever is pushed and
    /// whatever happens elsewhere, or not so long. Its queues must not be armed.
    pub fn stand(&self) {
        self.parker.sleep(None, None);
    }

    /// Ends the owner's sleep, or its next one. Any thread.
    pub fn unpark(&self) {
        self.parker.unpark(|| self.halt.get());
    }

    /// What a layer above installed.
    #[inline]
    pub fn halt(&self) -> Option<&Arc<dyn Halt>> {
        self.halt.get()
    }

    /// Installs another way to sleep, unless there is one; returns what is there.
    /// Any thread.
    pub fn install_halt(&self, halt: Arc<dyn Halt>) -> &Arc<dyn Halt> {
        let installed = self.halt.get_or_init(|| halt);
        // If the owner sleeps on its futex, it has to move over.
        self.unpark();
        installed
    }

    /// Sends fibres that are woken here to `other` from now on.
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
            .finish_non_exhaustive()
    }
}
