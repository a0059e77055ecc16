//! Models of a wait at home: the waker of the fibre queues it at its processor, also while it is
//! still on its stack, and changes no word that says so.
//!
//! The main thread of a model is the fibre and its processor, which takes the fibre from its
//! queue after it has left the stack.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::queue::{BasicQueue, Link, Popped, QueueKind, Runnable};
use fibre_core::internal::waiter::{Outcome, Waiter, Wakeable};
use fibre_core::model::{Watched, check, finds_bug};
use fibre_core::sync::{EndOfFrame, Futex, Mutex};
use loom::thread;
use std::ptr::NonNull;

/// A fibre, as far as waiting at home goes.
#[repr(C)]
struct Fibre {
    /// Its place in the queue.
    link: Link,
    /// The ready queue of its processor.
    home: BasicQueue,
    /// The stack, used by the processor that runs the fibre.
    stack: Watched,
    /// What the waker leaves for it.
    message: Watched,
    /// The waiter, where the waker finds it.
    list: Mutex<Option<NonNull<Waiter<Fibre>>>>,
    /// 1 once it is there.
    published: Futex,
}

// SAFETY: what is in it is used under its lock, or watched by loom.
unsafe impl Sync for Fibre {}

impl Wakeable for Fibre {
    unsafe fn resume(_: NonNull<Self>) {
        unreachable!("it waits at home");
    }

    unsafe fn resume_at_home(this: NonNull<Self>) {
        // SAFETY: models keep the fibre alive; it is in no queue.
        let _ = unsafe { this.as_ref().home.push(Runnable::new(this.cast())) };
    }
}

impl Fibre {
    /// A fibre that is on its stack.
    fn new(kind: QueueKind) -> &'static Self {
        let fibre = Box::leak(Box::new(Self {
            link: Link::new(),
            home: BasicQueue::new(kind),
            stack: Watched::default(),
            message: Watched::default(),
            list: Mutex::new(None),
            published: Futex::new(0),
        }));
        fibre.stack.count();
        fibre
    }

    /// Wakes the fibre, which waits or will.
    fn wake(&self, token: u32) {
        self.published.wait(0, None);
        self.message.set(token);
        let mut list = self.list.lock();
        let waiter = list.take().unwrap();
        // SAFETY: in the list, hence alive; the wait has no limit, and nobody else can find it.
        let resume = unsafe { waiter.as_ref().claim_alone(token) };
        drop(list);
        resume.resume();
    }

    /// Takes the fibre from the queue and runs it; `false`: the fibre is not there.
    fn run(&self) -> bool {
        // SAFETY: the only consumer.
        let popped = unsafe { self.home.pop_alone() };
        let there = matches!(popped, Popped::Node(_));
        if there {
            self.stack.count();
        }
        there
    }

    /// One wait, as `Wait::park` and the processor do it.
    fn wait(&'static self) -> Outcome {
        // SAFETY: the model's fibre outlives its threads, and the main one is its home.
        let waiter = unsafe { Waiter::at_home(NonNull::from(self)) };
        let waiter = Box::leak(Box::new(waiter));
        *self.list.lock() = Some(NonNull::from(&*waiter));
        self.published.swap(1);
        Futex::wake_one(&raw const self.published);
        // The way to the processor.
        self.stack.count();
        while !self.run() {
            thread::yield_now();
        }
        let outcome = waiter.outcome();
        waiter.end_of_frame();
        outcome
    }
}

/// Checks a model for all kinds of queue.
fn check_all(model: fn(QueueKind)) {
    for kind in QueueKind::ALL {
        check(move || model(kind));
    }
}

/// A waker comes at any moment.
#[test]
fn it_runs_after_it_has_left_its_stack() {
    check_all(|kind| {
        let fibre = Fibre::new(kind);
        let waker = thread::spawn(move || fibre.wake(7));
        assert_eq!(fibre.wait(), Outcome::Woken(7));
        assert_eq!(fibre.message.get(), 7);
        waker.join().unwrap();
    });
}

/// Planted: another processor takes it from the queue, runs it for a while and brings it back, and
/// the stack has not been left. This is why fibres that may be moved do not wait at home.
#[test]
fn planted_other_processor_is_found() {
    finds_bug(|| {
        // A queue that two may pop from.
        let fibre = Fibre::new(QueueKind::Locked);
        let other = thread::spawn(move || {
            fibre.wake(7);
            if fibre.run() {
                // SAFETY: just popped.
                unsafe { Fibre::resume_at_home(NonNull::from(fibre)) };
            }
        });
        let _ = fibre.wait();
        other.join().unwrap();
    });
}

/// Planted: the fibre is queued before its wait has an outcome.
#[test]
fn planted_early_queueing_is_found() {
    finds_bug(|| {
        let fibre = Fibre::new(QueueKind::Nemesis);
        let waker = thread::spawn(move || {
            fibre.published.wait(0, None);
            let waiter = fibre.list.lock().take().unwrap();
            // SAFETY: it waits, at home.
            unsafe { Fibre::resume_at_home(NonNull::from(fibre)) };
            // SAFETY: leaked; loom knows when its frame ends.
            let _ = unsafe { waiter.as_ref().claim_alone(7) };
        });
        let _ = fibre.wait();
        waker.join().unwrap();
    });
}
