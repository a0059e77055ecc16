//! The two-ended queue: a deque under a lock.
//!
//! ```text
//!   push_front ──►                       ◄── push
//!                  head  …  …  …  tail
//!          pop ◄──                       ──► pop_last
//! ```
//!
//! Schedulers of actors and of tasks use such a queue. The owner puts new work at the head, and
//! takes from there, so it goes on with its newest work, which is in its caches. Thieves take from
//! the tail, far from the owner. Fibres pushed at the tail come out at the head in their order, so
//! a queue that is used like the others behaves like them.
//!
//! **Starvation.** An owner that makes new work all the time would never reach older work. So one
//! push of [`TURNS`] at the head of a queue that is not empty goes to the tail instead. The pop
//! that follows takes what was behind.
//!
//! **Links.** A control block has room for one link, and taking from both ends needs two. So a
//! node's link holds the exclusive or of the addresses of its two neighbours, zero where there is
//! none. A walk that comes from one neighbour finds the other; both ends are known, and each is a
//! place to begin. The word is no pointer, so the addresses of nodes are exposed when they are
//! pushed, and become pointers again by that.
//!
//! The entry holds the node at the head. A push into an empty queue, a push at the head and a pop
//! change it, all under the lock; arming and disarming exchange null and the mark without it.
//! Producers wait for the lock. Consumers only try it for as long as a short spin, since its holder
//! may have lost its CPU.
//!
//! Sources: the deques of the actor framework CAF, as chapter 5 of the thesis uses them; for the
//! links Knuth, "The Art of Computer Programming", section 2.2.4, exercise 18.
//!
//! # Memory ordering
//!
//! Links are handed on by the lock. For the order with other words see [`Entry`]: a push that does
//! not change the entry comes after the swap of the node at the head, by the lock.

use crate::queue::entry::Entry;
use crate::queue::link::Link;
use crate::queue::runnable::Runnable;
use crate::queue::{Popped, Pushed};
use crate::sync::{Mutex, MutexGuard, Ordering, SPIN_LIMIT, planted, spin_hint};
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};

/// Of so many pushes at the head of a queue with something in it, one goes to the tail.
const TURNS: u32 = 64;

/// The queue with two ends.
#[derive(Debug)]
#[repr(C)]
pub(in crate::queue) struct TwoEnded {
    /// The node at the head, if any. First, as in every kind.
    entry: CachePadded<Entry>,
    /// The rest, and the lock for all of it.
    rest: CachePadded<Mutex<Rest>>,
}

/// What the lock guards besides the entry and the links.
#[derive(Debug, Default)]
struct Rest {
    /// The node at the tail; none in an empty queue.
    tail: Option<NonNull<Link>>,
    /// How many pushes have gone before others since the last one that did not.
    turns: u32,
}

// SAFETY: a pointer to a node, which queues hand from thread to thread.
unsafe impl Send for Rest {}

/// The address of a node as a link has it: zero for none.
fn address(node: Option<NonNull<Link>>) -> usize {
    node.map_or(0, |node| node.addr().get())
}

/// The other neighbour of a node in the queue, one of whose neighbours is `known`.
fn neighbour(link: &Link, known: Option<NonNull<Link>>) -> Option<NonNull<Link>> {
    let other = address(link.next(Ordering::Relaxed)) ^ address(known);
    NonNull::new(ptr::with_exposed_provenance_mut(other))
}

/// Makes these two the neighbours of a node.
fn set_neighbours(link: &Link, one: Option<NonNull<Link>>, other: Option<NonNull<Link>>) {
    let both = ptr::without_provenance_mut(address(one) ^ address(other));
    link.set_next(both, Ordering::Relaxed);
}

/// Gives the node at an end the neighbour `new` in the place of `old`. The caller has the lock.
///
/// # Safety
///
/// The node is in the queue.
unsafe fn replace_neighbour(
    end: NonNull<Link>,
    old: Option<NonNull<Link>>,
    new: Option<NonNull<Link>>,
) {
    // SAFETY: a node in the queue is valid until it is popped, for which the lock is needed.
    let link = unsafe { end.as_ref() };
    set_neighbours(link, neighbour(link, old), new);
}

impl TwoEnded {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self {
            entry: CachePadded::new(Entry::new()),
            rest: CachePadded::new(Mutex::new(Rest::default())),
        }
    }

    /// Whether it is empty, and whether its consumer sleeps.
    #[inline]
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Appends a fibre at the tail. Any thread; waits for the lock.
    pub(super) fn push(&self, runnable: Runnable) -> Pushed {
        runnable.link().check_unlinked();
        let node = exposed(&runnable);
        let mut rest = self.rest.lock();
        self.push_at_tail(&mut rest, runnable.link(), node)
    }

    /// Puts a fibre at the head, or at the tail if it is time for what lies behind. Any thread;
    /// waits for the lock.
    pub(super) fn push_front(&self, runnable: Runnable) -> Pushed {
        runnable.link().check_unlinked();
        let node = exposed(&runnable);
        let too_early = planted("two-ended: a push at the head looks before it has the lock");
        let seen = too_early.then(|| self.entry.node());
        let mut rest = self.rest.lock();
        let head = seen.unwrap_or_else(|| self.entry.node());
        let Some(head) = head.filter(|_| rest.goes_first()) else {
            return self.push_at_tail(&mut rest, runnable.link(), node);
        };
        set_neighbours(runnable.link(), None, Some(head));
        // SAFETY: the head is in the queue, and this thread has the lock.
        unsafe { replace_neighbour(head, None, Some(node)) };
        self.entry.swap(node).1
    }

    /// Appends a node at the tail.
    fn push_at_tail(&self, rest: &mut Rest, link: &Link, node: NonNull<Link>) -> Pushed {
        let before = rest.tail.replace(node);
        set_neighbours(link, before, None);
        match before {
            Some(before) => {
                // SAFETY: the tail is in the queue, and this thread has the lock.
                unsafe { replace_neighbour(before, None, Some(node)) };
                Pushed::Quiet
            }
            None => self.entry.swap(node).1,
        }
    }

    /// Takes the node at the head out.
    pub(super) fn pop(&self) -> Popped<NonNull<Link>> {
        let Some(mut rest) = self.try_lock() else {
            return Popped::InFlight;
        };
        let Some(node) = self.entry.node() else {
            return Popped::Empty;
        };
        // SAFETY: a node in the queue is valid until it is popped.
        match neighbour(unsafe { node.as_ref() }, None) {
            Some(next) => {
                // SAFETY: the node behind the head is in the queue.
                unsafe { replace_neighbour(next, Some(node), None) };
                let _ = self.entry.swap(next);
            }
            None => self.empty(&mut rest, node),
        }
        // SAFETY: just taken out, so it is the caller's.
        unsafe { node.as_ref() }.unlink();
        Popped::Node(node)
    }

    /// Takes the node at the tail out.
    pub(super) fn pop_last(&self) -> Popped<NonNull<Link>> {
        let Some(mut rest) = self.try_lock() else {
            return Popped::InFlight;
        };
        let Some(node) = rest.tail else {
            return Popped::Empty;
        };
        // SAFETY: a node in the queue is valid until it is popped.
        match neighbour(unsafe { node.as_ref() }, None) {
            Some(before) => {
                // SAFETY: the node before the tail is in the queue.
                unsafe { replace_neighbour(before, Some(node), None) };
                rest.tail = Some(before);
            }
            None => self.empty(&mut rest, node),
        }
        // SAFETY: just taken out, so it is the caller's.
        unsafe { node.as_ref() }.unlink();
        Popped::Node(node)
    }

    /// Takes out the last node.
    fn empty(&self, rest: &mut Rest, node: NonNull<Link>) {
        rest.tail = None;
        if !planted("two-ended: the last node stays in the entry") {
            self.entry.clear(node);
        }
    }

    /// Takes the lock, if it comes free within a short spin.
    fn try_lock(&self) -> Option<MutexGuard<'_, Rest>> {
        (0..SPIN_LIMIT).find_map(|_| {
            let guard = self.rest.try_lock();
            if guard.is_none() {
                spin_hint();
            }
            guard
        })
    }
}

impl Rest {
    /// Whether the next push at the head may go before the others.
    fn goes_first(&mut self) -> bool {
        self.turns = (self.turns + 1) % TURNS;
        self.turns != 0
    }
}

/// The node of a fibre, whose address may become a pointer again.
fn exposed(runnable: &Runnable) -> NonNull<Link> {
    let node = runnable.node();
    node.as_ptr().expose_provenance();
    node
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Pushes a link of a test at one end.
    fn push(queue: &TwoEnded, link: &Link, at_head: bool) -> Pushed {
        // SAFETY: the links outlive the queue, and each is in it once.
        let runnable = unsafe { Runnable::new(NonNull::from(link)) };
        if at_head {
            queue.push_front(runnable)
        } else {
            queue.push(runnable)
        }
    }

    /// The place of a popped link among these.
    fn place(popped: Popped<NonNull<Link>>, links: &[Link]) -> Option<usize> {
        let node = popped.node()?;
        links.iter().position(|link| NonNull::from(link) == node)
    }

    #[test]
    fn each_end_has_its_order() {
        let (queue, links) = (TwoEnded::new(), [(); 6].map(|()| Link::new()));
        // At the head 2, 1, 0, and at the tail 3, 4, 5.
        for (number, link) in links.iter().enumerate() {
            assert_eq!(push(&queue, link, number < 3), Pushed::Quiet);
        }
        let pops = [
            queue.pop(),
            queue.pop_last(),
            queue.pop_last(),
            queue.pop(),
            queue.pop_last(),
            queue.pop(),
        ];
        let order = pops.map(|popped| place(popped, &links));
        assert_eq!(order, [2, 5, 4, 1, 3, 0].map(Some));
        assert!(queue.entry().is_empty());
        assert_eq!(
            (queue.pop(), queue.pop_last()),
            (Popped::Empty, Popped::Empty)
        );
    }

    /// Whatever is pushed and popped where, the queue is what a `VecDeque` is.
    #[test]
    fn it_is_a_deque() {
        let (queue, links) = (TwoEnded::new(), [(); 8].map(|()| Link::new()));
        let (mut deque, mut outside) = (std::collections::VecDeque::new(), (0..8).collect());
        let mut state = 1_u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (at_head, pushes) = (state >> 31 == 1, state >> 30 & 1 == 1);
            // Only pushes at the tail have no exception.
            let at_head_of_something = at_head && !deque.is_empty();
            let outside: &mut Vec<usize> = &mut outside;
            match pushes.then(|| outside.pop()).flatten() {
                Some(number) => {
                    let turn = queue.rest.lock().turns;
                    let _ = push(&queue, &links[number], at_head);
                    if at_head_of_something && turn != TURNS - 1 {
                        deque.push_front(number);
                    } else {
                        deque.push_back(number);
                    }
                }
                None => {
                    let (popped, wanted) = if at_head {
                        (queue.pop(), deque.pop_front())
                    } else {
                        (queue.pop_last(), deque.pop_back())
                    };
                    assert_eq!(place(popped, &links), wanted);
                    outside.extend(wanted);
                }
            }
            assert_eq!(queue.entry().is_empty(), deque.is_empty());
        }
    }

    /// An owner that always has something new comes to what lies behind all the same.
    #[test]
    fn what_lies_behind_has_its_turn() {
        let (queue, old) = (TwoEnded::new(), Link::new());
        let new: Vec<Link> = (0..TURNS).map(|_| Link::new()).collect();
        let _ = push(&queue, &old, false);
        let old = Popped::Node(NonNull::from(&old));
        let came = new.iter().position(|link| {
            let _ = push(&queue, link, true);
            queue.pop() == old
        });
        assert_eq!(came, Some(new.len() - 1));
    }

    /// The consumer's mark is swapped out by the first push, at whichever end.
    #[test]
    fn a_push_at_either_end_wakes() {
        for at_head in [false, true] {
            let (queue, links) = (TwoEnded::new(), [(); 2].map(|()| Link::new()));
            assert!(queue.entry().arm());
            assert_eq!(queue.pop(), Popped::Empty);
            assert_eq!(push(&queue, &links[0], at_head), Pushed::WakeConsumer);
            assert_eq!(push(&queue, &links[1], at_head), Pushed::Quiet);
            assert!(!queue.entry().arm());
            let _ = (queue.pop(), queue.pop_last());
            assert!(queue.entry().arm());
        }
    }

    /// A consumer does not wait for a lock whose holder has lost its CPU.
    #[test]
    fn a_held_lock_is_told_from_emptiness() {
        let (queue, link) = (TwoEnded::new(), Link::new());
        let _ = push(&queue, &link, true);
        let held = queue.rest.lock();
        assert_eq!(
            (queue.pop(), queue.pop_last()),
            (Popped::InFlight, Popped::InFlight)
        );
        drop(held);
        assert_eq!(queue.pop_last(), Popped::Node(NonNull::from(&link)));
    }
}
