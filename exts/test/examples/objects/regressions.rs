//! Faults that fibre once had, each as a scenario that it would fail.

use super::crowd::{ms, pause};
use fibre::activity::{Activity, Work};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::{Mutex, OnceLock, RwLock, Semaphore};
use fibre::{Builder, CancelToken, Group, GroupError, Limit, group};
use fibre_test::Sim;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Instant;

/// A fibre that takes a lock again and again keeps it from others for a while only.
pub fn starvation(sim: &Sim) {
    let (lock, shared, writes) = (Mutex::new(()), RwLock::new(()), sim.draw(0..2) == 0);
    let enough = AtomicBool::new(false);
    let begun = Instant::now();
    fibre::scope(|scope| {
        scope.spawn(|| {
            while !enough.load(SeqCst) {
                assert!(begun.elapsed() < ms(100), "the other one starves");
                let _guards = (lock.lock(), shared.write());
                fibre::sleep(ms(1));
            }
        });
        scope.spawn(|| {
            fibre::sleep(ms(1));
            match writes {
                true => drop(lock.lock()),
                false => drop(shared.write()),
            }
            enough.store(true, SeqCst);
        });
    });
}

/// A lock that was given back is kept for nobody who does not run yet.
pub fn free_lock(_: &Sim) {
    let lock = RwLock::new(());
    fibre::scope(|scope| {
        let guard = lock.write();
        for _ in 0..2 {
            scope.spawn(|| drop(lock.write()));
        }
        fibre::sleep(ms(1));
        drop(guard);
        assert!(
            lock.try_write().is_some(),
            "it is kept for a fibre that does not run"
        );
    });
}

/// Sleeps when it is dropped.
struct Lingers;

impl Drop for Lingers {
    fn drop(&mut self) {
        let begun = Instant::now();
        fibre::sleep(ms(5));
        assert!(
            begun.elapsed() >= ms(5),
            "a sleep in a destructor was cut short"
        );
    }
}

/// A destructor waits while its stack unwinds; others do not seem to unwind meanwhile.
pub fn unwinding(sim: &Sim) {
    fibre::scope(|scope| {
        let unwinds = scope.spawn(|| {
            let ended = fibre::timeout(ms(2), || {
                let _lingers = Lingers;
                fibre::sleep(ms(9));
            });
            assert!(ended.is_err() && !std::thread::panicking());
        });
        for _ in 0..2 {
            let stay = pause(sim);
            scope.spawn(move || {
                fibre::sleep(stay + ms(1));
                for _ in 0..4 {
                    assert!(!std::thread::panicking(), "another one unwinds");
                    let begun = Instant::now();
                    assert!(fibre::timeout(ms(1), || fibre::sleep(ms(9))).is_err());
                    assert!(begun.elapsed() <= ms(1), "its time-out did not come");
                }
            });
        }
        unwinds.join().expect("it panicked");
    });
}

/// A value with a destructor that panics.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        resume_unwind(Box::new("dropped"));
    }
}

/// A fibre that panics.
fn fails() -> Result<(), ()> {
    resume_unwind(Box::new("failed"))
}

/// What a group has at its end is dropped each by itself; and it is cancelled though its failure
/// drops a value with a panic.
pub fn drops(sim: &Sim) {
    let stays = [0; 2].map(|_| pause(sim));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        group(|group| {
            for (stay, last) in stays.into_iter().zip([false, true]) {
                group.spawn(move || {
                    fibre::sleep(stay);
                    if last { fails() } else { Ok(()) }
                });
            }
            Ok(Panics)
        })
    }));
    assert!(
        ended.is_err_and(|payload| payload.is::<&str>()),
        "another end"
    );
}

/// A group that has failed ends its other fibres, though a result that it drops panics.
pub fn failing_drop(sim: &Sim) {
    let stay = pause(sim);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Group::builder().run(|group| {
            group.spawn(|| Ok(Some(Panics)));
            group.spawn(|| fibre::sleep_within(ms(1000)).map(|()| None).map_err(drop));
            group.spawn(move || {
                fibre::sleep(ms(1) + stay);
                Err(())
            });
            Ok(())
        })
    }));
    assert!(sim.now() < ms(1000), "it was not cancelled");
    assert!(ended.is_err(), "a panic is lost");
}

/// A loop of short time-outs can be cancelled, also if each is over when it begins.
pub fn short_time_outs(sim: &Sim) {
    let (token, time, stay) = (CancelToken::new(), ms(sim.draw(0..2)), pause(sim));
    let loops = Builder::new().cancel_token(&token).spawn(move || {
        fibre::sleep(ms(1));
        fibre::cancellable(|| {
            for _ in 0..50 {
                let _ = fibre::timeout(time, || Semaphore::new(0).acquire());
            }
        })
    });
    match stay.is_zero() || time.is_zero() {
        true => {}
        false => fibre::sleep(ms(5)),
    }
    token.cancel();
    let ended = loops.expect("no fibre").join().expect("it panicked");
    assert!(ended.is_err(), "it was not cancelled");
}

/// The calls of an initialiser notice cancellation.
pub fn initialiser(sim: &Sim) {
    let (cell, token, stay) = (Arc::new(OnceLock::new()), CancelToken::new(), pause(sim));
    let own = Arc::clone(&cell);
    let makes = Builder::new().cancel_token(&token).spawn(move || {
        let never = Semaphore::new(0);
        own.get_or_try_init(|| never.acquire_within(Limit::Cancellation))
            .is_err()
    });
    fibre::sleep(stay);
    token.cancel();
    assert!(makes.expect("no fibre").join().expect("it panicked"));
    assert!(cell.get().is_none());
}

/// A selection without arms panics, and does not wait for ever.
pub fn no_arms(_: &Sim) {
    let asks = || fibre::select::any(&mut [] as &mut [fibre::select::RecvArm<'_, u8>]);
    assert!(catch_unwind(AssertUnwindSafe(asks)).is_err());
}

/// Holds the next one of a chain.
struct Link(Option<Activity<Link>>);

impl Work for Link {
    fn run(this: &Activity<Self>) {
        let _ = this.0.is_some();
    }
}

/// A long chain of activities, each held by the one before, ends on a small stack.
pub fn chain(_: &Sim) {
    let mut last = None;
    for _ in 0..3000 {
        last = Some(Activity::new(None, Link(last)).expect("no activity"));
    }
    drop(last);
}

/// A scope does not wait for a fibre that could not be started.
pub fn failed_spawn(_: &Sim) {
    fibre::scope(|scope| {
        let huge = Builder::new().stack_size(usize::MAX / 4).eager_stack();
        assert!(
            huge.spawn_scoped(scope, || ()).is_err(),
            "there is room for everything"
        );
        scope.spawn(fibre::yield_now);
    });
}

/// A call that has let others run notices that one of them has cancelled it; and an empty buffer is
/// not the end.
pub fn cancelled_reads(sim: &Sim) {
    let (server, client) = (sim.host("server"), sim.host("client"));
    server.run(|| {
        let (mut stream, _) = TcpListener::bind("0.0.0.0:1")?.accept()?;
        fibre::sleep(ms(1));
        stream.write_all(&[1; 16])?;
        fibre::sleep(ms(100));
        io::Result::Ok(())
    });
    sim.settle();
    let token = CancelToken::new();
    let own = token.clone();
    let reads = client.run(move || {
        let mut stream = TcpStream::connect("server:1").expect("no connection");
        let begun = Instant::now();
        assert_eq!(stream.read(&mut []).expect("it failed"), 0);
        assert!(
            begun.elapsed().is_zero(),
            "it waited for bytes that it has no room for"
        );
        fibre::sleep(ms(2));
        let reads = Builder::new().cancel_token(&own).spawn(move || {
            for _ in 0..16 {
                match stream.read(&mut [0]) {
                    Ok(count) => assert!(
                        count == 1 && !fibre::is_cancelled(),
                        "it did not notice a request"
                    ),
                    Err(error) => return assert!(fibre::is_cancelled_error(&error), "{error}"),
                }
            }
        });
        reads.expect("no fibre").join().expect("it panicked");
    });
    fibre::sleep(ms(2));
    (0..sim.draw(0..8)).for_each(|_| fibre::yield_now());
    token.cancel();
    reads.join().expect("it panicked");
}

/// The error of a group that is over is that of its time.
pub fn late_result(sim: &Sim) {
    let stay = ms(1 + sim.draw(0..4));
    let ended = Group::builder().timeout(ms(3)).run(|group| {
        group.spawn(move || {
            let came = fibre::sleep_within(stay);
            Ok::<_, ()>(came.is_ok())
        });
        // The body has its result in any case, and the group decides whether that counts.
        Ok(fibre::shield(|| group.next()))
    });
    match ended {
        Ok(came) => assert!(came == Some(true) && stay <= ms(3), "a result that is none"),
        Err(error) => assert!(error == GroupError::TimedOut && stay >= ms(3)),
    }
}
