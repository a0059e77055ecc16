//! Waiting in channels, and what ends it: deadlines, cancellation, closing from either side.

use crate::support::{Drops, for_clusters, for_each_cluster, let_others_block};
use fibre::Limit;
use fibre::channel::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, bounded, unbounded,
};
use std::thread;
use std::time::{Duration, Instant};

/// Capacities of channels that can be full.
const BOUNDED: [usize; 3] = [0, 1, 5];

/// A time that tests wait for.
const SHORT: Duration = Duration::from_millis(2);
/// A time that they do not.
const LONG: Duration = Duration::from_secs(1000);

/// A full channel gives a value back at the deadline, an empty one gives up, and nothing
/// stays behind.
#[test]
fn deadlines_end_waits() {
    for_each_cluster(|_| {
        for capacity in BOUNDED {
            let (sender, receiver) = bounded(capacity);
            (0..capacity).for_each(|i| sender.send(i).unwrap());
            let began = Instant::now();
            assert_eq!(
                sender.send_timeout(9, SHORT),
                Err(SendTimeoutError::TimedOut(9))
            );
            assert!(began.elapsed() >= SHORT);
            assert!(receiver.try_iter().eq(0..capacity));
            let deadline = Instant::now() + SHORT;
            assert_eq!(
                receiver.recv_within(deadline),
                Err(RecvTimeoutError::TimedOut)
            );
            assert!(Instant::now() >= deadline);
        }
    });
}

/// The same from a plain thread.
#[test]
fn deadlines_end_waits_of_threads() {
    let (sender, receiver) = bounded(1);
    assert_eq!(
        receiver.recv_timeout(SHORT),
        Err(RecvTimeoutError::TimedOut)
    );
    sender.send(1).unwrap();
    assert_eq!(
        sender.send_timeout(2, SHORT),
        Err(SendTimeoutError::TimedOut(2))
    );
    assert_eq!(receiver.recv_timeout(LONG), Ok(1));
    assert_eq!(sender.send_timeout(3, LONG), Ok(()));
}

/// A deadline in the past tries once; one beyond the clock is none.
#[test]
fn odd_deadlines() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(1);
        let past = Instant::now();
        fibre::sleep(Duration::from_micros(10));
        assert_eq!(sender.send_within(1, past), Ok(()));
        assert_eq!(
            sender.send_within(2, past),
            Err(SendTimeoutError::TimedOut(2))
        );
        assert_eq!(receiver.recv_within(past), Ok(1));
        assert_eq!(receiver.recv_within(past), Err(RecvTimeoutError::TimedOut));
        assert_eq!(
            receiver.recv_timeout(Duration::ZERO),
            Err(RecvTimeoutError::TimedOut)
        );
        let waits = fibre::spawn(move || receiver.recv_timeout(Duration::MAX));
        let_others_block();
        assert_eq!(sender.send_timeout(3, Duration::MAX), Ok(()));
        assert_eq!(waits.join().unwrap(), Ok(3));
    });
}

/// One who has given up gets no value, and leaves the next one its own.
#[test]
fn who_gives_up_takes_nothing_along() {
    for_clusters(&[1], |_| {
        let (sender, receiver) = bounded(0);
        let impatient = receiver.clone();
        let impatient = fibre::spawn(move || impatient.recv_timeout(SHORT));
        let patient = fibre::spawn(move || receiver.recv());
        assert_eq!(impatient.join().unwrap(), Err(RecvTimeoutError::TimedOut));
        sender.send(1).unwrap();
        assert_eq!(patient.join().unwrap(), Ok(1));
    });
}

/// Cancellation ends waits that can say so, and gives values back; others do not notice.
#[test]
fn cancellation_ends_waits() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(0);
        let (to, from) = (sender.clone(), receiver.clone());
        let receiving = fibre::spawn(move || {
            let first = from.recv_within(Limit::Cancellation);
            (first, from.recv_timeout(LONG), from.try_recv().is_err())
        });
        let_others_block();
        receiving.cancel();
        let (first, second, empty) = receiving.join().unwrap();
        assert_eq!(first, Err(RecvTimeoutError::Cancelled));
        assert_eq!(second, Err(RecvTimeoutError::Cancelled));
        assert!(empty);

        let sending = fibre::spawn(move || {
            let first = to.send_within(1, Limit::Cancellation);
            let second = to.send_timeout(2, LONG);
            (first, second, to.send_within(3, Limit::Cancellation))
        });
        let_others_block();
        sending.cancel();
        let (first, second, third) = sending.join().unwrap();
        assert_eq!(first, Err(SendTimeoutError::Cancelled(1)));
        assert_eq!(second, Err(SendTimeoutError::Cancelled(2)));
        assert_eq!(third, Err(SendTimeoutError::Cancelled(3)));

        let deaf = fibre::spawn(move || receiver.recv());
        deaf.cancel();
        sender.send(4).unwrap();
        assert_eq!(deaf.join().unwrap(), Ok(4));
    });
}

/// A cancelled fibre still gets and sends what need not wait.
#[test]
fn the_cancelled_try_once() {
    for_each_cluster(|_| {
        let (sender, receiver) = bounded(1);
        let fibre = fibre::spawn(move || {
            while !fibre::is_cancelled() {
                fibre::yield_now();
            }
            sender.send_timeout(1, LONG).unwrap();
            assert_eq!(receiver.recv_timeout(LONG), Ok(1));
        });
        fibre.cancel();
        fibre.join().unwrap();
    });
}

/// How a channel may be closed.
#[derive(Debug, Clone, Copy)]
enum Close {
    /// By the last handle of the other end.
    Drop,
    /// By the other end.
    Call,
}

/// Closing wakes all who wait to send, fibres and threads, with their values.
#[test]
fn closing_refuses_those_who_send() {
    for_each_cluster(|_| {
        for (capacity, close) in BOUNDED
            .map(|c| [(c, Close::Drop), (c, Close::Call)])
            .concat()
        {
            let drops = Drops::new();
            let (sender, receiver) = bounded(capacity);
            (0..capacity).for_each(|_| sender.send(drops.value()).unwrap());
            let fibres: Vec<_> = (0..5)
                .map(|i| {
                    let (sender, value) = (sender.clone(), drops.value());
                    fibre::spawn(move || match i % 2 {
                        0 => sender.send(value).map_err(SendError::into_inner).err(),
                        _ => sender
                            .send_timeout(value, LONG)
                            .err()
                            .map(|e| e.into_inner()),
                    })
                })
                .collect();
            let (other, value) = (sender.clone(), drops.value());
            let thread = thread::spawn(move || other.send(value).is_err());
            let_others_block();
            match close {
                Close::Drop => drop(receiver),
                Close::Call => {
                    receiver.close();
                    // What was there is still there, and no more.
                    assert_eq!(receiver.try_iter().count(), capacity);
                }
            }
            for fibre in fibres {
                let back = fibre.join().unwrap();
                assert!(back.is_some(), "{capacity} {close:?}");
            }
            assert!(fibre::blocking(|| thread.join()).unwrap());
            drop(sender);
            assert_eq!(drops.count(), capacity + 6);
        }
    });
}

/// Closing wakes all who wait to receive.
#[test]
fn closing_tells_those_who_receive() {
    for_each_cluster(|_| {
        for (capacity, close) in BOUNDED
            .map(|c| [(c, Close::Drop), (c, Close::Call)])
            .concat()
        {
            let (sender, receiver) = bounded::<u8>(capacity);
            let fibres: Vec<_> = (0..5)
                .map(|i| {
                    let receiver = receiver.clone();
                    fibre::spawn(move || match i % 2 {
                        0 => receiver.recv() == Err(RecvError),
                        _ => receiver.recv_timeout(LONG) == Err(RecvTimeoutError::Closed),
                    })
                })
                .collect();
            let other = receiver.clone();
            let thread = thread::spawn(move || other.recv().is_err());
            let_others_block();
            match close {
                Close::Drop => drop(sender),
                Close::Call => drop(sender.close()),
            }
            assert!(fibres.into_iter().all(|fibre| fibre.join().unwrap()));
            assert!(fibre::blocking(|| thread.join()).unwrap());
        }
    });
}

/// Fibres of two clusters and a thread hand a value round in a circle.
#[test]
fn clusters_and_threads_talk() {
    for_each_cluster(|_| {
        let other = crate::support::any_cluster().processors(2).build().unwrap();
        for capacity in BOUNDED {
            let (one, from_one) = bounded(capacity);
            let (two, from_two) = bounded(capacity);
            let (three, from_three) = bounded(capacity);
            let away = other.spawn(move || {
                for value in from_one {
                    two.send(value + 1).unwrap();
                }
            });
            let thread = thread::spawn(move || {
                for value in from_two {
                    three.send(value + 1).unwrap();
                }
            });
            let mut value = 0;
            for _ in 0..200 {
                one.send(value).unwrap();
                value = from_three.recv().unwrap();
            }
            assert_eq!(value, 400);
            drop(one);
            away.join().unwrap();
            fibre::blocking(|| thread.join()).unwrap();
        }
        other.stop();
    });
}

/// A fibre that never has to wait lets others of its processor run all the same.
#[test]
fn who_never_waits_lets_others_run() {
    for_clusters(&[1], |_| {
        let (sender, receiver) = unbounded();
        let other = receiver.clone();
        let busy = fibre::spawn(move || {
            while sender.send(()).is_ok() {
                receiver.recv().unwrap();
            }
        });
        fibre::spawn(move || other.close()).join().unwrap();
        busy.join().unwrap();
    });
}
