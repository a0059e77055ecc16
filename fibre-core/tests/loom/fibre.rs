//! Models of the fibre's run state and of the waiter's outcome: the two words that decide when a
//! stack may be resumed, and by which thread.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::completion::{Completion, Finished};
use fibre_core::internal::state::{Left, RunState, Wake};
use fibre_core::internal::waiter::{Outcome, ThreadParker, Waiter, Wakeable};
use fibre_core::model::{self, Shared, Watched, finds_bug, finds_planted};
use fibre_core::sync::EndOfFrame;
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

/// A processor on the fibre's stack suspends it; a waker resumes it. The thread that may resume it
/// writes to the stack.
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

/// A fibre type that is never used; these models wait on threads.
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
    // SAFETY: the frame outlives the model's threads.
    let waiter = Arc::new(unsafe { Waiter::<NoFibre>::for_thread(&frame.parker) });
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
    // Leaked, so that loom finds the planted bug, and it is no real one.
    // SAFETY: this frame ends when the wait has.
    let waiter = unsafe { Waiter::<NoFibre>::for_thread(&parker) };
    let waiter = Box::leak(Box::new(waiter));
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
    // Leaked, so that loom finds the planted bug, and it is no real one.
    // SAFETY: this frame ends when the wait has.
    let waiter = unsafe { Waiter::<NoFibre>::for_thread(&parker) };
    let waiter = Box::leak(Box::new(waiter));
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

/// A patient waiter is woken, and not touched afterwards.
#[test]
fn a_patient_waiter_is_woken() {
    model::check(|| finish_and_wait(true));
}

/// Planted: the waiter goes on as soon as it sees the outcome, when the finisher is not done yet.
#[test]
fn planted_impatience_is_found() {
    finds_bug(|| finish_and_wait(false));
}

/// A finisher, and a patient waiter that is to be unwound. It takes itself out, or has been
/// claimed, and goes on when it is resumed.
fn finish_and_unwind() {
    let completion = Arc::new(Completion::new());
    let finisher = {
        let completion = Arc::clone(&completion);
        thread::spawn(move || {
            let _ = completion.finish::<NoFibre>();
        })
    };
    let parker = Arc::new(ThreadParker::new());
    // Leaked, so that loom finds the planted bug, and it is no real one.
    // SAFETY: this frame ends when the wait has.
    let waiter = unsafe { Waiter::<NoFibre>::for_thread(&parker) };
    let waiter = Box::leak(Box::new(waiter));
    if completion.publish(waiter) {
        completion.withdraw(waiter);
        if waiter.is_claimed() {
            parker.park();
            assert_eq!(waiter.outcome(), Outcome::Woken(0));
            assert!(completion.is_done());
        }
        waiter.end_of_frame();
    }
    finisher.join().unwrap();
    assert!(completion.is_done());
}

/// A patient waiter that takes itself out is not touched afterwards.
#[test]
fn a_patient_waiter_may_leave() {
    model::check(finish_and_unwind);
}

/// Planted: it is claimed after it has left.
#[test]
fn planted_claim_of_one_that_has_left_is_found() {
    finds_planted(
        "completion: a patient waiter is claimed while it can still leave",
        finish_and_unwind,
    );
}

/// A waiter that withdraws is not touched afterwards.
#[test]
fn a_withdrawn_waiter_is_let_go() {
    model::check(|| finish_and_time_out(true));
}

/// Planted: the frame ends without withdrawing.
#[test]
fn planted_missing_withdrawal_is_found() {
    finds_bug(|| finish_and_time_out(false));
}

/// A task: what the finisher makes, and what the other side wants done with it.
struct Task {
    completion: Completion,
    /// Made by the finisher; read, or dropped, by the side that finds that this falls to it.
    result: Watched,
    /// Said by the other side before it detaches.
    wish: Watched,
}

/// What the other side does.
#[derive(Clone, Copy)]
enum Asks {
    /// Looks again and again.
    Looks,
    /// Waits without a limit.
    Waits,
    /// Waits until its limit.
    WaitsInHaste,
    /// Says that nobody will ask.
    Detaches,
}

/// Makes the result and says so.
fn make(task: Shared<Task>) {
    task.result.set(7);
    match task.completion.finish::<NoFibre>() {
        Finished::Published => {}
        Finished::Unwanted => {
            assert_eq!(task.wish.get(), 1);
            task.result.count();
        }
    }
}

/// Asks, and says whether the result is its own.
fn ask(task: Shared<Task>, asks: Asks) -> bool {
    let parker: &ThreadParker = Box::leak(Box::new(ThreadParker::new()));
    // SAFETY: the parker is never freed.
    let waiter = unsafe { Waiter::<NoFibre>::for_thread(parker) };
    let waiter = Box::leak(Box::new(waiter));
    match asks {
        Asks::Looks => {
            while !task.completion.is_done() {
                thread::yield_now();
            }
        }
        Asks::Waits => {
            if task.completion.publish(waiter) {
                parker.park();
            }
        }
        Asks::WaitsInHaste => {
            if task.completion.publish_limited(waiter) {
                match waiter.time_out() {
                    Some(_) => task.completion.withdraw(waiter),
                    None => parker.park(),
                }
                return task.completion.is_done();
            }
        }
        Asks::Detaches => {
            task.wish.set(1);
            return !task.completion.detach();
        }
    }
    true
}

/// A finisher, and another side that reads the result, or drops it, once it is its own. loom
/// watches the result and the wish.
fn follow_the_result(asks: Asks) {
    let task = Shared::new(Task {
        completion: Completion::new(),
        result: Watched::default(),
        wish: Watched::default(),
    });
    let asker = thread::spawn(move || {
        let own = ask(task, asks);
        if own {
            assert_eq!(task.result.get(), 7);
            task.result.count();
        }
        own
    });
    make(task);
    let own = asker.join().unwrap();
    let dropped = matches!(asks, Asks::Detaches);
    let made = if own || dropped { 8 } else { 7 };
    assert_eq!(task.result.get(), made);
}

/// A finisher, a patient waiter, and one that only looks.
fn look_beside_a_waiter() {
    let task = Shared::new(Task {
        completion: Completion::new(),
        result: Watched::default(),
        wish: Watched::default(),
    });
    let waiter = thread::spawn(move || ask(task, Asks::Waits));
    let onlooker = thread::spawn(move || {
        if task.completion.is_done() {
            assert_eq!(task.result.get(), 7);
        }
    });
    make(task);
    assert!(waiter.join().unwrap());
    onlooker.join().unwrap();
}

/// An onlooker beside a waiter, which is told in another way, has the result, too.
#[test]
fn the_result_comes_to_those_who_only_look() {
    model::check(look_beside_a_waiter);
}

/// Planted: the waiter is told, and the onlooker is not.
#[test]
fn planted_patient_completion_without_release_is_found() {
    finds_planted(
        "completion: that of a patient waiter is published without release",
        look_beside_a_waiter,
    );
}

/// The side that finds that it has happened has what was made.
#[test]
fn the_result_comes_with_the_completion() {
    let all = [Asks::Looks, Asks::Waits, Asks::WaitsInHaste, Asks::Detaches];
    for asks in all {
        model::check(move || follow_the_result(asks));
    }
}

/// Planted: the other side finds that it has happened, and not what was made.
#[test]
fn planted_completion_without_release_is_found() {
    for asks in [Asks::Looks, Asks::Waits, Asks::Detaches] {
        finds_planted("completion: it is published without release", move || {
            follow_the_result(asks);
        });
    }
}
