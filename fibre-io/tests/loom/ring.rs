//! Models of the ring's inbox: requests come while its thread wakes, goes to sleep, and ends.
//!
//! Run by `cargo xtask loom`. The word is the shipped one. The bell, which the kernel has, is a
//! number under a lock here, and a request is served when it has been taken out.

use fibre_core::model::{Shared, Watched, check, finds_bug, finds_planted};
use fibre_io::ring::inbox::{Chain, Duty, Inbox, Link};
use loom::sync::{Condvar, Mutex};
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

/// The bell: an eventfd.
#[derive(Default)]
struct Bell {
    count: Mutex<u32>,
    rings: Condvar,
}

impl Bell {
    /// Adds to the count.
    fn ring(&self) {
        *self.count.lock().unwrap() += 1;
        self.rings.notify_all();
    }

    /// Waits for it, and takes the count.
    fn wait(&self) {
        let mut count = self.count.lock().unwrap();
        while *count == 0 {
            count = self.rings.wait(count).unwrap();
        }
        *count = 0;
    }

    /// What the ring of a thread that has ended does as long as it is there: it is told of the
    /// count, or, planted, takes it.
    fn is_heard_by_an_old_ring(&self, takes: bool) {
        let mut count = self.count.lock().unwrap();
        if takes {
            *count = 0;
        }
    }
}

/// What callers and the thread share.
struct Ring {
    inbox: Inbox,
    bell: Bell,
    requests: [Request; 2],
}

impl Ring {
    /// A ring without a thread.
    fn new() -> Shared<Self> {
        Shared::new(Self {
            inbox: Inbox::default(),
            bell: Bell::default(),
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

/// Two callers bring a request each, and do what they have to. Both are served once.
fn two_callers(ring: Shared<Ring>, see_to: fn(&Ring, Duty)) {
    let caller = |number| move || see_to(ring.get(), ring.get().bring(number));
    let other = thread::spawn(caller(1));
    caller(0)();
    other.join().unwrap();
    assert_eq!(ring.get().served(), [1, 1]);
}

/// What a caller does where the thread stays until both are served.
fn to_patient_thread(ring: &Ring, duty: Duty) {
    match duty {
        Duty::Nothing => {}
        Duty::Wake => ring.bell.ring(),
        Duty::Start => ring.until_both_are_served(),
    }
}

/// Two requests come to a thread that sleeps without them.
fn two_come() {
    two_callers(Ring::new(), to_patient_thread);
}

/// The same, while the ring of the thread before is still there.
fn two_come_soon(old_takes: bool) {
    let ring = Ring::new();
    let old = thread::spawn(move || ring.get().bell.is_heard_by_an_old_ring(old_takes));
    two_callers(ring, to_patient_thread);
    old.join().unwrap();
}

/// Two requests come while the thread may end at any moment.
fn two_come_while_it_ends() {
    two_callers(Ring::new(), |ring, duty| {
        if duty == Duty::Start {
            ring.until_idle();
        }
    });
}

/// One caller cannot start a thread, and gives back what has come; another one comes meanwhile.
fn one_gives_up() {
    two_callers(Ring::new(), |ring, duty| {
        if duty == Duty::Start {
            ring.serve(ring.inbox.give_up());
        }
    });
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

#[test]
fn the_ring_of_a_thread_that_has_ended_takes_no_wake_up() {
    check(|| two_come_soon(false));
}

/// Planted: it reads the count, and does not only poll.
#[test]
fn planted_read_of_an_old_ring_is_found() {
    finds_bug(|| two_come_soon(true));
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
