//! Models of the gate's word: a poller that delivers edges, and readers that try,
//! find nothing, and wait.
//!
//! Run by `cargo xtask loom`. The list of waiters is a lock with a condition here; the
//! word and the order of steps are those of `gate.rs` and `source.rs`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

use fibre_core::model::{self, finds_bug};
use fibre_io::gate::word::{Delivered, GateWord, News, Snapshot};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A socket: bytes in the kernel, the gate's word, and its list.
struct Socket {
    /// What the kernel has.
    bytes: AtomicUsize,
    /// The deadline of those who wait, as a number.
    deadline: AtomicUsize,
    word: GateWord,
    /// How many wait, and how many of them have been woken.
    list: Mutex<(usize, usize)>,
    woken: Condvar,
}

/// What to do wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Clear the readiness whatever came since the snapshot.
    ClearBlindly,
    /// Wait without asking whether an event has come.
    WaitBlindly,
    /// Wait without asking whether the deadline is still the same.
    KeepDeadline,
    /// Clear the flag of the waiters when the list has been let go.
    ClearLate,
}

impl Socket {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicUsize::new(0),
            deadline: AtomicUsize::new(0),
            word: GateWord::new(),
            list: Mutex::new((0, 0)),
            woken: Condvar::new(),
        })
    }

    /// A byte arrives, and the poller delivers the edge.
    fn arrive(&self) {
        self.bytes.fetch_add(1, Ordering::Release);
        if self.word.event(News::default()) == Delivered::Waiters {
            self.wake_one();
        }
    }

    /// `Gate::wake_one`.
    fn wake_one(&self) {
        let mut list = self.list.lock().unwrap();
        if list.0 > 0 {
            list.0 -= 1;
            list.1 += 1;
            self.woken.notify_one();
        } else {
            self.word.no_waiters();
        }
    }

    /// `Gate::pass_on`; planted: says that nobody waits when somebody may do so again.
    fn pass_on(&self, planted: Planted) {
        if !self.word.snapshot().has_waiters() {
            return;
        }
        if planted != Planted::ClearLate {
            return self.wake_one();
        }
        if self.list.lock().unwrap().0 == 0 {
            self.word.no_waiters();
        }
    }

    /// The deadline changes.
    fn set_deadline(&self, deadline: usize) {
        self.deadline.store(deadline, Ordering::Relaxed);
        if self.word.nudge() == Delivered::Waiters {
            self.wake_one();
        }
    }

    /// The first part of `Gate::wait`; says whether the reader is now in the list.
    fn enter(&self, planted: Planted) -> bool {
        self.enter_until(self.deadline.load(Ordering::Relaxed), planted)
    }

    /// The same, for one who knows the deadline already.
    fn enter_until(&self, deadline: usize, planted: Planted) -> bool {
        let mut list = self.list.lock().unwrap();
        let ready = !self.word.begin_wait() && planted != Planted::WaitBlindly;
        let same = self.deadline.load(Ordering::Relaxed) == deadline;
        let wait = !ready && (same || planted == Planted::KeepDeadline);
        if wait {
            list.0 += 1;
        } else if list.0 == 0 {
            self.word.no_waiters();
        }
        wait
    }

    /// The second part: sleeps until woken.
    fn sleep(&self) {
        let mut list = self.list.lock().unwrap();
        while list.1 == 0 {
            list = self.woken.wait(list).unwrap();
        }
        list.1 -= 1;
    }

    /// The system call: takes one byte, if there is one.
    fn take(&self) -> bool {
        self.bytes
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |bytes| {
                bytes.checked_sub(1)
            })
            .is_ok()
    }

    /// `Source::io`, reading one byte, until it is read (`true`) or the reader is in the
    /// list.
    fn try_read(&self, planted: Planted) -> bool {
        loop {
            let seen = self.word.snapshot();
            if !seen.is_ready() {
                if self.enter(planted) {
                    return false;
                }
                continue;
            }
            if self.take() {
                if self.word.snapshot().has_waiters() {
                    self.wake_one();
                }
                return true;
            }
            self.drained(seen, planted);
        }
    }

    /// Reads one byte, for real.
    fn read(&self) {
        while !self.try_read(Planted::Nothing) {
            self.sleep();
        }
    }

    /// The call would have blocked.
    fn drained(&self, seen: Snapshot, planted: Planted) {
        if planted == Planted::ClearBlindly {
            while !self.word.drained(self.word.snapshot(), true) {}
        } else {
            let _ = self.word.drained(seen, true);
        }
    }
}

/// A reader and a poller: if the reader goes to sleep, it has been woken by the time the
/// poller is done. (A model that really slept for ever would not end in a way that a
/// test can catch.)
fn one_reader(planted: Planted) {
    let socket = Socket::new();
    let poller = {
        let socket = Arc::clone(&socket);
        thread::spawn(move || socket.arrive())
    };
    let asleep = !socket.try_read(planted);
    poller.join().unwrap();
    let woken = socket.list.lock().unwrap().1 > 0;
    assert_eq!(
        asleep, woken,
        "asleep with a byte in the kernel, and nobody wakes it"
    );
}

/// The same at a gate where somebody has waited before, and where somebody else passes an event on
/// meanwhile.
fn late_reader(planted: Planted) {
    let socket = Socket::new();
    let _ = socket.word.drained(socket.word.snapshot(), true);
    assert!(socket.word.begin_wait());
    let poller = {
        let socket = Arc::clone(&socket);
        thread::spawn(move || socket.arrive())
    };
    let other = {
        let socket = Arc::clone(&socket);
        thread::spawn(move || socket.pass_on(planted))
    };
    let asleep = !socket.try_read(planted);
    poller.join().unwrap();
    other.join().unwrap();
    let woken = socket.list.lock().unwrap().1 > 0;
    assert!(
        !asleep || woken,
        "asleep with a byte in the kernel, and nobody wakes it"
    );
}

/// Two readers and two edges.
fn two_readers() {
    let socket = Socket::new();
    let reader = {
        let socket = Arc::clone(&socket);
        thread::spawn(move || socket.read())
    };
    let poller = {
        let socket = Arc::clone(&socket);
        thread::spawn(move || {
            socket.arrive();
            socket.arrive();
        })
    };
    socket.read();
    reader.join().unwrap();
    poller.join().unwrap();
}

/// A reader with nothing to read, and one who changes its deadline: if the reader goes to sleep
/// until the old one, it is woken.
fn changed_deadline(planted: Planted) {
    let socket = Socket::new();
    let _ = socket.word.drained(socket.word.snapshot(), true);
    let setter = {
        let socket = Arc::clone(&socket);
        thread::spawn(move || socket.set_deadline(1))
    };
    let until = loop {
        let deadline = socket.deadline.load(Ordering::Relaxed);
        if socket.enter_until(deadline, planted) {
            break deadline;
        }
    };
    setter.join().unwrap();
    let woken = socket.list.lock().unwrap().1 > 0;
    assert!(until == 1 || woken, "asleep until an old deadline");
}

/// A new deadline reaches all who wait, whenever it comes.
#[test]
fn a_deadline_is_not_missed() {
    model::check(|| changed_deadline(Planted::Nothing));
}

/// Planted: waiting although the deadline has changed since it was looked at.
#[test]
fn planted_old_deadline_is_found() {
    finds_bug(|| changed_deadline(Planted::KeepDeadline));
}

/// An edge is never lost, whenever it comes.
#[test]
fn an_edge_is_not_lost() {
    model::check(|| one_reader(Planted::Nothing));
}

/// Nor is one for a reader that finds the flag of the waiters set.
#[test]
fn an_edge_is_not_lost_on_those_who_are_back() {
    model::check(|| late_reader(Planted::Nothing));
}

/// Planted: the flag is cleared when somebody waits again.
#[test]
fn planted_late_clearing_is_found() {
    finds_bug(|| late_reader(Planted::ClearLate));
}

/// Two readers of one socket both get what came for them.
#[test]
fn two_readers_are_both_served() {
    model::check(two_readers);
}

/// Planted: a late reader clears the flag of an edge that it has not seen.
#[test]
fn planted_blind_clearing_is_found() {
    finds_bug(|| one_reader(Planted::ClearBlindly));
}

/// Planted: waiting although the edge has come.
#[test]
fn planted_blind_waiting_is_found() {
    finds_bug(|| one_reader(Planted::WaitBlindly));
}
