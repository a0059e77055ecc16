//! Oxide's RFD 609, "futurelock": a task has a future that has queued for a lock, or has been given
//! it, and does not poll that future any more, as it waits for something that needs the lock. The
//! task is awake, the lock is free or handed over, and nothing goes on. One way to it is a
//! `select!` by reference in tokio; others are an arm of `select!` that awaits, a stream of
//! buffered futures, and a bounded channel that has given a permit to a sleeping future.
//!
//! **It cannot happen between fibres.** A wait is a call, and not a value: a fibre is in one wait
//! at a time, and is out of every list when the call returns (a waiter that loses a selection is
//! taken out, or has been claimed and is the one that wins). An arm of `select!` is in a list only
//! while the selection waits, also if the selection has it by reference. What runs beside the
//! caller is a fibre, which its processor runs whatever the caller does. The first half of this
//! file has the programs of the RFD, and all end.
//!
//! **It can happen to futures beside fibres**, as everywhere: a future that is kept and not polled
//! keeps the value that it was handed, and any guard in it. The second half shows what is kept, and
//! that it is handed on when the future is dropped. `docs/ASYNC.md` says so.

use super::{LONG, SHORT, everywhere, no_results};
use crate::support::{eventually, for_each_cluster};
use fibre::channel::{Receiver, bounded, rendezvous};
use fibre::sync::{Event, Mutex, Semaphore};
use fibre::{Group, block_on, group, select, select::after, timeout};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

/// The RFD's first program: another fibre has the lock. The caller waits for it or for a timer, the
/// timer comes first, and in that arm the caller wants the lock by another call. There, the first
/// future has its place in the queue and is given the lock. Here, the losing arm has left the
/// queue, so the caller is next.
#[allow(clippy::cognitive_complexity, reason = "two selections")]
#[test]
fn an_arm_that_loses_leaves_the_queue() {
    everywhere(|| {
        for by_reference in [false, true] {
            let (lock, taken, second) = (Semaphore::new(1), Event::new(), Event::new());
            let ended = group(|group| {
                group.spawn(|| {
                    let _permit = lock.permit();
                    taken.set();
                    second.wait(); // until the caller is in its second wait, or about to be
                    Ok::<_, ()>(())
                });
                taken.wait();
                let mut first = lock.permit_arm();
                let lost = match by_reference {
                    true => select! {
                        _permit = &mut first => false,
                        _ = after(SHORT) => {
                            second.set();
                            lock.acquire();
                            lock.release();
                            true
                        }
                    },
                    false => select! {
                        _permit = lock.permit_arm() => false,
                        _ = after(SHORT) => {
                            second.set();
                            lock.acquire();
                            lock.release();
                            true
                        }
                    },
                };
                // The arm that lost may be waited for again, as long as it is there.
                let _again = select! { permit = &mut first => permit };
                Ok(lost)
            });
            assert_eq!((ended, lock.available()), (Ok(true), 1));
        }
    });
}

/// The same with work that runs beside the caller, by reference to its handle: it is a fibre, so it
/// takes the lock, does its work, and lets it go, while the caller is in another arm.
#[test]
fn work_beside_a_selection_goes_on() {
    everywhere(|| {
        let lock = Arc::new(Mutex::new(0));
        let operation = |lock: &Arc<Mutex<u32>>| {
            let mut count = lock.lock();
            fibre::yield_now();
            *count += 1;
        };
        let held = lock.lock();
        let mut first = {
            let lock = Arc::clone(&lock);
            fibre::spawn(move || operation(&lock))
        };
        let done = select! {
            () = first.finished_arm() => 1,
            _ = after(SHORT) => {
                drop(held); // the other one is given it, or barges in
                operation(&lock);
                2
            }
        };
        first.join().unwrap();
        assert_eq!((done, *lock.lock()), (2, 2));
    });
}

/// Many selections with a lock that never comes to them, and callers that want it in the other arm:
/// each has its turn.
#[test]
fn a_crowd_of_lost_arms_keeps_nobody_out() {
    everywhere(|| {
        let (lock, turns) = (Semaphore::new(1), AtomicU32::new(0));
        let ended: Result<(), _> = group(|group| {
            for number in 0..8 {
                let (lock, turns) = (&lock, &turns);
                group.run(move || {
                    for round in 0..20 {
                        let wait = std::time::Duration::from_micros(number * 7 + round);
                        select! {
                            _permit = lock.permit_arm() => fibre::yield_now(),
                            _ = after(wait) => {
                                let _permit = lock.permit();
                                fibre::yield_now();
                            }
                        }
                        turns.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok::<_, ()>(())
                });
            }
            no_results(group);
            Ok(())
        });
        assert_eq!(
            (ended, turns.into_inner(), lock.available()),
            (Ok(()), 160, 1)
        );
    });
}

/// A stream of buffered futures, and its consumer, which wants what they hold (`buffered`, or
/// `FuturesUnordered` and `while let Some(…) = stream.next().await`): there the futures stand
/// still while the consumer works. A group's fibres go on.
#[test]
fn jobs_that_hold_what_their_consumer_wants_go_on() {
    everywhere(|| {
        for in_order in [false, true] {
            let permits = Semaphore::new(2);
            let sum = Group::builder().limit(3).run(|group| {
                let (producer, permits) = (group.clone(), &permits);
                group.run(move || {
                    for number in 1..=20 {
                        producer.spawn(move || {
                            let _permit = permits.permit();
                            fibre::yield_now();
                            Ok::<_, ()>(number)
                        });
                    }
                    Ok(())
                });
                let mut sum = 0;
                let next = || match in_order {
                    true => group.next_in_order(),
                    false => group.next(),
                };
                while let Some(number) = next() {
                    let _both = permits.permits(2); // while jobs have them, or wait for them
                    sum += number;
                }
                Ok(sum)
            });
            assert_eq!((sum, permits.available()), (Ok(210), 2));
        }
    });
}

/// The RFD's incident: senders of a bounded channel, one of them in a selection that loses, and
/// then the same caller sends by another call. There, the permit for the slot is the first
/// future's; the channel looks empty, and thousands wait. Here the value of the losing arm comes
/// back, and slots go to those who wait.
#[test]
fn a_slot_is_not_kept_for_an_arm_that_lost() {
    everywhere(|| {
        for capacity in [0, 1] {
            let (sender, receiver) = match capacity {
                0 => rendezvous(),
                _ => bounded(capacity),
            };
            let sent: Vec<u32> = (0..capacity as u32).collect();
            sent.iter().for_each(|&number| sender.send(number).unwrap());
            let go = Event::new();
            let received = group(|group| {
                group.spawn(|| {
                    go.wait();
                    Ok::<_, ()>(receiver.iter().collect::<Vec<_>>())
                });
                let mut first = sender.send_arm(100);
                let lost = select! {
                    _sent = &mut first => false,
                    _ = after(SHORT) => {
                        go.set();
                        sender.send(200).unwrap();
                        true
                    }
                };
                assert!(lost);
                drop(first);
                sender.close();
                Ok(group.next())
            });
            let expected: Vec<u32> = sent.into_iter().chain([200]).collect();
            assert_eq!(
                received,
                Ok(Some(expected)),
                "the arm's value has not been sent"
            );
        }
    });
}

/// A caller that leaves a wait by a time-out, and not by an arm: it has left the queue, too, and a
/// later call is not behind itself.
#[test]
fn a_time_out_leaves_the_queue() {
    everywhere(|| {
        let (lock, taken, leaves) = (Mutex::new(0), Event::new(), Event::new());
        let ended = group(|group| {
            group.spawn(|| {
                let mut guard = lock.lock();
                taken.set();
                leaves.wait();
                *guard += 1;
                Ok::<_, ()>(())
            });
            taken.wait();
            assert!(timeout(SHORT, || drop(lock.lock())).is_err());
            leaves.set();
            *lock.lock() += 1;
            Ok(())
        });
        assert_eq!((ended, lock.into_inner()), (Ok(()), 2));
    });
}

/// Polls a future once, as a `select!` of tasks does with an arm that then loses.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Receives, in a fibre of its own, what comes within a moment.
fn comes(receiver: &Receiver<u32>) -> Option<u32> {
    let receiver = receiver.clone();
    let other = fibre::spawn(move || receiver.recv_timeout(SHORT).ok());
    other.join().unwrap()
}

/// A `recv_async` that stands in line and is not polled is handed the next value, and keeps it from
/// everybody: this is a futurelock, if a fibre waits for that value. The end of the future hands it
/// on.
#[test]
fn a_future_that_is_not_polled_keeps_what_it_was_handed() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(1);
        {
            let mut kept = pin!(receiver.recv_async());
            assert!(poll_once(kept.as_mut()).is_pending());
            sender.send(7).unwrap();
            assert_eq!(comes(&receiver), None, "it is the future's");
        }
        assert_eq!(comes(&receiver), Some(7), "it has been handed on");
    });
}

/// A `send_async` that stands in line and is not polled gives its value to a receiver that comes:
/// no slot is kept for it, so senders behind it go on.
#[test]
fn a_sending_future_keeps_no_slot() {
    for_each_cluster(|_| {
        for capacity in [0, 1] {
            let (sender, receiver) = match capacity {
                0 => rendezvous(),
                _ => bounded(1),
            };
            (0..capacity).for_each(|number| sender.send(number).unwrap());
            let mut kept = pin!(sender.send_async(100));
            assert!(poll_once(kept.as_mut()).is_pending());
            let behind = {
                let sender = sender.clone();
                fibre::spawn(move || sender.send(200))
            };
            let received: Vec<_> = (0..capacity + 2)
                .map(|_| receiver.recv().unwrap())
                .collect();
            let mut expected: Vec<_> = (0..capacity).chain([100, 200]).collect();
            // Whoever comes first: with several processors the fibre may not be in line yet.
            expected.sort_unstable();
            let mut sorted = received;
            sorted.sort_unstable();
            assert_eq!(sorted, expected);
            behind.join().unwrap().unwrap();
            assert!(matches!(poll_once(kept.as_mut()), Poll::Ready(Ok(()))));
        }
    });
}

/// A guard in a future that is not polled is held: by a call of fibre's within the future, which
/// blocked the fibre that polled it. Other fibres that want it wait until the future is dropped.
#[test]
fn a_guard_in_a_future_is_held_while_nobody_polls() {
    for_each_cluster(|_| {
        let lock = Arc::new(Mutex::new(0));
        let holds = {
            let lock = Arc::clone(&lock);
            async move {
                let mut guard = lock.lock();
                pending::<()>().await;
                *guard += 1;
            }
        };
        let mut holds = Box::pin(holds);
        assert!(poll_once(holds.as_mut()).is_pending());
        let fibre = {
            let lock = Arc::clone(&lock);
            fibre::spawn(move || lock.lock_timeout(SHORT).is_some())
        };
        assert!(!fibre.join().unwrap());
        drop(holds);
        assert_eq!(lock.try_lock().map(|guard| *guard), Some(0));
    });
}

/// The same within one fibre is the RFD's program: a fibre that blocks in `block_on` polls nothing
/// beside that. A time-out around it ends it and drops the future, so the permit is back.
#[test]
fn a_time_out_ends_a_futurelock() {
    for_each_cluster(|_| {
        let lock = Semaphore::new(1);
        let late = timeout(SHORT, || {
            let mut first = pin!(async {
                let _permit = lock.permit();
                pending::<()>().await;
            });
            block_on(poll_fn(|context| {
                assert!(first.as_mut().poll(context).is_pending());
                drop(lock.permit()); // `first` has it, which nobody polls meanwhile
                Poll::Ready(())
            }));
        });
        assert!(late.is_err());
        assert_eq!(lock.available(), 1);
    });
}

/// With a mutex, builds with debug assertions say at once what such a program does: the fibre would
/// wait for itself.
#[cfg(debug_assertions)]
#[test]
fn a_fibre_that_would_wait_for_its_own_future_is_told() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    for_each_cluster(|_| {
        let lock = Mutex::new(());
        let mut first = pin!(async {
            let _guard = lock.lock();
            pending::<()>().await;
        });
        assert!(poll_once(first.as_mut()).is_pending());
        let panics = catch_unwind(AssertUnwindSafe(|| drop(lock.lock()))).unwrap_err();
        let text = crate::support::text_of(&*panics);
        assert!(text.contains("would wait for itself for ever"), "{text}");
    });
}

/// Tasks and fibres that compete for a channel's values, where each task gives up now and then and
/// drops its future: with every future either polled or dropped, all values arrive.
#[test]
fn futures_that_are_dropped_keep_nobody_waiting() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(2);
        let sum = AtomicU32::new(0);
        let ended: Result<(), fibre::GroupError<()>> = group(|group| {
            for number in 0..4 {
                let (receiver, sum) = (receiver.clone(), &sum);
                group.run(move || {
                    loop {
                        let value = match number % 2 {
                            0 => receiver.recv().ok(),
                            _ => loop {
                                let future = || block_on(receiver.recv_async());
                                match timeout(SHORT / 100, future) {
                                    Ok(received) => break received.ok(),
                                    Err(late) => assert!(late.into_value().is_none()),
                                }
                            },
                        };
                        match value {
                            Some(value) => sum.fetch_add(value, Ordering::Relaxed),
                            None => return Ok(()),
                        };
                    }
                });
            }
            no_results(group);
            (1..=200).for_each(|value| sender.send(value).unwrap());
            sender.close();
            eventually(|| group.running() == 0);
            Ok(())
        });
        assert_eq!((ended, sum.into_inner()), (Ok(()), 20_100));
        assert!(timeout(LONG, || receiver.recv()).is_ok_and(|ended| ended.is_err()));
    });
}
