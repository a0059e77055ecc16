//! parking_lot's locks, held over calls that wait; channels of crossbeam and flume between fibres.
//! Their waiters lie in thread-locals.

use super::{SHORT, crowd};
use crate::support::{Locals, Rider, on_kind, on_own};
use parking_lot::{Condvar, FairMutex, Mutex, Once, ReentrantMutex, RwLock};
use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How many fibres, and how many rounds of each.
const FIBRES: usize = 8;
const ROUNDS: usize = 20;

/// A stream to a fibre that answers what it is asked.
fn echo() -> (UnixStream, fibre::JoinHandle<usize>) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let server = fibre::spawn(move || {
        let (mut byte, mut served) = ([0], 0);
        while theirs.read_exact(&mut byte).is_ok() {
            theirs.write_all(&byte).unwrap();
            served += 1;
        }
        served
    });
    (ours, server)
}

/// Asks once.
fn ask(mut stream: &UnixStream, byte: u8) {
    let mut answer = [0];
    stream.write_all(&[byte]).unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [byte]);
}

#[test]
fn locks_of_parking_lot_are_held_over_calls_that_wait() {
    on_own(|| {
        let (stream, server) = echo();
        let connection = Mutex::new(stream);
        crowd(FIBRES, move |number| {
            for _ in 0..ROUNDS {
                ask(&connection.lock(), number as u8);
            }
        });
        assert_eq!(server.join().unwrap(), FIBRES * ROUNDS);
        let (stream, server) = echo();
        let connection = FairMutex::new(stream);
        crowd(FIBRES, move |number| {
            for _ in 0..ROUNDS {
                ask(&connection.lock(), number as u8);
            }
        });
        assert_eq!(server.join().unwrap(), FIBRES * ROUNDS);
    });
}

#[test]
fn other_locks_of_parking_lot_block_the_fibre() {
    on_own(|| {
        let both = RwLock::new((0, 0));
        let (deep, initialised) = (ReentrantMutex::new(Cell::new(0)), Once::new());
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        let calls = Cell::new(0);
        let calls = ReentrantMutex::new(calls);
        crowd(FIBRES, move |number| {
            initialised.call_once(|| {
                thread::sleep(SHORT);
                let calls = calls.lock();
                calls.set(calls.get() + 1);
            });
            assert_eq!(calls.lock().get(), 1);
            for round in 0..ROUNDS {
                if (number + round) % 3 == 0 {
                    let mut both = both.write();
                    both.0 += 1;
                    thread::sleep(Duration::from_micros(10));
                    both.1 += 1;
                } else {
                    let both = both.read();
                    thread::sleep(Duration::from_micros(10));
                    assert_eq!(both.0, both.1);
                }
                let outer = deep.lock();
                let inner = deep.lock();
                let seen = inner.get();
                thread::sleep(Duration::from_micros(10));
                outer.set(seen + 1);
                assert_eq!(inner.get(), seen + 1);
            }
            let mut now = turn.lock();
            while *now != number {
                changed.wait(&mut now);
            }
            *now += 1;
            changed.notify_all();
        });
    });
}

/// A lock that is taken, and a condition that does not come, let others run until their time.
#[test]
fn time_outs_of_parking_lot_leave_the_stack() {
    on_kind(Locals::Own, 1, || {
        let rider = Rider::begin();
        let lock = Arc::new(Mutex::new(()));
        let theirs = Arc::clone(&lock);
        let owner = fibre::spawn(move || {
            let _guard = theirs.lock();
            thread::sleep(3 * SHORT);
        });
        while !lock.is_locked() {
            fibre::yield_now();
        }
        let begun = Instant::now();
        assert!(rider.leaves(|| lock.try_lock_for(SHORT)).is_none());
        assert!(begun.elapsed() >= SHORT);
        owner.join().unwrap();
        let (lock, never) = (Mutex::new(()), Condvar::new());
        let begun = Instant::now();
        let waited = rider.leaves(|| never.wait_for(&mut lock.lock(), SHORT));
        assert!(waited.timed_out() && begun.elapsed() >= SHORT);
        rider.stays(|| drop(lock.lock()));
    });
}

/// The runtime's own locks are parking_lot's: fibres that use what takes them, all at once, and
/// that are asked about meanwhile, leave no stack in it. (Debug builds would panic.)
#[test]
fn locks_of_the_runtime_are_the_threads() {
    on_kind(Locals::Moving, 4, || {
        crowd(FIBRES, |_| {
            for _ in 0..ROUNDS {
                let token = fibre::CancelToken::new();
                let fibres = [(); 4].map(|()| {
                    fibre::Builder::new()
                        .cancel_token(&token)
                        .spawn(|| fibre::sleep(Duration::from_micros(50)))
                        .unwrap()
                });
                drop(fibre::waits());
                token.cancel();
                fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            }
        });
    });
}

#[test]
fn channels_of_crossbeam_and_flume_wait_between_fibres() {
    on_own(|| {
        crowd(FIBRES, |_| {
            let (send, receive) = crossbeam_channel::bounded(0);
            let (answer, answers) = crossbeam_channel::unbounded();
            let (other, others) = flume::bounded(1);
            let server = fibre::spawn(move || {
                for number in receive {
                    let number: usize = number;
                    answer.send(number + 1).unwrap();
                    other.send(number + 2).unwrap();
                }
            });
            let never = crossbeam_channel::never::<()>();
            for number in 0..ROUNDS {
                send.send(number).unwrap();
                crossbeam_channel::select! {
                    recv(answers) -> answer => assert_eq!(answer.unwrap(), number + 1),
                    recv(never) -> _ => unreachable!(),
                }
                assert_eq!(others.recv().unwrap(), number + 2);
            }
            assert!(answers.recv_timeout(SHORT).is_err());
            assert!(others.recv_timeout(SHORT).is_err());
            drop(send);
            assert!(answers.recv().is_err() && others.recv().is_err());
            server.join().unwrap();
        });
    });
}
