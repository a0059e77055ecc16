//! The one word of a [`Once`](crate::Once): its progress and its waiters.
//!
//! ```text
//!   bits 63 … 3                    bit 2    bits 1 … 0
//!   the first node, or 0           LOCKED   INCOMPLETE | POISONED | RUNNING | COMPLETE
//! ```
//!
//! Nodes lie in the frames of the waiters and of the initialiser. They form a list that changes
//! only under the `LOCKED` bit, a lock that is held for a few instructions, like a
//! [`ShortLock`](fibre_core::internal::ShortLock). All of this is one word, so an object that is
//! used once costs only eight bytes, all of them zero at first.
//!
//! Invariants:
//!
//! 1. A node is in the list from a push under the lock until its removal under the lock, and is
//!    alive in between. Wakers claim under the lock, too.
//! 2. While the state is `RUNNING`, the initialiser's own node is the first of the list, and holds
//!    its number. So a caller finds the initialiser without a walk through the waiters.
//! 3. `COMPLETE` is the last value, without a node and without the lock.
//! 4. The store that ends an initialisation is its last access of the word. The claimed waiters
//!    form a chain of their own, with nodes that live until their waiters are resumed.
//!
//! # Memory ordering
//!
//! The lock is taken with acquire and given back with release. `COMPLETE` is stored with release
//! and read with acquire: a reader that sees it sees what the initialiser did.

use crate::faults;
use crate::turn::{ModelLock, Turn};
use fibre_core::internal::{Outcome, Resume, Wait, Waiter};
use fibre_core::sync::{
    AtomicPtr, Cell, Framed, Ordering, SPIN_LIMIT, nap, planted, spin_hint, thread_yield,
};
use fibre_core::{Limit, WaitKind, WaitObject};
use std::ptr;

/// The bits of the state.
const STATE: usize = 3;
/// The bit of the lock.
const LOCKED: usize = 4;
/// How often a thread that finds the lock taken gives its CPU away before it naps.
const YIELDS: u32 = 32;

/// The progress of an initialisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// No initialiser has begun.
    Incomplete = 0,
    /// An initialiser has panicked.
    Poisoned = 1,
    /// An initialiser is running.
    Running = 2,
    /// It is complete.
    Complete = 3,
}

/// A place in the list, in the frame of a waiter or of the initialiser. Aligned, so that the low
/// bits of its address are free.
#[repr(align(8))]
pub(crate) struct Node {
    /// The next node, which came earlier; or null.
    next: Cell<*const Node>,
    /// The node before, or null.
    before: Cell<*const Node>,
    /// The waiter to wake; null for the initialiser.
    waiter: Cell<*const Waiter>,
    /// The right to resume the waiter, once it has been claimed.
    resume: Cell<Option<Resume>>,
    /// Whether the node is in the list.
    linked: Cell<bool>,
    /// The number of the fibre or thread that initialises; 0 for a waiter.
    initialiser: u64,
}

impl Node {
    /// A waiter's node, in no list.
    fn waiting() -> Self {
        Self::initialising(0)
    }

    /// The initialiser's node, in no list.
    pub(crate) fn initialising(initialiser: u64) -> Self {
        Self {
            next: Cell::new(ptr::null()),
            before: Cell::new(ptr::null()),
            waiter: Cell::new(ptr::null()),
            resume: Cell::new(None),
            linked: Cell::new(false),
            initialiser,
        }
    }
}

fibre_core::end_of_frame!(Node: next, before, waiter, linked);

/// The word.
#[derive(Debug)]
pub(crate) struct OnceWord(AtomicPtr<Node>, Turn);

fibre_core::end_of_frame!(OnceWord: 0);

/// The state of a word.
fn progress(word: *const Node) -> Progress {
    match word.addr() & STATE {
        0 => Progress::Incomplete,
        1 => Progress::Poisoned,
        2 => Progress::Running,
        _ => Progress::Complete,
    }
}

/// The first node of a word, or null.
fn first(word: *const Node) -> *const Node {
    word.map_addr(|word| word & !(STATE | LOCKED))
}

impl OnceWord {
    fibre_core::const_outside_models! {
        /// The word before any initialisation.
        pub(crate) const fn new() -> Self {
            Self(AtomicPtr::new(ptr::null_mut()), Turn::new())
        }
    }

    /// The progress; acquires what a complete initialisation has written.
    #[inline]
    pub(crate) fn progress(&self) -> Progress {
        progress(self.0.load(Ordering::Acquire))
    }

    /// Takes the lock. Returns `None` if the initialisation is complete: then there is nothing left
    /// to do.
    pub(crate) fn lock(&self) -> Option<LockedWord<'_>> {
        let turn = self.1.take();
        let mut yields = 0;
        loop {
            for _ in 0..SPIN_LIMIT {
                let seen = self.0.load(Ordering::Acquire);
                if progress(seen) == Progress::Complete {
                    return None;
                }
                if seen.addr() & LOCKED == 0 && self.take(seen) {
                    return Some(LockedWord {
                        word: self,
                        seen,
                        _turn: turn,
                    });
                }
                spin_hint();
            }
            if yields < YIELDS {
                yields += 1;
                thread_yield();
            } else {
                nap();
            }
        }
    }

    /// Sets the lock bit, if the word is still `seen`.
    fn take(&self, seen: *mut Node) -> bool {
        let taken = seen.map_addr(|word| word | LOCKED);
        // The word may have changed since, and changed back.
        let order = match planted(faults::once::TAKES_LOCK_WITHOUT_ACQUIRE) {
            true => Ordering::Relaxed,
            false => Ordering::Acquire,
        };
        self.0
            .compare_exchange(seen, taken, order, Ordering::Relaxed)
            .is_ok()
    }

    /// Waits for a change of the state. Does not wait if it is complete, or if `must_wait` returns
    /// `false` ([`Outcome::NotParked`]). `must_wait` is called under the lock and does not panic.
    pub(crate) fn wait(
        &self,
        limit: Limit,
        must_wait: impl FnOnce(&mut LockedWord<'_>) -> bool,
    ) -> Outcome {
        let node = Framed::new(Node::waiting());
        let publish = |waiter: &Waiter, _| {
            let Some(mut word) = self.lock() else {
                return false;
            };
            let waits = must_wait(&mut word);
            if waits {
                node.waiter.set(waiter);
                word.push(&node);
            }
            waits
        };
        let withdraw = |_: &Waiter| {
            // If it is complete, the initialiser has taken all nodes out.
            if let Some(mut word) = self.lock() {
                word.remove(&node);
            }
        };
        let awaited = WaitObject::new(WaitKind::Once, self);
        // SAFETY: wakers reach the waiter by its node only, under the lock. A waker that claims
        // takes the node out, and so does `withdraw`. `Claimed::resume` resumes it.
        unsafe { Wait::new(awaited, limit).park(publish, withdraw) }
    }
}

/// The right to change the list and the state; given back when dropped.
#[derive(Debug)]
pub(crate) struct LockedWord<'a> {
    word: &'a OnceWord,
    /// The word to store, without the lock bit.
    seen: *mut Node,
    /// Given up after the lock bit.
    _turn: ModelLock,
}

impl LockedWord<'_> {
    /// The progress.
    pub(crate) fn progress(&self) -> Progress {
        progress(self.seen)
    }

    /// Whether the fibre or thread with this number is the initialiser.
    pub(crate) fn is_run_by(&self, number: u64) -> bool {
        // SAFETY: in the list, hence alive.
        unsafe { first(self.seen).as_ref() }.is_some_and(|first| first.initialiser == number)
    }

    /// Makes the owner of `node` the initialiser. The node stays put until
    /// [`finish`](Self::finish).
    pub(crate) fn begin(&mut self, node: &Node) {
        self.push_first(node);
        if !planted(faults::once::INITIALISES_SILENTLY) {
            self.set(Progress::Running);
        }
    }

    /// Sets how the initialisation ended, and claims all waiters that have not given up.
    pub(crate) fn finish(mut self, end: Progress) -> Claimed {
        if planted(faults::once::STORES_STATE_BEFORE_UNLOCKING) {
            let seen = self
                .seen
                .map_addr(|word| word & !STATE | LOCKED | end as usize);
            self.word.0.store(seen, Ordering::Release);
        }
        let mut claimed = Claimed(ptr::null());
        let mut next = first(self.seen);
        // SAFETY: in the list, hence alive; so is its waiter.
        while let Some(node) = unsafe { next.as_ref() } {
            next = node.next.get();
            node.linked.set(false);
            // SAFETY: as above.
            let waiter = unsafe { node.waiter.get().as_ref() };
            if let Some(resume) = waiter.and_then(|waiter| waiter.claim(0)) {
                node.resume.set(Some(resume));
                node.next.set(claimed.0);
                claimed.0 = node;
            }
        }
        self.seen = ptr::null_mut();
        self.set(end);
        claimed
    }

    /// Changes the state.
    fn set(&mut self, progress: Progress) {
        self.seen = self.seen.map_addr(|word| word & !STATE | progress as usize);
    }

    /// Makes `node` the first one, or none.
    fn set_first(&mut self, node: *const Node) {
        let state = self.progress() as usize;
        self.seen = node.cast_mut().map_addr(|node| node | state);
    }

    /// Puts a waiter's node in, before the ones that came earlier but behind the initialiser's. The
    /// node stays put until it is out again.
    fn push(&mut self, node: &Node) {
        let first = first(self.seen);
        // SAFETY: in the list, hence alive.
        match unsafe { first.as_ref() } {
            Some(at_it) if at_it.initialiser != 0 => self.put(node, first, at_it.next.get()),
            _ => self.push_first(node),
        }
    }

    /// Puts a node in before all others.
    fn push_first(&mut self, node: &Node) {
        self.put(node, ptr::null(), first(self.seen));
    }

    /// Puts a node in between two neighbours, each of them null if there is none.
    fn put(&mut self, node: &Node, before: *const Node, behind: *const Node) {
        node.linked.set(true);
        self.join(before, node);
        self.join(node, behind);
    }

    /// Makes two nodes neighbours; null is the end on that side.
    fn join(&mut self, before: *const Node, behind: *const Node) {
        // SAFETY: in the list or about to be, hence alive.
        match unsafe { before.as_ref() } {
            Some(before) => before.next.set(behind),
            None => self.set_first(behind),
        }
        // SAFETY: as above.
        if let Some(behind) = unsafe { behind.as_ref() } {
            behind.before.set(before);
        }
    }

    /// Takes a node out, if it is in the list.
    fn remove(&mut self, gone: &Node) {
        if !gone.linked.replace(false) || planted(faults::once::GIVING_UP_STAYS_IN_THE_LIST) {
            return;
        }
        self.join(gone.before.get(), gone.next.get());
    }
}

impl Drop for LockedWord<'_> {
    fn drop(&mut self) {
        let order = match planted(faults::once::GIVES_WORD_BACK_WITHOUT_RELEASE) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.word.0.store(self.seen, order);
    }
}

/// The claimed waiters, to be resumed in order of arrival.
#[must_use = "they sleep until they are resumed"]
#[derive(Debug)]
pub(crate) struct Claimed(*const Node);

impl Claimed {
    /// Resumes all of them.
    pub(crate) fn resume(self) {
        let mut next = self.0;
        // SAFETY: claimed and not resumed yet, so its frame does not end.
        while let Some(node) = unsafe { next.as_ref() } {
            next = node.next.get();
            let resume = node.resume.take();
            if let Some(resume) = resume.filter(|_| !planted(faults::once::WAKES_NOBODY)) {
                resume.resume();
            }
            if planted(faults::once::READS_CHAIN_AFTER_RESUME) {
                next = node.next.get();
            }
        }
    }
}
