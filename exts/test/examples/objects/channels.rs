//! Channels, and selections among them.

use super::crowd::{Patience, ms, pause, start, sum};
use fibre::CancelToken;
use fibre::channel::{self, Receiver, SendTimeoutError, Sender};
use fibre::sync::Semaphore;
use fibre_test::Sim;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

/// What senders have sent, receivers receive, and what they could not send they get back.
fn account(sim: &Sim, (sender, receiver): (Sender<u64>, Receiver<u64>)) {
    let (token, back) = (&CancelToken::new(), &AtomicU64::new(0));
    let receives = |mut patience: Patience, receiver: Receiver<u64>| {
        move || {
            let mut sum = 0;
            loop {
                match receiver.recv_within(patience.limit()) {
                    Ok(value) => sum += value,
                    Err(_) if receiver.is_closed() && receiver.is_empty() => break sum,
                    Err(_) => {
                        patience = patience.after_failure();
                        fibre::sleep(ms(1));
                    }
                }
            }
        }
    };
    fibre::scope(|scope| {
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let patience = Patience::draw(sim);
                start(scope, token, receives(patience, receiver.clone()))
            })
            .collect();
        let senders: Vec<_> = [1, 10, 100]
            .into_iter()
            .map(|value| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                let (sender, back) = (sender.clone(), &back);
                start(scope, token, move || {
                    for _ in 0..2 {
                        let sent = sender.send_within(value, patience.limit());
                        if let Err(error) = sent {
                            let closed = matches!(error, SendTimeoutError::Closed(_));
                            assert!(!closed, "nobody has closed it");
                            back.fetch_add(error.into_inner(), SeqCst);
                        }
                        fibre::sleep(stay);
                    }
                    0
                })
            })
            .collect();
        drop((sender, receiver));
        fibre::sleep(ms(sim.draw(0..5)));
        token.cancel();
        sum(senders);
        assert_eq!(sum(receivers) + back.load(SeqCst), 222, "a value is lost");
    });
}

pub fn bounded(sim: &Sim) {
    account(sim, channel::bounded(1));
}

pub fn rendezvous(sim: &Sim) {
    account(sim, channel::rendezvous());
}

pub fn unbounded(sim: &Sim) {
    account(sim, channel::unbounded());
}

/// A sender that waits for room is told of it, though nobody receives any more.
pub fn room(sim: &Sim) {
    let (sender, receiver) = channel::bounded(1);
    fibre::scope(|scope| {
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let (sender, stay) = (&sender, pause(sim));
                scope.spawn(move || {
                    fibre::sleep(stay);
                    sender.send(())
                })
            })
            .collect();
        sim.advance(ms(3));
        assert!(receiver.recv().is_ok());
        for sender in senders {
            assert!(sender.join().expect("it panicked").is_ok());
        }
        assert_eq!(receiver.len(), 1);
    });
}

/// A future that is dropped leaves its value to others; so does a receiver that gives up.
pub fn futures(sim: &Sim) {
    let (sender, receiver) = channel::bounded(1);
    fibre::scope(|scope| {
        let (stay, other, sends) = (pause(sim), pause(sim), pause(sim));
        let (receiver, takes) = (&receiver, receiver.clone());
        let polls = scope.spawn(move || {
            let mut future = pin!(receiver.recv_async());
            let mut context = Context::from_waker(Waker::noop());
            match future.as_mut().poll(&mut context) {
                Poll::Ready(value) => value.unwrap_or(0),
                Poll::Pending => {
                    fibre::sleep(stay);
                    0
                }
            }
        });
        let takes = scope.spawn(move || {
            fibre::sleep(other);
            takes.recv_timeout(ms(5)).unwrap_or(0)
        });
        fibre::sleep(sends);
        let sent = sender.send(1);
        assert!(sent.is_ok(), "nobody has closed it");
        let got = sum([polls, takes]);
        assert_eq!(
            got + receiver.len() as u64,
            1,
            "the value is lost, or came twice"
        );
    });
}

/// Each receiver has all values in order, or is told how many it has missed.
pub fn broadcast(sim: &Sim) {
    let (sender, first) = channel::broadcast(2);
    let (token, behind) = (&CancelToken::new(), &AtomicU64::new(0));
    let others = [sender.subscribe(), sender.subscribe()];
    fibre::scope(|scope| {
        let receivers: Vec<_> = [first].into_iter().chain(others).collect();
        let fibres: Vec<_> = receivers
            .into_iter()
            .map(|mut receiver| {
                let (mut patience, stay) = (Patience::draw(sim), pause(sim));
                let leaves = sim.draw(0..4) == 0;
                behind.fetch_add(if leaves { 1 } else { 5 }, SeqCst);
                start(scope, token, move || {
                    let mut next = 0;
                    loop {
                        match receiver.recv_within(patience.limit()) {
                            Ok(received) => {
                                let passed = if leaves { 1 } else { received.missed + 1 };
                                behind.fetch_sub(passed, SeqCst);
                                next += received.missed;
                                assert_eq!(received.value, next, "another value");
                                next += 1;
                                if leaves {
                                    return 0;
                                }
                            }
                            Err(_) if receiver.is_closed() => break,
                            Err(_) => {
                                patience = patience.after_failure();
                                fibre::sleep(ms(1));
                            }
                        }
                        fibre::sleep(stay);
                    }
                    let rest = std::iter::from_fn(|| receiver.try_recv().ok());
                    rest.for_each(|received| next += 1 + received.missed);
                    assert_eq!(next, 5, "a value is lost");
                    0
                })
            })
            .collect();
        let stay = pause(sim);
        for value in 0..5_u64 {
            let _ = sender.send(value);
            fibre::sleep(stay);
        }
        token.cancel();
        sim.advance(ms(30));
        assert_eq!(
            behind.load(SeqCst),
            0,
            "somebody waits for a value that is there"
        );
        drop(sender);
        sum(fibres);
    });
}

/// Each receiver learns of the last change.
pub fn watch(sim: &Sim) {
    let (sender, first) = channel::watch(0);
    let token = &CancelToken::new();
    let others = [sender.subscribe(), sender.subscribe()];
    fibre::scope(|scope| {
        let fibres: Vec<_> = [first]
            .into_iter()
            .chain(others)
            .map(|mut receiver| {
                let (mut patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, token, move || {
                    let mut seen = 0;
                    while seen < 3 {
                        match receiver.changed_within(patience.limit()) {
                            Ok(()) => {
                                let now = *receiver.read_and_update();
                                assert!(now > seen, "it has not changed");
                                seen = now;
                            }
                            Err(_) => {
                                patience = patience.after_failure();
                                fibre::sleep(ms(1));
                            }
                        }
                        fibre::sleep(stay);
                    }
                    0
                })
            })
            .collect();
        let stay = pause(sim);
        for value in 1..4 {
            sender.send(value).expect("nobody has closed it");
            fibre::sleep(stay);
        }
        token.cancel();
        sum(fibres);
    });
}

/// An arm that is not chosen takes nothing.
pub fn select(sim: &Sim) {
    let (values, words) = (channel::bounded::<u64>(1), channel::rendezvous::<u64>());
    let (permits, token) = (&Semaphore::new(1), &CancelToken::new());
    let (got, sent) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let chooses = |patience: Patience| {
        fibre::select! {
            recv(values.1) -> value => got.fetch_add(value.unwrap_or(0), SeqCst),
            recv(words.1) -> value => got.fetch_add(value.unwrap_or(0), SeqCst),
            send(values.0, 1) -> done => sent.fetch_add(u64::from(done.is_ok()), SeqCst),
            permit = permits.permit_arm() => { fibre::yield_now(); drop(permit); 0 },
            within(patience.limit()) => 0,
        }
    };
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..3)
            .map(|_| {
                let patience = Patience::draw(sim);
                start(scope, token, move || {
                    (0..3).map(|_| chooses(patience)).sum()
                })
            })
            .collect();
        let others: Vec<_> = [(&values.0, 10), (&words.0, 100)]
            .into_iter()
            .map(|(sender, value)| {
                let (stay, sent) = (pause(sim), &sent);
                scope.spawn(move || {
                    fibre::sleep(stay);
                    let went = sender.send_timeout(value, ms(2));
                    sent.fetch_add(went.map_or(0, |()| value), SeqCst);
                    0
                })
            })
            .collect();
        permits.acquire();
        fibre::sleep(ms(sim.draw(0..4)));
        token.cancel();
        permits.release();
        sum(others);
        sum(fibres);
    });
    let rest: u64 = values.1.try_iter().sum();
    assert_eq!(
        got.load(SeqCst) + rest,
        sent.load(SeqCst),
        "a value is lost, or came twice"
    );
    assert_eq!(permits.available(), 1, "a permit is lost");
}
