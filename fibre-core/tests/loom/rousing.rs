//! Models of a wait without a limit that a stopped cluster ends where its started fibres move: a
//! waker competes with the processors. Each of these rouses the fibre if it finds it parked.
//!
//! The main thread of a model is the fibre and its processor, as in `cancel`, with the same fibre
//! and list.
//!
//! Run by `cargo xtask loom`.

use super::cancel::{Fibre, List};
use fibre_core::internal::state::{Left, Wake};
use fibre_core::internal::waiter::{Outcome, Waiter};
use fibre_core::model::{self, finds_bug, finds_planted};
use fibre_core::sync::EndOfFrame;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::ptr::NonNull;

/// A fibre that has been cancelled, and the note that it has been roused.
struct Roused {
    fibre: &'static Fibre,
    /// The note in its link.
    note: AtomicBool,
    /// Whether nothing unwinds it for the time being.
    is_firm: bool,
}

impl Roused {
    fn new(is_firm: bool) -> &'static Self {
        let fibre = Fibre::new();
        fibre.state.cancel_later();
        Box::leak(Box::new(Self {
            fibre,
            note: AtomicBool::new(false),
            is_firm,
        }))
    }

    /// A processor's part, as `ControlBlock::rouse` has it.
    fn rouse(&self) {
        if !self.fibre.state.hold() {
            return;
        }
        if self.is_firm {
            if self.fibre.state.let_go() == Wake::Noticed {
                return;
            }
        } else {
            self.note.store(true, Ordering::Relaxed);
            self.fibre.state.rouse_held();
        }
        self.fibre.enqueue_left();
    }

    /// Leaves the stack, unless the wake-up has come. With `walks`, the processor goes through the
    /// fibres afterwards.
    fn park(&self, walks: bool) {
        if self.fibre.state.stay() {
            return;
        }
        self.fibre.stack.count();
        match self.fibre.state.left() {
            Left::WokenEarly => self.fibre.enqueue_left(),
            Left::Parked if walks => self.rouse(),
            Left::Parked => {}
        }
        self.fibre.await_queue();
        self.fibre.stack.count();
    }

    /// One wait of the fibre, as `Wait::park` does it: `None` if it has been unwound. With `again`,
    /// it parks once more if it has been roused and its waiter is claimed.
    fn wait(&self, list: &List, walks: bool, again: bool) -> Option<Outcome> {
        // SAFETY: the model's fibre outlives its threads.
        let waiter = unsafe { Waiter::for_fibre(NonNull::from(self.fibre)) };
        let waiter = Box::leak(Box::new(waiter));
        list.publish(waiter);
        // SAFETY: there is no waiter that could be cancelled.
        unsafe { self.fibre.state.begin_wait(None) };
        self.park(walks);
        if self.note.swap(false, Ordering::Relaxed) {
            list.waiter.lock().take();
            if !waiter.is_claimed() {
                waiter.end_of_frame();
                return None;
            }
            if again {
                self.park(false);
            }
            while self.note.swap(false, Ordering::Relaxed) {
                self.park(false);
            }
        }
        let outcome = waiter.outcome();
        waiter.end_of_frame();
        Some(outcome)
    }
}

/// A waker, another processor, and the fibre's own compete for a wait. The next wait is only its
/// waker's, whoever has ended this one.
fn three_compete(again: bool) {
    let (roused, first, second) = (Roused::new(false), List::new(), List::new());
    let processor = thread::spawn(move || roused.rouse());
    let waker = thread::spawn(move || first.wake());
    let outcome = roused.wait(first, true, again);
    let woken = waker.join().unwrap();
    processor.join().unwrap();
    assert_eq!(outcome, woken.then_some(Outcome::Woken(0)));
    let waker = thread::spawn(move || second.wake_for_sure());
    assert_eq!(roused.wait(second, false, again), Some(Outcome::Woken(0)));
    waker.join().unwrap();
    assert_eq!(roused.fibre.queue.load(), 0, "queued, though it runs");
}

/// It is woken or unwound, and nothing is left of either.
#[test]
fn it_is_woken_or_unwound() {
    model::check(|| three_compete(true));
}

/// Planted: the fibre goes on before its waker has been here, whose wake-up ends the next wait.
#[test]
fn planted_wakeup_that_is_left_over_is_found() {
    finds_bug(|| three_compete(false));
}

/// Planted: a processor rouses a fibre that another one holds.
#[test]
fn planted_second_holder_is_found() {
    finds_planted("state: a fibre that is held is roused", || {
        three_compete(true)
    });
}

/// A fibre that nothing may unwind waits until its waker comes.
#[test]
fn one_that_is_firm_waits_on() {
    model::check(|| {
        let (roused, list) = (Roused::new(true), List::new());
        let processor = thread::spawn(move || roused.rouse());
        let waker = thread::spawn(move || list.wake_for_sure());
        assert_eq!(roused.wait(list, true, true), Some(Outcome::Woken(0)));
        processor.join().unwrap();
        waker.join().unwrap();
        assert_eq!(roused.fibre.queue.load(), 0, "queued, though it runs");
    });
}
