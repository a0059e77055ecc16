//! Models of the fibre's run state and of the waiter's outcome: the two words that
//! decide when a stack may be resumed, and by whom.
//!
//! Run by `cargo xtask loom`.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

use fibre_core::completion::Completion;
use fibre_core::model::{self, finds_bug};
use fibre_core::state::{Left, RunState, Wake};
use fibre_core::sync::EndOfFrame;
use fibre_core::waiter::{Outcome, ThreadParker, Waiter, Wakeable};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::ptr::NonNull;

/// A fibre, as far as parking goes: a state word and a stack that loom watches.
struct Fibre {
    state: RunState<NoFibre>,
    stack: UnsafeCell<u32>,
}

/// A processor on the fibre's stack suspends it; a waker resumes it. Whoever may
/// resume it writes to the stack.
fn park_and_wake(leave_first: bool) {
    let fibre = Arc::new(Fibre {
        state: RunState::new(),
        stack: UnsafeCell::new(0),
    });
    let waker = {
        let fibre = Arc::clone(&fibre);
        thread::spawn(move || {
            if fibre.state.wake() == Wake::Enqueue {
                // SAFETY: loom checks that the stack has been left.
                fibre.stack.with_mut(|stack| unsafe { *stack += 1 });
                return true;
            }
            false
        })
    };
    let on_the_stack = || {
        // SAFETY: the processor is on it.
        fibre.stack.with_mut(|stack| unsafe { *stack += 1 });
    };
    if leave_first {
        on_the_stack();
    }
    let left = fibre.state.left();
    if !leave_first {
        on_the_stack();
    }
    if left == Left::WokenEarly {
        on_the_stack();
    }
    let resumed_elsewhere = waker.join().unwrap();
    assert_eq!(
        resumed_elsewhere,
        left == Left::Parked,
        "resumed by nobody, or twice"
    );
}

/// The stack is resumed once, by one processor, after it has been left.
#[test]
fn a_fibre_is_resumed_once_after_it_left() {
    model::check(|| park_and_wake(true));
}

/// Planted: the state says "parked" before the stack has been left.
#[test]
fn planted_parking_on_the_stack_is_found() {
    finds_bug(|| park_and_wake(false));
}

/// Nobody; these models wait on threads.
struct NoFibre;

impl Wakeable for NoFibre {
    unsafe fn resume(_: NonNull<Self>) {
        unreachable!("no fibre waits in this model");
    }

    unsafe fn resume_at_home(_: NonNull<Self>) {
        unreachable!("no fibre waits in this model");
    }
}

/// The frame of a waiting thread.
struct Frame {
    parker: ThreadParker,
    /// Written when the frame ends.
    alive: UnsafeCell<bool>,
}

/// Two wakers compete; the winner resumes, and the loser must not.
fn two_wakers(losers_keep_quiet: bool) {
    let frame = Arc::new(Frame {
        parker: ThreadParker::new(),
        alive: UnsafeCell::new(true),
    });
    let waiter = Arc::new(Waiter::<NoFibre>::for_thread(&frame.parker));
    let resumed = Arc::new(AtomicUsize::new(0));
    let wakers: Vec<_> = [1, 2]
        .into_iter()
        .map(|token| {
            let (waiter, resumed) = (Arc::clone(&waiter), Arc::clone(&resumed));
            let frame = Arc::clone(&frame);
            thread::spawn(move || {
                let won = waiter.claim(token);
                if won.is_some() || !losers_keep_quiet {
                    resumed.fetch_add(1, Ordering::Relaxed);
                    // SAFETY: the frame is alive for the winner until it resumes.
                    assert!(frame.alive.with(|alive| unsafe { *alive }));
                }
                won.map(|resume| resume.resume()).is_some()
            })
        })
        .collect();
    frame.parker.park();
    // The frame ends here: only the winner may have been in it.
    // SAFETY: loom checks that.
    frame.alive.with_mut(|alive| unsafe { *alive = false });
    assert!(matches!(waiter.outcome(), Outcome::Woken(1 | 2)));
    let winners = wakers.into_iter().map(|waker| waker.join().unwrap());
    assert_eq!(winners.filter(|won| *won).count(), 1);
    assert_eq!(resumed.load(Ordering::Relaxed), 1);
}

/// The first waker wins, the other does nothing.
#[test]
fn the_first_waker_wins() {
    model::check(|| two_wakers(true));
}

/// Planted: the loser goes on as if it had won.
#[test]
fn planted_second_winner_is_found() {
    finds_bug(|| two_wakers(false));
}

/// A finisher and a waiter whose deadline passes: the frame ends only when the
/// finisher has let go of it.
fn finish_and_time_out(withdraw: bool) {
    let completion = Arc::new(Completion::new());
    let finisher = {
        let completion = Arc::clone(&completion);
        thread::spawn(move || {
            let _ = completion.finish::<NoFibre>();
        })
    };
    let parker = ThreadParker::new();
    // Leaked, so that the planted bug is one for loom to find, and no real one.
    let waiter = Box::leak(Box::new(Waiter::<NoFibre>::for_thread(&parker)));
    if completion.publish_limited(waiter) {
        match waiter.time_out() {
            // The deadline has won.
            Some(resume) => {
                resume.resume();
                if withdraw {
                    completion.withdraw(waiter);
                }
            }
            None => parker.park(),
        }
        waiter.end_of_frame();
    }
    finisher.join().unwrap();
    assert!(completion.is_done());
}

/// A finisher and a waiter without a limit, which goes on when it has been resumed, or, as
/// planted, when it merely sees the outcome.
fn finish_and_wait(until_resumed: bool) {
    let completion = Arc::new(Completion::new());
    let finisher = {
        let completion = Arc::clone(&completion);
        thread::spawn(move || {
            let _ = completion.finish::<NoFibre>();
        })
    };
    let parker = Arc::new(ThreadParker::new());
    // Leaked, so that the planted bug is one for loom to find, and no real one.
    let waiter = Box::leak(Box::new(Waiter::<NoFibre>::for_thread(&parker)));
    if completion.publish(waiter) {
        if until_resumed {
            parker.park();
            assert_eq!(waiter.outcome(), Outcome::Woken(0));
        } else {
            while !waiter.is_claimed() {
                thread::yield_now();
            }
        }
        assert!(completion.is_done());
        waiter.end_of_frame();
    }
    finisher.join().unwrap();
}

/// A patient waiter is woken, and touched by nobody afterwards.
#[test]
fn a_patient_waiter_is_woken() {
    model::check(|| finish_and_wait(true));
}

/// Planted: it goes on as soon as it sees the outcome, when the finisher is not done yet.
#[test]
fn planted_impatience_is_found() {
    finds_bug(|| finish_and_wait(false));
}

/// A waiter that withdraws is touched by nobody afterwards.
#[test]
fn a_withdrawn_waiter_is_let_go() {
    model::check(|| finish_and_time_out(true));
}

/// Planted: the frame ends without withdrawing.
#[test]
fn planted_missing_withdrawal_is_found() {
    finds_bug(|| finish_and_time_out(false));
}
