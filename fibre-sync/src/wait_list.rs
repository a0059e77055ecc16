//! A FIFO of waiters, and the only way to wait in it.
//!
//! The list is intrusive: each node lies in the frame of its waiter, so waiting allocates nothing.
//! The list is always used under a lock, which is also the lock that invariant 1 of `fibre_core`'s
//! waiters asks for: wakers claim under it, and a waiter takes its node out under it before its
//! frame ends. The lock is held for a few instructions and never across a switch.
//!
//! A node is in the list from the moment that [`ListWait`] publishes it until a waker pops it, or
//! until its waiter removes it after a deadline or a cancellation.

mod favoured;
mod showing;

use crate::faults;
use fibre_core::internal::{Outcome, Resume, ShortGuard, ShortLock, Wait, Waiter};
use fibre_core::sync::{Cell, Framed, planted};
use fibre_core::{Left, Limit, WaitObject};
use std::fmt;
use std::ptr;

/// The lock that protects a list and the state that goes with it.
pub type Locked<S> = ShortLock<S>;

/// A waiter's place in a list, in the waiter's own frame.
pub struct Node {
    /// The waiter to wake. Written when the node enters a list.
    waiter: Cell<*const Waiter>,
    /// The node before this one, which has waited longer; for the first node, the last one.
    before: Cell<*const Node>,
    /// The node behind this one, which has waited less long; for the last node, the first one.
    behind: Cell<*const Node>,
    /// A pointer that wakers may read before they resume the waiter.
    shown: Cell<*const ()>,
    /// Whether the node is in a list.
    linked: Cell<bool>,
    /// Whether only the holder of this list's lock can end the wait.
    alone: Cell<bool>,
    /// How often another waiter was favoured while this one was the first.
    passed_over: Cell<u8>,
    /// Whether it has entered among other nodes of its waiter, and no waker has lost the claim
    /// here.
    may_win: Cell<bool>,
}

// SAFETY: in a list, it is used under the list's lock only; in none, by its owner.
unsafe impl Send for Node {}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("linked", &self.linked)
            .field("alone", &self.alone)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// A node that is in no list.
    #[must_use]
    pub fn new() -> Self {
        Self {
            waiter: Cell::new(ptr::null()),
            before: Cell::new(ptr::null()),
            behind: Cell::new(ptr::null()),
            shown: Cell::new(ptr::null()),
            linked: Cell::new(false),
            alone: Cell::new(false),
            passed_over: Cell::new(0),
            may_win: Cell::new(false),
        }
    }

    /// Whether the node is in a list. Under that list's lock.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.linked.get()
    }

    /// Shows wakers a pointer of the waiter's ([`WaitList::claim_first_showing`]). Call it before
    /// the node enters a list.
    pub fn show<T>(&self, shown: *const T) {
        self.shown.set(shown.cast());
    }

    /// Declares whether only a claim from the list that the node enters next can end the wait. If
    /// so, a claim is cheaper.
    ///
    /// # Safety
    ///
    /// `true` is correct: the wait has no limit, and its waiter stands in no other list.
    pub unsafe fn set_alone(&self, alone: bool) {
        self.alone.set(alone);
    }

    /// Tries to end the wait. The caller holds the list's lock and has just taken the node out.
    ///
    /// # Safety
    ///
    /// The node has been in the list until now.
    unsafe fn claim(&self, token: u32) -> Option<Resume> {
        // SAFETY: a listed node's waiter is alive; if it is alone, only this caller can reach it.
        unsafe {
            let waiter = &*self.waiter.get();
            if self.alone.get() {
                return Some(waiter.claim_alone(token));
            }
            let claimed = waiter.claim(token);
            if claimed.is_none() && !planted(faults::wait_list::LOST_CLAIM_IS_NOT_NOTED) {
                self.may_win.set(false);
            }
            claimed
        }
    }
}

fibre_core::end_of_frame! {
    Node: waiter, before, behind, shown, linked, alone, passed_over, may_win
}

/// The list, a ring. Empty, it is all zeros.
pub struct WaitList {
    /// The node that has waited longest; null if the list is empty.
    first: *const Node,
}

impl fmt::Debug for WaitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitList")
            .field("is_empty", &self.is_empty())
            .finish_non_exhaustive()
    }
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
        Self { first: ptr::null() }
    }

    /// Whether the list is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Takes out and claims the waiter that has waited longest and has not given up. Resume it
    /// after the lock is released.
    #[inline]
    #[must_use]
    pub fn claim_first(&mut self, token: u32) -> Option<Resume> {
        loop {
            // SAFETY: in the list, hence alive; the caller holds its lock.
            let node = unsafe { self.first.as_ref()? };
            // SAFETY: it is in the list.
            unsafe { self.unlink(node) };
            // SAFETY: just taken out.
            if let Some(resume) = unsafe { node.claim(token) } {
                return Some(resume);
            }
            if planted(faults::wait_list::WAKER_GOES_THAT_LOST_ITS_CLAIM) {
                return None;
            }
        }
    }

    /// [`claim_first`](Self::claim_first) with a token computed from the pointer that the waiter
    /// shows. Returns that pointer, too: its target does not change until the waiter is resumed.
    #[inline]
    pub fn claim_first_showing(
        &mut self,
        token: impl Fn(*const ()) -> u32,
    ) -> Option<(Resume, *const ())> {
        loop {
            // SAFETY: in the list, hence alive; the caller holds its lock.
            let node = unsafe { self.first.as_ref()? };
            // SAFETY: it is in the list.
            unsafe { self.unlink(node) };
            let shown = node.shown.get();
            // SAFETY: just taken out.
            if let Some(resume) = unsafe { node.claim(token(shown)) } {
                return Some((resume, shown));
            }
        }
    }

    /// Whether there is a first waiter, and it is `like` this.
    #[must_use]
    pub fn first_is(&self, like: impl FnOnce(&Waiter) -> bool) -> bool {
        // SAFETY: in the list, hence alive; the caller holds its lock. So is its waiter.
        unsafe { self.first.as_ref() }.is_some_and(|first| like(unsafe { &*first.waiter.get() }))
    }

    /// Takes out and claims all waiters that have not given up. Resume them after the lock is
    /// released.
    pub fn claim_all(&mut self, token: u32) -> Claimed {
        let mut claimed = Claimed::none();
        // SAFETY: as in `claim_first`; a claimed waiter stays until it is resumed.
        while let Some(node) = unsafe { self.first.as_ref() } {
            // SAFETY: it is in the list.
            unsafe { self.unlink(node) };
            // SAFETY: just taken out.
            if unsafe { node.claim(token) }.is_some() {
                claimed.append(node);
            }
        }
        claimed
    }

    /// The pointer that the first waiter shows: null, unless it entered by [`Place::LastShowing`].
    /// `None` if the list is empty.
    #[must_use]
    pub fn first_shows(&self) -> Option<*const ()> {
        // SAFETY: in the list, hence alive; the caller holds its lock.
        unsafe { self.first.as_ref() }.map(|first| first.shown.get())
    }

    /// Takes out the waiter that has waited longest, if any, and adds it to `claimed` unless it has
    /// given up. Returns whether it did.
    pub fn claim_first_of_many(&mut self, token: u32, claimed: &mut Claimed) -> bool {
        // SAFETY: as in `claim_first`; a claimed waiter stays until it is resumed.
        let Some(node) = (unsafe { self.first.as_ref() }) else {
            return false;
        };
        // SAFETY: it is in the list.
        unsafe { self.unlink(node) };
        // SAFETY: just taken out.
        let won = unsafe { node.claim(token) }.is_some();
        if won {
            claimed.append(node);
        }
        won
    }

    /// Puts a node into the list.
    ///
    /// # Safety
    ///
    /// The node is in no list, and stays put until it is out again. Until then the list is used
    /// under one lock, and the waiter may be claimed under that lock.
    ///
    /// ```compile_fail,E0133
    /// use fibre_sync::{Node, Place, WaitList};
    ///
    /// let mut list = WaitList::new();
    /// list.insert(&Node::new(), std::ptr::null(), Place::Last);
    /// list.claim_first(0);
    /// ```
    pub unsafe fn insert(&mut self, node: &Node, waiter: *const Waiter, place: Place) {
        node.waiter.set(waiter);
        node.linked.set(true);
        if let Place::LastShowing(shown) = place {
            node.shown.set(shown);
        }
        // SAFETY: neighbours are in the list, hence alive.
        let Some(first) = (unsafe { self.first.as_ref() }) else {
            node.before.set(node);
            node.behind.set(node);
            self.first = node;
            return;
        };
        let last = first.before.get();
        node.before.set(last);
        node.behind.set(first);
        first.before.set(node);
        // SAFETY: as above.
        unsafe { (*last).behind.set(node) };
        if place == Place::First {
            self.first = node;
        }
    }

    /// Puts in the node of a waiter that enters other lists, too. It leaves by
    /// [`leave`](Self::leave).
    ///
    /// # Safety
    ///
    /// As for [`insert`](Self::insert); and the node is not declared to be alone.
    pub unsafe fn enter(&mut self, node: &Node, waiter: *const Waiter, place: Place) {
        node.passed_over.set(0);
        node.may_win.set(true);
        // SAFETY: passed on.
        unsafe { self.insert(node, waiter, place) };
    }

    /// Takes out the node of a waiter that is in other lists, too, unless a waker has. Returns
    /// whether that waker has claimed the waiter. If a waker of a list has ended the wait, exactly
    /// one of the waiter's lists says so.
    ///
    /// # Safety
    ///
    /// If the node has [entered](Self::enter) a list, it was this one.
    pub unsafe fn leave(&mut self, node: &Node) -> Left {
        let wins = node.may_win.replace(false) && !node.linked.get();
        if node.linked.get() {
            // SAFETY: it is in a list, hence in this one.
            unsafe { self.unlink(node) };
        }
        match wins {
            true => Left::Here,
            false => Left::Elsewhere,
        }
    }

    /// Takes a node out of the list, wherever it stands.
    ///
    /// # Safety
    ///
    /// The node is in this list.
    pub unsafe fn unlink(&mut self, node: &Node) {
        let (before, behind) = (node.before.get(), node.behind.get());
        node.linked.set(false);
        if ptr::eq(behind, node) {
            self.first = ptr::null();
            return;
        }
        // SAFETY: neighbours of a linked node are linked, hence alive.
        unsafe {
            (*before).behind.set(behind);
            (*behind).before.set(before);
        }
        if ptr::eq(self.first, node) {
            self.first = behind;
        }
    }
}

/// The waiters that [`WaitList::claim_all`] took out: a chain through their frames. Dropping it
/// resumes all of them. It does not touch the list any more.
#[must_use = "dropping it under the lock wakes all under the lock"]
#[derive(Debug)]
pub struct Claimed {
    /// The first to be resumed; null if there is none.
    first: *const Node,
    /// The last to be resumed, if there is a first.
    last: *const Node,
    /// How many waiters were claimed.
    length: usize,
}

impl Claimed {
    /// A chain without waiters.
    pub const fn none() -> Self {
        Self {
            first: ptr::null(),
            last: ptr::null(),
            length: 0,
        }
    }

    /// Whether the chain has no waiters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// How many waiters the chain has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Resumes all of them, in order of arrival. Blocks nothing.
    pub fn resume(self) {
        drop(self);
    }

    /// Adds a claimed waiter at the end of the chain.
    fn append(&mut self, node: &Node) {
        node.behind.set(ptr::null());
        // SAFETY: claimed and not resumed, hence alive.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.behind.set(node),
            None => self.first = node,
        }
        self.last = node;
        self.length += 1;
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        // SAFETY: claimed and not resumed, hence alive. Its link is read before it is resumed, and
        // this is the one resume for the claim that `claim_all` made.
        unsafe {
            while let Some(node) = self.first.as_ref() {
                self.first = node.behind.get();
                (*node.waiter.get()).claimed().resume();
                if planted(faults::wait_list::FOLLOWS_CHAIN_THROUGH_FREED_FRAME) {
                    self.first = node.behind.get();
                }
            }
        }
    }
}

/// Where a waiter enters a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind all others: for a newcomer.
    Last,
    /// Behind all others, showing wakers this pointer ([`WaitList::first_shows`]).
    LastShowing(*const ()),
    /// Before all others: for a waiter that had its turn and was woken for nothing.
    First,
}

/// A wait in a list: what for, where in the list, and how long.
#[derive(Debug, Clone, Copy)]
pub struct ListWait {
    awaited: WaitObject,
    place: Place,
    limit: Limit,
}

impl ListWait {
    /// A wait for this object at the end of a list.
    #[inline]
    #[must_use]
    pub fn new(awaited: WaitObject, limit: Limit) -> Self {
        Self {
            awaited,
            place: Place::Last,
            limit,
        }
    }

    /// The same at another place.
    #[inline]
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Where in the list.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Waits in a list, unless `enter` finds that there is no need to.
    ///
    /// `enter` is called under the lock. If it returns `false`, the call does nothing
    /// ([`Outcome::NotParked`]). Otherwise the caller is in the list when the lock is released.
    /// Blocks the fibre, or the thread if the caller is not a fibre. The closures do not panic.
    ///
    /// # Safety
    ///
    /// `list` always yields the same list. The list stays in its place behind this lock, and is not
    /// replaced while a waiter may be in it. Each waker that claims a waiter resumes it.
    #[inline]
    pub unsafe fn in_list<S>(
        self,
        locked: &Locked<S>,
        list: impl Fn(&mut S) -> &mut WaitList,
        enter: impl FnOnce(&mut S) -> bool,
    ) -> Outcome {
        let lock = || locked.lock();
        let list = |state: &mut ShortGuard<'_, S>| ptr::from_mut(list(state));
        let enter = |state: &mut ShortGuard<'_, S>| enter(state);
        // SAFETY: passed on.
        unsafe { self.under(lock, list, enter, || (), |_, _| ()) }
    }

    /// [`in_list`](Self::in_list) under a lock of any kind, with something to do on the way in and
    /// out. `lock` makes guards of the lock, and `list` yields what a guard gives access to.
    ///
    /// `after` is called when the lock has been released, with the caller in the list (to unlock
    /// the mutex of a condition, say). `leave` is called under the lock when the limit ends the
    /// wait, after the caller's node has been taken out of the list. Its second argument is `true`
    /// if the caller has just done that itself, and `false` if a waker did before, and then lost
    /// the claim.
    ///
    /// # Safety
    ///
    /// As for [`in_list`](Self::in_list).
    #[inline]
    pub unsafe fn under<G>(
        self,
        lock: impl Fn() -> G + Copy,
        list: impl Fn(&mut G) -> *mut WaitList + Copy,
        enter: impl FnOnce(&mut G) -> bool,
        after: impl FnOnce(),
        leave: impl FnOnce(&mut G, bool),
    ) -> Outcome {
        let node = Framed::new(Node::new());
        // The closures have copies, so that none of these need lie in memory on the usual way.
        let Self {
            awaited,
            place,
            limit: own,
        } = self;
        let node = &node;
        let publish = move |waiter: &Waiter, limit: Limit| {
            let limit = match planted(faults::wait_list::FORGETS_THE_LIMIT_OF_A_SCOPE) {
                true => own,
                false => limit,
            };
            // With a limit, its own or that of a time-out around the call, a timer or a canceller
            // can also end the wait.
            node.alone.set(limit == Limit::None);
            let mut guard = lock();
            if !enter(&mut guard) {
                return false;
            }
            // SAFETY: the list is the guard's. The node stays until `withdraw`, or until a waker
            // has taken it out.
            unsafe { (*list(&mut guard)).insert(node, waiter, place) };
            drop(guard);
            after();
            true
        };
        let withdraw = move |_: &Waiter| {
            let mut guard = lock();
            // A waker may have popped it, and lost the claim; or won it, if it was alone.
            let linked = node.linked.get();
            if node.alone.get()
                && !linked
                && !planted(faults::wait_list::LEAVES_WHAT_IT_HAS_BEEN_GIVEN)
            {
                return;
            }
            if linked && !planted(faults::wait_list::GIVING_UP_STAYS_IN_THE_LIST) {
                // SAFETY: the guard's, and the node is in it.
                unsafe { (*list(&mut guard)).unlink(node) };
            }
            leave(&mut guard, linked);
        };
        // SAFETY: wakers reach the waiter by its node only, under the lock. A waker takes the node
        // out before it claims, and `withdraw` takes it out if no waker has claimed.
        unsafe { Wait::new(awaited, own).park(publish, withdraw) }
    }
}

#[cfg(test)]
mod tests {
    use super::favoured::MOST_FAVOURED;
    use super::*;
    use fibre_core::WaitKind;
    use std::sync::Arc;
    use std::thread;

    /// Threads that wait, in order of arrival, and what woke each.
    fn waiting(
        list: &Arc<Locked<WaitList>>,
        place: Place,
        number: usize,
    ) -> Vec<thread::JoinHandle<u32>> {
        let last = place == Place::Last;
        (0..number)
            .map(|_| {
                let (entered, has_entered) = std::sync::mpsc::channel();
                let list = Arc::clone(list);
                let thread = thread::spawn(move || {
                    let place = if last { Place::Last } else { Place::First };
                    let after = || entered.send(()).unwrap();
                    let awaited = WaitObject::placeless(WaitKind::Other);
                    let wait = ListWait::new(awaited, Limit::None).at(place);
                    let lock = || list.lock();
                    let entry = |list: &mut ShortGuard<'_, WaitList>| ptr::from_mut(&mut **list);
                    // SAFETY: the list stays, and the tests resume each waiter that they claim.
                    let outcome = unsafe { wait.under(lock, entry, |_| true, after, |_, _| ()) };
                    match outcome {
                        Outcome::Woken(token) => token,
                        other => panic!("{other:?}"),
                    }
                });
                has_entered.recv().unwrap();
                thread
            })
            .collect()
    }

    #[test]
    fn they_come_out_at_either_end_as_they_were_put_in() {
        for (place, expected) in [(Place::Last, [0, 1, 2]), (Place::First, [2, 1, 0])] {
            let list = Arc::new(Locked::new(WaitList::new()));
            let threads = waiting(&list, place, 3);
            for token in expected {
                let first = list.lock().claim_first(token);
                first.unwrap().resume();
            }
            assert!(list.lock().claim_first(0).is_none());
            let seen: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
            assert_eq!(seen, [0, 1, 2]);
        }
    }

    #[test]
    fn all_are_claimed_at_once_and_resumed_later() {
        let list = Arc::new(Locked::new(WaitList::new()));
        let threads = waiting(&list, Place::Last, 5);
        let all = list.lock().claim_all(7);
        assert!(list.lock().is_empty() && !all.is_empty());
        drop(list);
        all.resume();
        for one in threads {
            assert_eq!(one.join().unwrap(), 7);
        }
    }

    #[test]
    fn the_first_one_is_passed_over_so_often_and_no_more() {
        let number = 3 * usize::from(MOST_FAVOURED);
        let list = Arc::new(Locked::new(WaitList::new()));
        let threads = waiting(&list, Place::Last, number);
        let mut all = Vec::new();
        let mut node = list.lock().first;
        for _ in 0..number {
            // SAFETY: all of them wait until they are claimed below.
            let waits = unsafe { &*node };
            all.push(waits.waiter.get());
            node = waits.behind.get();
        }
        // Every other waiter is favoured, and not the first one.
        let place = |waiter: &Waiter| all.iter().position(|&one| ptr::eq(one, waiter));
        let favour = |waiter: &Waiter| place(waiter).is_some_and(|place| place % 2 == 1);
        let (mut passed_over, mut most) = (0, 0);
        for _ in 0..number {
            let mut locked = list.lock();
            let first = locked.first;
            let claimed = locked.claim_favoured(0, number, favour);
            passed_over = match ptr::eq(locked.first, first) {
                true => passed_over + 1,
                false => 0,
            };
            drop(locked);
            claimed.unwrap().resume();
            most = passed_over.max(most);
        }
        assert_eq!(most, MOST_FAVOURED);
        threads.into_iter().for_each(|one| _ = one.join().unwrap());
    }

    #[test]
    fn nodes_leave_from_anywhere() {
        let (nodes, mut list) = (
            std::array::from_fn::<_, 4, _>(|_| Node::new()),
            WaitList::new(),
        );
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            for node in &nodes {
                // SAFETY: the nodes outlive the list, and no waiter is claimed.
                unsafe { list.insert(node, ptr::null(), Place::Last) };
            }
            for (left, index) in order.into_iter().enumerate() {
                assert!(!list.is_empty() && nodes[index].is_linked(), "{left}");
                // SAFETY: put in above.
                unsafe { list.unlink(&nodes[index]) };
            }
            assert!(list.is_empty());
        }
    }
}
