//! A FIFO of waiters, and the one way to wait in it.
//!
//! The list is intrusive: its nodes lie in the frames of those who wait, so waiting
//! allocates nothing. It is always used under a lock, which is also the lock that
//! invariant 1 of `fibre_core`'s waiters asks for: wakers claim under it, and the
//! waiting side takes its node out under it before its frame ends. The lock is held for a
//! few instructions and never across a switch.
//!
//! A node is in the list from [`wait`]'s publication until a waker pops it or the
//! withdrawal after a deadline or a cancellation removes it.

use fibre_core::sync::{Cell, Framed, planted};
use fibre_core::{Limit, Outcome, Resume, ShortLock, Waiter, park_until};
use std::ptr::{self, NonNull};

/// What protects a list and the state that goes with it.
pub type Locked<S> = ShortLock<S>;

/// One who waits, in its own frame.
#[derive(Debug)]
struct Node {
    /// Whom to wake; null before the node is in the list.
    waiter: Cell<*const Waiter>,
    /// The one that has waited a little longer.
    before: Cell<*const Node>,
    /// The one that has waited a little less.
    behind: Cell<*const Node>,
    /// Whether the node is in a list.
    linked: Cell<bool>,
}

impl Node {
    /// A node that is in no list.
    fn new() -> Self {
        Self {
            waiter: Cell::new(ptr::null()),
            before: Cell::new(ptr::null()),
            behind: Cell::new(ptr::null()),
            linked: Cell::new(false),
        }
    }
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Node {
    fn end_of_frame(&mut self) {
        self.waiter.end_of_frame();
        self.before.end_of_frame();
        self.behind.end_of_frame();
        self.linked.end_of_frame();
    }
}

/// The list. See the module text.
#[derive(Debug)]
pub struct WaitList {
    /// The one that has waited longest.
    head: *const Node,
    /// The one that has waited least.
    tail: *const Node,
    /// How many wait.
    length: usize,
}

// SAFETY: nodes are touched under the list's lock only, and stay alive while in it.
unsafe impl Send for WaitList {}

impl Default for WaitList {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            head: ptr::null(),
            tail: ptr::null(),
            length: 0,
        }
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Takes out the one that has waited longest and who has not given
    /// up meanwhile. Resume it after the lock is released.
    #[must_use]
    pub fn claim_first(&mut self, token: u32) -> Option<Resume> {
        loop {
            let first = NonNull::new(self.head.cast_mut())?;
            // SAFETY: in the list, hence alive; we are under its lock.
            let node = unsafe { first.as_ref() };
            self.unlink(node);
            // SAFETY: a linked node's waiter is alive, too.
            if let Some(resume) = unsafe { (*node.waiter.get()).claim(token) } {
                return Some(resume);
            }
            if planted("wait list: a waker that loses its claim goes") {
                return None;
            }
        }
    }

    /// Takes out all that wait and have not given up meanwhile. Resume them after the lock is
    /// released.
    pub fn claim_all(&mut self, token: u32) -> Claimed {
        let mut next = std::mem::replace(&mut self.head, ptr::null());
        self.tail = ptr::null();
        self.length = 0;
        let mut claimed = Claimed {
            first: ptr::null(),
            length: 0,
        };
        let mut last: *const Node = ptr::null();
        // SAFETY: all were in the list, hence are alive; we are under its lock.
        while let Some(node) = unsafe { next.as_ref() } {
            next = node.behind.get();
            node.linked.set(false);
            // SAFETY: a linked node's waiter is alive, too.
            if unsafe { (*node.waiter.get()).claim(token) }.is_none() {
                continue;
            }
            node.behind.set(ptr::null());
            // SAFETY: claimed and not resumed, hence alive.
            match unsafe { last.as_ref() } {
                Some(last) => last.behind.set(node),
                None => claimed.first = node,
            }
            last = node;
            claimed.length += 1;
        }
        claimed
    }

    /// Puts a node in, which stays put until it is out again.
    fn insert(&mut self, node: &Node, waiter: &Waiter, place: Place) {
        let (before, behind) = match place {
            Place::Last => (self.tail, ptr::null()),
            Place::First => (ptr::null(), self.head),
        };
        node.waiter.set(waiter);
        node.before.set(before);
        node.behind.set(behind);
        node.linked.set(true);
        // SAFETY: neighbours are in the list, hence alive.
        unsafe {
            match before.as_ref() {
                Some(before) => before.behind.set(node),
                None => self.head = node,
            }
            match behind.as_ref() {
                Some(behind) => behind.before.set(node),
                None => self.tail = node,
            }
        }
        self.length += 1;
    }

    /// Takes a node out of the list, wherever it stands.
    fn unlink(&mut self, node: &Node) {
        let (before, behind) = (node.before.get(), node.behind.get());
        // SAFETY: neighbours of a linked node are linked, hence alive.
        unsafe {
            match before.as_ref() {
                Some(before) => before.behind.set(behind),
                None => self.head = behind,
            }
            match behind.as_ref() {
                Some(behind) => behind.before.set(before),
                None => self.tail = before,
            }
        }
        node.linked.set(false);
        self.length -= 1;
    }
}

/// Those that [`WaitList::claim_all`] has claimed: a chain through their frames. They sleep until
/// [`resume`](Self::resume) is called, which needs no lock and touches nothing but these frames.
#[must_use = "they sleep until they are resumed"]
#[derive(Debug)]
pub struct Claimed {
    /// The one that has waited longest.
    first: *const Node,
    /// How many they are.
    length: usize,
}

impl Claimed {
    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nobody had to be claimed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Lets all of them go on, in the order in which they came. Blocks nothing.
    pub fn resume(self) {
        let mut next = self.first;
        // SAFETY: claimed and not resumed, hence alive.
        while let Some(node) = unsafe { next.as_ref() } {
            next = node.behind.get();
            // SAFETY: as above, and it is resumed once. Its frame may be gone from here on.
            unsafe { (*node.waiter.get()).claimed() }.resume();
            if planted("wait list: a chain is followed through a frame that was let go") {
                next = node.behind.get();
            }
        }
    }
}

/// Where one who waits enters a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind all others: who has just come.
    Last,
    /// Before all others: who had its turn, and was woken in vain.
    First,
}

/// Waits at the end of a list, unless `enter` finds that there is no need to.
///
/// `enter` is called under the lock; when it returns `false`, nothing has happened
/// ([`Outcome::NotParked`]). Otherwise the caller is at the end of `list` when the lock
/// is released, and `after` is called (to unlock what guards the condition, say).
/// Blocks the fibre, or the thread if the caller is not a fibre. The closures do not
/// panic.
///
/// # Safety
///
/// `list` always yields the same list, which stays in its place behind this lock and is
/// not replaced while somebody may wait in it; whoever claims resumes.
pub unsafe fn wait<S>(
    locked: &Locked<S>,
    list: impl Fn(&mut S) -> &mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut S) -> bool,
    after: impl FnOnce(),
) -> Outcome {
    // SAFETY: passed on.
    unsafe { wait_at(Place::Last, locked, list, limit, enter, after) }
}

/// [`wait`] at either end of the list.
///
/// # Safety
///
/// As for [`wait`].
#[inline]
pub unsafe fn wait_at<S>(
    place: Place,
    locked: &Locked<S>,
    list: impl Fn(&mut S) -> &mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut S) -> bool,
    after: impl FnOnce(),
) -> Outcome {
    // SAFETY: passed on.
    unsafe { wait_or_leave(place, locked, list, limit, enter, after, |_, _| ()) }
}

/// [`wait_at`], with something to do when the wait ends by its limit.
///
/// `leave` is called under the lock, after the caller has been taken out of the list. Its second
/// argument says by whom: `true`, by itself just now; `false`, by a waker before, which then lost
/// the claim.
///
/// # Safety
///
/// As for [`wait`].
#[inline]
pub unsafe fn wait_or_leave<S>(
    place: Place,
    locked: &Locked<S>,
    list: impl Fn(&mut S) -> &mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut S) -> bool,
    after: impl FnOnce(),
    leave: impl FnOnce(&mut S, bool),
) -> Outcome {
    let node = Framed::new(Node::new());
    let publish = |waiter: &Waiter| {
        let mut state = locked.lock();
        if !enter(&mut state) {
            return false;
        }
        list(&mut state).insert(&node, waiter, place);
        drop(state);
        after();
        true
    };
    let withdraw = |_: &Waiter| {
        let mut state = locked.lock();
        // A waker may have popped it, and lost the claim.
        let linked = node.linked.get();
        if linked && !planted("wait list: who gives up stays in it") {
            list(&mut state).unlink(&node);
        }
        leave(&mut state, linked);
    };
    // SAFETY: the waiter is reached by its node only, under the lock; a waker takes the
    // node out before it claims, and `withdraw` takes it out if nobody has claimed.
    unsafe { park_until(limit, publish, withdraw) }
}
