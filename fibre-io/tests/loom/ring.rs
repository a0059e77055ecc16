//! Models of the ring's inbox: requests come while its thread wakes, goes to sleep, and ends.
//!
//! Run by `cargo xtask loom`. The word is the shipped one. The kernel, which wakes the thread, is a
//! loom notification here, and a request is served when it has been taken out.

use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_io::ring::inbox::{Chain, Duty, Inbox, Link};
use loom::sync::Notify;
use loom::thread;
use std::ptr::NonNull;

/// A request, in the frame of somebody who waits for it.
#[derive(Default)]
#[repr(C)]
struct Request {
    /// Comes first: a pointer to it is a pointer to the whole.
    link: Link,
    /// How often it has been served.
    served: Watched,
}

/// What callers and the thread share.
struct Ring {
    inbox: Inbox,
    bell: Notify,
    requests: [Request; 2],
}

impl Ring {
    /// A ring without a thread.
    fn new() -> Shared<Self> {
        Shared::new(Self {
            inbox: Inbox::default(),
            bell: Notify::new(),
            requests: Default::default(),
        })
    }

    /// Brings a request; returns what is to be done.
    fn bring(&self, number: usize) -> Duty {
        // SAFETY: requests stay until the model ends.
        unsafe {
            self.inbox
                .push(NonNull::from(&self.requests[number]).cast())
        }
    }

    /// Serves requests; returns how many.
    fn serve(&self, mut chain: Chain) -> u32 {
        let mut count = 0;
        while let Some(link) = chain.pop() {
            // SAFETY: only requests are brought, and they stay.
            unsafe { link.cast::<Request>().as_ref() }.served.count();
            count += 1;
        }
        count
    }

    /// A thread that is woken only by the bell, until it has served both.
    fn until_both_are_served(&self) {
        let mut served = 0;
        loop {
            served += self.serve(self.inbox.take());
            if served == 2 {
                return;
            }
            if self.inbox.sleep() {
                self.bell.wait();
            }
        }
    }

    /// A thread that never has patience, so it ends as soon as it may.
    fn until_idle(&self) {
        loop {
            self.serve(self.inbox.take());
            if self.inbox.sleep() && self.inbox.end() {
                return;
            }
        }
    }

    /// How often each request was served.
    fn served(&self) -> [u32; 2] {
        [&self.requests[0], &self.requests[1]].map(|request| request.served.get())
    }
}

/// Two requests come to a thread that sleeps without them.
fn two_come() {
    let ring = Ring::new();
    let caller = |number| {
        move || match ring.get().bring(number) {
            Duty::Nothing => {}
            Duty::Wake => ring.get().bell.notify(),
            Duty::Start => ring.get().until_both_are_served(),
        }
    };
    let other = thread::spawn(caller(1));
    caller(0)();
    other.join().unwrap();
    assert_eq!(ring.get().served(), [1, 1]);
}

/// Two requests come while the thread may end at any moment.
fn two_come_while_it_ends() {
    let ring = Ring::new();
    let caller = |number| {
        move || {
            if ring.get().bring(number) == Duty::Start {
                ring.get().until_idle();
            }
        }
    };
    let other = thread::spawn(caller(1));
    caller(0)();
    other.join().unwrap();
    assert_eq!(ring.get().served(), [1, 1]);
}

/// One caller cannot start a thread, and gives back what has come; another one comes meanwhile.
fn one_gives_up() {
    let ring = Ring::new();
    let caller = |number| {
        move || {
            if ring.get().bring(number) == Duty::Start {
                ring.get().serve(ring.get().inbox.give_up());
            }
        }
    };
    let other = thread::spawn(caller(1));
    caller(0)();
    other.join().unwrap();
    assert_eq!(ring.get().served(), [1, 1]);
}

#[test]
fn a_thread_that_sleeps_is_woken() {
    check(two_come);
}

#[test]
fn no_request_comes_too_late_for_a_thread_that_ends() {
    check(two_come_while_it_ends);
}

#[test]
fn what_is_given_back_is_given_back_once() {
    check(one_gives_up);
}

/// Planted: the thread sleeps, and a request that has just come is lost.
#[test]
fn planted_sleep_over_a_request_is_found() {
    finds_planted(
        "ring: the thread sleeps though a request has come",
        two_come,
    );
}

/// Planted: the thread ends, and the word does not say so.
#[test]
fn planted_silent_end_is_found() {
    finds_planted(
        "ring: the thread ends without a look at the word",
        two_come_while_it_ends,
    );
}
