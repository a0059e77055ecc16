//! What std waits for by the word of a thread: `park`, channels, the end of a scope; and what spins
//! until another thread has run.

use super::{SHORT, crowd};
use crate::support::{Locals, Rider, on_kind, on_own};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, Thread};

/// How often two fibres take turns.
const TURNS: u32 = 100;

/// Waits for one's turn, and gives it to the other one.
fn take_turns(turn: &AtomicU32, own: u32, other: &Thread) {
    for round in 0..TURNS {
        while turn.load(Ordering::Acquire) != 2 * round + own {
            thread::park();
        }
        turn.fetch_add(1, Ordering::Release);
        other.unpark();
    }
}

#[test]
fn two_fibres_park_and_unpark_each_other() {
    on_own(|| {
        let turn = Arc::new(AtomicU32::new(0));
        let (tell, told) = mpsc::channel();
        let both = [0, 1].map(|own| {
            let (give, given) = mpsc::channel();
            let (turn, tell) = (Arc::clone(&turn), tell.clone());
            let fibre = fibre::spawn(move || {
                tell.send((1 - own, thread::current())).unwrap();
                take_turns(&turn, own, &given.recv().unwrap());
            });
            (give, fibre)
        });
        for _ in 0..2 {
            let (whom, thread) = told.recv().unwrap();
            both[whom as usize].0.send(thread).unwrap();
        }
        both.into_iter()
            .for_each(|(_, fibre)| fibre.join().unwrap());
        assert_eq!(turn.load(Ordering::Relaxed), 2 * TURNS);
    });
}

/// A token that a plain thread leaves is the fibre's that it was for.
#[test]
fn plain_threads_unpark_fibres() {
    on_own(|| {
        crowd(10, |_| {
            let (own, left) = (thread::current(), Arc::new(AtomicBool::new(false)));
            let leaves = Arc::clone(&left);
            let other = thread::spawn(move || {
                leaves.store(true, Ordering::Release);
                own.unpark();
            });
            while !left.load(Ordering::Acquire) {
                thread::park();
            }
            other.join().unwrap();
        });
    });
}

#[test]
fn a_park_with_a_time_out_leaves_the_stack() {
    on_kind(Locals::Own, 1, || {
        let rider = Rider::begin();
        rider.leaves(|| thread::park_timeout(SHORT));
        thread::current().unpark();
        rider.stays(thread::park);
    });
}

#[test]
fn channels_of_std_wait_between_fibres() {
    on_own(|| {
        crowd(5, |_| {
            let (send, receive) = mpsc::sync_channel(0);
            let (answer, answers) = mpsc::channel();
            let other = fibre::spawn(move || {
                for number in receive {
                    let number: u32 = number;
                    answer.send(number + 1).unwrap();
                }
            });
            for number in 0..TURNS {
                send.send(number).unwrap();
                assert_eq!(answers.recv().unwrap(), number + 1);
            }
            let late = answers.recv_timeout(SHORT);
            assert_eq!(late, Err(mpsc::RecvTimeoutError::Timeout));
            drop(send);
            assert_eq!(answers.recv(), Err(mpsc::RecvError));
            other.join().unwrap();
        });
    });
}

/// The end of a scope waits for its threads, and the fibres of its processor run meanwhile: these
/// threads wait for one.
#[test]
fn the_end_of_a_scope_blocks_the_fibre() {
    on_own(|| {
        let (send, receive) = mpsc::sync_channel(0);
        let gives = fibre::spawn(move || send.send(7).unwrap());
        let mut value = 0;
        thread::scope(|scope| {
            let value = &mut value;
            scope.spawn(move || *value = receive.recv().unwrap());
        });
        assert_eq!(value, 7);
        gives.join().unwrap();
    });
}

/// `yield_now` of std lets the fibre run that the caller spins for.
#[test]
fn a_spin_with_yields_ends() {
    on_own(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&count);
        crowd(4, move |number| {
            for round in 0..20 {
                while shared.load(Ordering::Acquire) != 4 * round + number {
                    thread::yield_now();
                }
                shared.fetch_add(1, Ordering::Release);
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 80);
    });
}
