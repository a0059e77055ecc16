//! How requests come to the ring's thread, and how that thread comes and goes.
//!
//! One word is the top of a stack of requests, or says what the thread does while there is none:
//!
//! ```text
//!   NO_THREAD ──push──► requests ◄──push── AWAKE ◄─take─ requests
//!       ▲                  │ ▲               │
//!       └──end── ASLEEP ◄──┼─┼─────sleep─────┘
//!                  └─push──┘ take
//! ```
//!
//! A caller that pushes onto an empty stack learns what the thread does, and sees to it: it starts
//! a thread, or wakes it, or knows that the thread will look. So no request lies there unseen. Only
//! one caller learns each time that there is no thread, so there are never two.
//!
//! The thread takes the whole stack at once, so a request that comes back to the same address harms
//! nobody. Requests lie in the frames of fibres that wait for them.
//!
//! # Memory ordering
//!
//! A push releases the request, and a take acquires all of them: each push is a read-modify-write
//! of the word, so it continues the release of those before it.

use fibre_core::sync::{AtomicPtr, Cell, Ordering, planted};
use std::ptr::{self, NonNull};

/// What the thread does while there is no request. None of these is an address.
const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const NO_THREAD: usize = 2;

/// A request's place in the list. Comes first in a larger value.
#[derive(Debug)]
pub struct Link {
    /// The one below in the stack, and later the one behind in the chain.
    next: Cell<*const Self>,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            next: Cell::new(ptr::null()),
        }
    }
}

/// What a caller has to do that has pushed a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the request may wait for it"]
pub enum Duty {
    /// Nothing: the thread will look.
    Nothing,
    /// It wakes the thread.
    Wake,
    /// It starts a thread, or gives the requests back by [`Inbox::give_up`].
    Start,
}

/// The word.
#[derive(Debug)]
pub struct Inbox(AtomicPtr<Link>);

impl Default for Inbox {
    fn default() -> Self {
        Self(AtomicPtr::new(word(NO_THREAD)))
    }
}

impl Inbox {
    /// Brings a request. Any thread.
    ///
    /// # Safety
    ///
    /// The request stays where it is until whoever has taken it out is done with it, and the
    /// pointer may be used for all of the value that the link is a part of.
    pub unsafe fn push(&self, link: NonNull<Link>) -> Duty {
        let mut top = self.0.load(Ordering::Relaxed);
        loop {
            let below = if is_link(top) { top } else { ptr::null_mut() };
            // SAFETY: it is the caller's until it is in the stack.
            unsafe { link.as_ref() }.next.set(below);
            let new = link.as_ptr();
            match self
                .0
                .compare_exchange(top, new, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        match top.addr() {
            ASLEEP => Duty::Wake,
            NO_THREAD => Duty::Start,
            _ => Duty::Nothing,
        }
    }

    /// All requests that have come, oldest first; the thread is awake from here on. Its only.
    #[must_use]
    pub fn take(&self) -> Chain {
        self.replace(AWAKE)
    }

    /// Says that the thread sleeps from here on, unless requests have come. The thread's only.
    #[must_use]
    pub fn sleep(&self) -> bool {
        if planted("ring: the thread sleeps though a request has come") {
            self.0.swap(word(ASLEEP), Ordering::AcqRel);
            return true;
        }
        self.exchange(AWAKE, ASLEEP)
    }

    /// Says that a thread that sleeps has ended, unless requests have come. The thread's only.
    #[must_use]
    pub fn end(&self) -> bool {
        if planted("ring: the thread ends without a look at the word") {
            return true;
        }
        self.exchange(ASLEEP, NO_THREAD)
    }

    /// Says that there is no thread, and returns the requests that have come, oldest first. For the
    /// thread, or for whoever could not start it.
    #[must_use]
    pub fn give_up(&self) -> Chain {
        self.replace(NO_THREAD)
    }

    /// Takes all requests, and leaves a state.
    fn replace(&self, state: usize) -> Chain {
        let mut at = self.0.swap(word(state), Ordering::AcqRel).cast_const();
        let mut chain = Chain::default();
        if !is_link(at) {
            return chain;
        }
        chain.last = at;
        while !at.is_null() {
            // SAFETY: it was in the stack, and is the caller's now.
            let below = unsafe { (*at).next.replace(chain.first) };
            (chain.first, at) = (at, below);
        }
        chain
    }

    /// Changes one state to another.
    fn exchange(&self, from: usize, to: usize) -> bool {
        let (from, to) = (word(from), word(to));
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

/// A state as the word has it.
fn word(state: usize) -> *mut Link {
    ptr::without_provenance_mut(state)
}

/// Whether the word is the address of a request.
fn is_link(top: *const Link) -> bool {
    top.addr() > NO_THREAD
}

/// Requests that have been taken out, oldest first.
#[derive(Debug)]
pub struct Chain {
    first: *const Link,
    last: *const Link,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            first: ptr::null(),
            last: ptr::null(),
        }
    }
}

impl Chain {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Takes the first one out.
    pub fn pop(&mut self) -> Option<NonNull<Link>> {
        let first = NonNull::new(self.first.cast_mut())?;
        // SAFETY: its fibre waits until somebody is done with it.
        self.first = unsafe { first.as_ref() }.next.get();
        Some(first)
    }

    /// Appends a request.
    pub fn push(&mut self, link: NonNull<Link>) {
        // SAFETY: whoever brought it keeps it in place until somebody is done with it.
        unsafe { link.as_ref() }.next.set(ptr::null());
        self.append(Self {
            first: link.as_ptr(),
            last: link.as_ptr(),
        });
    }

    /// Appends another chain.
    pub fn append(&mut self, other: Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.first = other.first;
        } else {
            // SAFETY: its fibre waits until somebody is done with it.
            unsafe { &*self.last }.next.set(other.first);
        }
        self.last = other.last;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The places of a chain's links among these.
    fn places(mut chain: Chain, links: &[Link]) -> Vec<usize> {
        let popped = std::iter::from_fn(|| chain.pop());
        let place = |link: NonNull<Link>| {
            let same = |other: &Link| ptr::eq(other, link.as_ptr());
            links.iter().position(same).unwrap_or(usize::MAX)
        };
        popped.map(place).collect()
    }

    #[test]
    fn requests_are_taken_in_their_order() {
        let (inbox, links) = (Inbox::default(), [(); 5].map(|()| Link::default()));
        // SAFETY: the links stay where they are.
        let push = |i: usize| unsafe { inbox.push(NonNull::from(&links[i])) };
        assert_eq!(push(0), Duty::Start);
        assert_eq!(push(1), Duty::Nothing);
        let mut backlog = inbox.take();
        assert_eq!(push(2), Duty::Nothing, "the thread is awake");
        assert!(!inbox.sleep(), "there is a request");
        backlog.append(inbox.take());
        backlog.append(inbox.take());
        assert!(inbox.sleep() && !inbox.sleep());
        assert_eq!((push(3), push(4)), (Duty::Wake, Duty::Nothing));
        assert!(!inbox.end(), "there are requests");
        backlog.append(inbox.take());
        assert_eq!(places(backlog, &links), [0, 1, 2, 3, 4]);
        assert!(!inbox.end(), "the thread is awake");
        assert!(inbox.sleep() && inbox.end());
        assert_eq!(push(1), Duty::Start);
        assert_eq!(push(0), Duty::Nothing);
        assert_eq!(places(inbox.give_up(), &links), [1, 0]);
        assert_eq!(push(0), Duty::Start, "the one that gave up has no thread");
    }
}
