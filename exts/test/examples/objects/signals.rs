//! Objects that count and tell: permits, events, notifications, barriers, groups of jobs.

use super::crowd::{Inside, Patience, ms, pause, start, sum};
use fibre::CancelToken;
use fibre::sync::{AutoEvent, Barrier, Event, Notify, Semaphore, WaitGroup};
use fibre_test::Sim;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Two permits, taken one or both at a time: all are there in the end.
pub fn semaphore(sim: &Sim) {
    let (permits, token, inside) = (&Semaphore::new(2), &CancelToken::new(), &Inside::default());
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..5)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                let count = 1 + sim.draw(0..2) as usize;
                start(scope, token, move || {
                    for _ in 0..2 {
                        let got = match count {
                            1 => permits.acquire_within(patience.limit()),
                            _ => permits.acquire_many_within(count, patience.limit()),
                        };
                        if got.is_ok() {
                            inside.stay(3 - count, stay);
                            (0..count).for_each(|_| permits.release());
                        }
                    }
                    0
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(1..6)));
        token.cancel();
        sum(fibres);
    });
    assert_eq!(permits.available(), 2, "permits are lost, or made");
}

/// What is set lets all go on until it is reset.
pub fn event(sim: &Sim) {
    let (event, token) = (&Event::new(), &CancelToken::new());
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..4)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, token, move || {
                    fibre::sleep(stay);
                    event.wait_within(patience.limit()).map_or(0, |()| 1)
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(0..4)));
        let cancels = sim.draw(0..2) == 0;
        if cancels {
            token.cancel();
        }
        event.set();
        sum(fibres);
        assert!(event.is_set() && event.try_wait(), "it is not set");
        assert!(event.reset() && !event.reset(), "it is still set");
    });
}

/// Each set lets one go on: one that waits, or one that comes later.
pub fn auto_event(sim: &Sim) {
    let event = &AutoEvent::new();
    let wait = |patience: Patience| event.wait_within(patience.limit()).is_ok();
    pass_on(sim, wait, || event.set());
    assert!(event.try_wait(), "a set is lost");
    assert!(!event.try_wait(), "one set lets two go on");
}

/// A notification is for one that waits, or is kept for the next one.
pub fn notify(sim: &Sim) {
    let notify = &Notify::new();
    let before = notify.notified();
    let wait = |patience: Patience| notify.wait_within(patience.limit()).is_ok();
    pass_on(sim, wait, || notify.notify_one());
    assert!(notify.try_wait(), "a notification is lost");
    assert!(!notify.try_wait(), "one notification lets two go on");
    broadcast_to_all(sim, notify, before);
}

/// Fibres wait, and each that goes on has another one go on. The first may come after a `signal`,
/// and in the end there is one signal left.
fn pass_on(
    sim: &Sim,
    wait: impl Fn(Patience) -> bool + Copy + Send + Sync,
    signal: impl Fn() + Copy + Send + Sync,
) {
    let (token, inside) = (&CancelToken::new(), &Inside::default());
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..4)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, token, move || {
                    fibre::sleep(stay);
                    let went = wait(patience);
                    if went {
                        inside.stay(1, stay);
                        // It is passed on, so nobody waits for ever.
                        signal();
                    }
                    u64::from(went)
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(0..4)));
        token.cancel();
        signal();
        sum(fibres);
    });
}

/// A notification of all is for those that wait, and for those that have said that they will.
fn broadcast_to_all(sim: &Sim, notify: &Notify, before: fibre::sync::Notified<'_>) {
    let said = [notify.notified(), notify.notified()];
    fibre::scope(|scope| {
        let waiting: Vec<_> = [pause(sim), ms(0)]
            .into_iter()
            .map(|stay| {
                scope.spawn(move || {
                    fibre::sleep(stay);
                    notify.wait_timeout(ms(1))
                })
            })
            .collect();
        let late: Vec<_> = said
            .into_iter()
            .map(|said| scope.spawn(move || said.wait()))
            .collect();
        fibre::sleep(ms(sim.draw(0..3)));
        notify.notify_waiters();
        late.into_iter()
            .for_each(|late| late.join().expect("it panicked"));
        waiting.into_iter().for_each(|fibre| drop(fibre.join()));
    });
    assert!(before.try_wait(), "it did not count");
    assert!(!notify.try_wait(), "a notification of all is kept");
}

/// Three parties: a round lets three go on, one of them as its leader.
pub fn barrier(sim: &Sim) {
    let (barrier, token) = (&Barrier::new(3), &CancelToken::new());
    let (leaders, passed) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let come = |patience: Patience| {
        let result = barrier.wait_within(patience.limit());
        if let Ok(result) = result {
            leaders.fetch_add(usize::from(result.is_leader()), SeqCst);
            passed.fetch_add(1, SeqCst);
        }
        result.is_ok()
    };
    fibre::scope(|scope| {
        let fibres: Vec<_> = (0..5)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, token, move || {
                    fibre::sleep(stay);
                    u64::from(come(patience))
                })
            })
            .collect();
        fibre::sleep(ms(sim.draw(1..6)));
        token.cancel();
        // Those without a limit that still wait have company.
        sim.advance(ms(9));
        while barrier.waiting() > 0 {
            match barrier.try_wait() {
                Some(result) => {
                    leaders.fetch_add(usize::from(result.is_leader()), SeqCst);
                    passed.fetch_add(1, SeqCst);
                }
                None => drop(scope.spawn(move || come(Patience::Endless))),
            }
            sim.settle();
        }
        sum(fibres);
    });
    let (leaders, passed) = (leaders.load(SeqCst), passed.load(SeqCst));
    assert_eq!(passed, 3 * leaders, "a round is not of three");
    assert_eq!(barrier.waiting(), 0);
}

/// All that wait go on when the last job is done.
pub fn wait_group(sim: &Sim) {
    let (jobs, token, done) = (&WaitGroup::new(), &CancelToken::new(), &AtomicUsize::new(0));
    jobs.add(3);
    fibre::scope(|scope| {
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let (patience, stay) = (Patience::draw(sim), pause(sim));
                start(scope, token, move || {
                    fibre::sleep(stay);
                    if jobs.wait_within(patience.limit()).is_ok() {
                        assert_eq!(done.load(SeqCst), 3, "it does not wait for all");
                    }
                    0
                })
            })
            .collect();
        for stay in [pause(sim), pause(sim), pause(sim)] {
            let (jobs, done) = (&jobs, &done);
            scope.spawn(move || {
                fibre::sleep(stay);
                done.fetch_add(1, SeqCst);
                jobs.done();
            });
        }
        fibre::sleep(ms(sim.draw(0..4)));
        token.cancel();
        sum(waiting);
        jobs.wait();
        assert!(jobs.try_wait(), "a job is not done");
    });
}
