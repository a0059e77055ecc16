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
use fibre_core::{Awaited, Limit, Outcome, Resume, ShortGuard, ShortLock, Waiter, park_until};
use std::fmt;
use std::ptr;

/// What protects a list and the state that goes with it.
pub type Locked<S> = ShortLock<S>;

/// How often the first one in a list lets others be favoured.
const MOST_FAVOURED: u8 = 8;

/// One who waits, in its own frame.
pub struct Node {
    /// Whom to wake. Written when the node enters a list.
    waiter: Cell<*const Waiter>,
    /// The one that has waited a little longer; for the first one, the last one.
    before: Cell<*const Node>,
    /// The one that has waited a little less; for the last one, the first one.
    behind: Cell<*const Node>,
    /// What wakers may look at before they resume it.
    shown: Cell<*const ()>,
    /// Whether the node is in a list.
    linked: Cell<bool>,
    /// Whether those who have this list's lock are the only ones that can end the wait.
    alone: Cell<bool>,
    /// How often another one was favoured while it was the first.
    passed_over: Cell<u8>,
}

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
        }
    }

    /// Whether it is in a list. Under that list's lock.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.linked.get()
    }

    /// Lets wakers see something of the one who waits ([`WaitList::claim_first_showing`]). It is
    /// said before the node enters a list.
    pub fn show<T>(&self, shown: *const T) {
        self.shown.set(shown.cast());
    }

    /// Says that the wait ends by a claim from the list that the node enters next, and by
    /// nothing else: a claim is cheaper then.
    ///
    /// # Safety
    ///
    /// It is so: the wait has no limit, and its waiter stands in no other list.
    pub unsafe fn set_alone(&self, alone: bool) {
        self.alone.set(alone);
    }

    /// Tries to end the wait, for the holder of the list's lock who has just taken it out.
    ///
    /// # Safety
    ///
    /// The node has been in the list until now.
    unsafe fn claim(&self, token: u32) -> Option<Resume> {
        // SAFETY: a listed node's waiter is alive; if it is alone, nobody but us can reach it.
        unsafe {
            let waiter = &*self.waiter.get();
            if self.alone.get() {
                Some(waiter.claim_alone(token))
            } else {
                waiter.claim(token)
            }
        }
    }
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Node {
    fn end_of_frame(&mut self) {
        self.waiter.end_of_frame();
        self.before.end_of_frame();
        self.behind.end_of_frame();
        self.shown.end_of_frame();
        self.linked.end_of_frame();
        self.alone.end_of_frame();
        self.passed_over.end_of_frame();
    }
}

/// The list, a ring. See the module text. Empty, it is all zeros.
#[derive(Debug)]
pub struct WaitList {
    /// The one that has waited longest; null if nobody waits.
    first: *const Node,
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

    /// Whether nobody waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Takes out the one that has waited longest and who has not given
    /// up meanwhile. Resume it after the lock is released.
    #[inline]
    #[must_use]
    pub fn claim_first(&mut self, token: u32) -> Option<Resume> {
        loop {
            // SAFETY: in the list, hence alive; we are under its lock.
            let node = unsafe { self.first.as_ref()? };
            self.unlink(node);
            // SAFETY: just taken out.
            if let Some(resume) = unsafe { node.claim(token) } {
                return Some(resume);
            }
            if planted("wait list: a waker that loses its claim goes") {
                return None;
            }
        }
    }

    /// [`claim_first`](Self::claim_first) with a token that follows from what the one who waits
    /// shows, which is returned, too: until it is resumed, that is as it was.
    #[inline]
    pub fn claim_first_showing(
        &mut self,
        token: impl Fn(*const ()) -> u32,
    ) -> Option<(Resume, *const ())> {
        loop {
            // SAFETY: in the list, hence alive; we are under its lock.
            let node = unsafe { self.first.as_ref()? };
            self.unlink(node);
            let shown = node.shown.get();
            // SAFETY: just taken out.
            if let Some(resume) = unsafe { node.claim(token(shown)) } {
                return Some((resume, shown));
            }
        }
    }

    /// Takes out the first one that is favoured, of so many that have waited longest, and has
    /// not given up meanwhile; if there is none of these, the one that has waited longest. As
    /// [`claim_first`](Self::claim_first).
    #[must_use]
    pub fn claim_favoured(
        &mut self,
        token: u32,
        depth: usize,
        favour: impl Fn(&Waiter) -> bool,
    ) -> Option<Resume> {
        let mut next = self.first;
        // SAFETY: in the list, hence alive; we are under its lock.
        let first = unsafe { next.as_ref()? };
        if first.passed_over.get() == MOST_FAVOURED {
            return self.claim_first(token);
        }
        for _ in 0..depth {
            // SAFETY: in the list, hence alive; we are under its lock. So is its waiter.
            let Some(node) = (unsafe { next.as_ref() }) else {
                break;
            };
            next = node.behind.get();
            // SAFETY: as above.
            if favour(unsafe { &*node.waiter.get() }) {
                if !ptr::eq(node, first) {
                    first.passed_over.set(first.passed_over.get() + 1);
                }
                self.unlink(node);
                // SAFETY: just taken out.
                if let Some(resume) = unsafe { node.claim(token) } {
                    return Some(resume);
                }
                break;
            }
            if ptr::eq(next, self.first) {
                break;
            }
        }
        self.claim_first(token)
    }

    /// Whether there is a first one, and it is like this.
    #[must_use]
    pub fn first_is(&self, like: impl FnOnce(&Waiter) -> bool) -> bool {
        // SAFETY: in the list, hence alive; we are under its lock. So is its waiter.
        unsafe { self.first.as_ref() }.is_some_and(|first| like(unsafe { &*first.waiter.get() }))
    }

    /// Takes out all who have not given up, to be resumed after the lock is released.
    pub fn claim_all(&mut self, token: u32) -> Claimed {
        let mut claimed = Claimed::none();
        // SAFETY: as in `claim_first`; who has been claimed stays until it is resumed.
        while let Some(node) = unsafe { self.first.as_ref() } {
            self.unlink(node);
            // SAFETY: just taken out.
            if unsafe { node.claim(token) }.is_some() {
                claimed.append(node);
            }
        }
        claimed
    }

    /// What the one shows that has waited longest: null, unless it entered by
    /// [`Place::LastShowing`].
    #[must_use]
    pub fn first_shows(&self) -> Option<*const ()> {
        // SAFETY: in the list, hence alive; we are under its lock.
        unsafe { self.first.as_ref() }.map(|first| first.shown.get())
    }

    /// Takes out the one that has waited longest, if any, and adds it to `claimed` unless it has
    /// given up; says whether it did.
    pub fn claim_first_of_many(&mut self, token: u32, claimed: &mut Claimed) -> bool {
        // SAFETY: as in `claim_first`; who has been claimed stays until it is resumed.
        let Some(node) = (unsafe { self.first.as_ref() }) else {
            return false;
        };
        self.unlink(node);
        // SAFETY: just taken out.
        let won = unsafe { node.claim(token) }.is_some();
        if won {
            claimed.append(node);
        }
        won
    }

    /// Puts a node in, which stays put until it is out again.
    pub fn insert(&mut self, node: &Node, waiter: *const Waiter, place: Place) {
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

    /// Takes a node out of the list, wherever it stands.
    pub fn unlink(&mut self, node: &Node) {
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

/// Those whom [`WaitList::claim_all`] took out: a chain through their frames. It lets all of
/// them go on when it is dropped, and touches the list no more.
#[must_use = "dropping it under the lock wakes all under the lock"]
#[derive(Debug)]
pub struct Claimed {
    /// The next to be resumed; null if there is none.
    first: *const Node,
    /// The last one, if there is a first.
    last: *const Node,
    /// How many were claimed.
    length: usize,
}

impl Claimed {
    /// Nobody.
    pub const fn none() -> Self {
        Self {
            first: ptr::null(),
            last: ptr::null(),
            length: 0,
        }
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Lets all of them go on, in the order in which they came. Blocks nothing.
    pub fn resume(self) {
        drop(self);
    }

    /// One more.
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
        // SAFETY: claimed and not resumed, hence alive; what follows it is read before it is
        // resumed, which we do for the claim that `claim_all` made.
        unsafe {
            while let Some(node) = self.first.as_ref() {
                self.first = node.behind.get();
                (*node.waiter.get()).claimed().resume();
                if planted("wait list: a chain is followed through a frame that was let go") {
                    self.first = node.behind.get();
                }
            }
        }
    }
}

/// Where one who waits enters a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind all others: who has just come.
    Last,
    /// The same, for one who lets wakers see this ([`WaitList::first_shows`]).
    LastShowing(*const ()),
    /// Before all others: who had its turn, and was woken in vain.
    First,
}

/// How one who waits enters a list, and what it is seen to wait for.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    place: Place,
    awaited: Awaited,
}

impl Spot {
    /// To wait for this, at this place.
    #[inline]
    #[must_use]
    pub fn new(awaited: Awaited, place: Place) -> Self {
        Self { place, awaited }
    }
}

/// Waits for `awaited` at the end of a list, unless `enter` finds that there is no need to.
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
    awaited: Awaited,
    locked: &Locked<S>,
    list: impl Fn(&mut S) -> &mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut S) -> bool,
    after: impl FnOnce(),
) -> Outcome {
    // SAFETY: passed on.
    unsafe {
        wait_at(
            Spot::new(awaited, Place::Last),
            locked,
            list,
            limit,
            enter,
            after,
        )
    }
}

/// [`wait`] at either end of the list.
///
/// # Safety
///
/// As for [`wait`].
#[inline]
pub unsafe fn wait_at<S>(
    spot: Spot,
    locked: &Locked<S>,
    list: impl Fn(&mut S) -> &mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut S) -> bool,
    after: impl FnOnce(),
) -> Outcome {
    // SAFETY: passed on.
    unsafe { wait_or_leave(spot, locked, list, limit, enter, after, |_, _| ()) }
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
    spot: Spot,
    locked: &Locked<S>,
    list: impl Fn(&mut S) -> &mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut S) -> bool,
    after: impl FnOnce(),
    leave: impl FnOnce(&mut S, bool),
) -> Outcome {
    let lock = || locked.lock();
    let list = |state: &mut ShortGuard<'_, S>| ptr::from_mut(list(state));
    let enter = |state: &mut ShortGuard<'_, S>| enter(state);
    let leave = |state: &mut ShortGuard<'_, S>, linked| leave(state, linked);
    // SAFETY: passed on.
    unsafe { wait_under(spot, lock, list, limit, enter, after, leave) }
}

/// [`wait_or_leave`] under a lock of another kind, whose guards `lock` makes.
///
/// # Safety
///
/// As for [`wait`]; `list` yields what the guard gives access to.
#[inline]
pub unsafe fn wait_under<G>(
    spot: Spot,
    lock: impl Fn() -> G,
    list: impl Fn(&mut G) -> *mut WaitList,
    limit: Limit,
    enter: impl FnOnce(&mut G) -> bool,
    after: impl FnOnce(),
    leave: impl FnOnce(&mut G, bool),
) -> Outcome {
    let node = Framed::new(Node::new());
    // With a limit, others than wakers can end the wait.
    node.alone.set(limit == Limit::None);
    let publish = |waiter: &Waiter| {
        let mut guard = lock();
        if !enter(&mut guard) {
            return false;
        }
        // SAFETY: the guard's.
        unsafe { (*list(&mut guard)).insert(&node, waiter, spot.place) };
        drop(guard);
        after();
        true
    };
    let withdraw = |_: &Waiter| {
        let mut guard = lock();
        // A waker may have popped it, and lost the claim.
        let linked = node.linked.get();
        if linked && !planted("wait list: who gives up stays in it") {
            // SAFETY: the guard's.
            unsafe { (*list(&mut guard)).unlink(&node) };
        }
        leave(&mut guard, linked);
    };
    // SAFETY: the waiter is reached by its node only, under the lock; a waker takes the
    // node out before it claims, and `withdraw` takes it out if nobody has claimed.
    unsafe { park_until(spot.awaited, limit, publish, withdraw) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibre_core::WaitKind;
    use std::sync::Arc;
    use std::thread;

    /// Threads that wait, in the order in which they came, and what woke each.
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
                    let spot = Spot::new(Awaited::placeless(WaitKind::Other), place);
                    // SAFETY: the list stays, and the tests resume whom they claim.
                    let outcome =
                        unsafe { wait_at(spot, &list, |list| list, Limit::None, |_| true, after) };
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
        // Every other one, and not the first one.
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
                list.insert(node, ptr::null(), Place::Last);
            }
            for (left, index) in order.into_iter().enumerate() {
                assert!(!list.is_empty() && nodes[index].is_linked(), "{left}");
                list.unlink(&nodes[index]);
            }
            assert!(list.is_empty());
        }
    }
}
