//! Time-outs within each other, shields, destructors, and what stays behind.

use crate::support::{for_each_cluster, watched};
use fibre::channel::bounded;
use fibre::sync::lock::Spinning;
use fibre::sync::{Event, LazyLock, Mutex, Once, Semaphore};
use fibre::{CancelToken, Cancelled, Limit, WaitError, cancellable, deadline, shield, timeout};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_secs(3600);

/// Runs a body in a fibre of each kind of cluster, and on a plain thread.
fn everywhere(body: fn()) {
    for_each_cluster(move |_| body());
    watched(move || std::thread::spawn(body).join().unwrap());
}

/// The shorter time ends the call, and the call is unwound to the one whose time is over.
#[test]
fn the_shorter_time_holds() {
    everywhere(|| {
        let inner = timeout(LONG, || timeout(SHORT, || fibre::sleep(LONG)).is_err());
        assert_eq!(inner, Ok(true), "the inner one was over");
        let mut returned = false;
        let outer = timeout(SHORT, || {
            let _ = timeout(LONG, || fibre::sleep(LONG));
            returned = true;
        });
        assert!(outer.is_err() && !returned, "the outer one was over");
        let within = timeout(SHORT, || timeout(LONG, || fibre::sleep_within(LONG)));
        // The inner time-out has been told that a call ended, and says so itself.
        let within = within.unwrap_err().into_value().unwrap();
        assert_eq!(within.unwrap_err().into_value(), Some(Err(Cancelled)));
    });
}

/// A time that is over later, and one that was over before, are no matter of later calls.
#[test]
fn nothing_is_left_behind() {
    everywhere(|| {
        for round in 0..200_u32 {
            let permits = Semaphore::new(1);
            let micros = Duration::from_micros(u64::from(round % 20));
            let _ = timeout(micros, || permits.acquire());
            assert!(!fibre::is_cancelled());
            assert_eq!(fibre::cancellation_point(), Ok(()));
            assert!(fibre::sleep_within(micros).is_ok());
            fibre::sleep(micros);
        }
    });
}

/// A call that need not wait succeeds even if the time is over; what asks is told.
#[test]
fn what_is_there_is_taken() {
    everywhere(|| {
        let late = timeout(Duration::ZERO, || {
            let permits = Semaphore::new(3);
            permits.acquire();
            assert_eq!(permits.acquire_within(LONG), Ok(()));
            assert!(fibre::is_cancelled());
            assert_eq!(
                permits.acquire_within(Limit::Cancellation),
                Err(WaitError::Cancelled)
            );
            assert_eq!(fibre::cancellation_point(), Err(Cancelled));
            permits.available()
        });
        assert_eq!(late.unwrap_err().into_value(), Some(1));
        assert_eq!(timeout(LONG, || 6 * 7), Ok(42));
        assert_eq!(timeout(Duration::MAX, || 6 * 7), Ok(42));
    });
}

/// In a shield nothing is noticed.
#[test]
fn a_shield_keeps_time_outs_out() {
    everywhere(|| {
        let slept = timeout(SHORT, || {
            let before = Instant::now();
            shield(|| {
                fibre::sleep(3 * SHORT);
                assert!(!fibre::is_cancelled());
                assert_eq!(
                    Semaphore::new(0).acquire_within(SHORT),
                    Err(WaitError::TimedOut)
                );
            });
            before.elapsed()
        });
        assert!(slept.unwrap() >= 4 * SHORT);
    });
}

/// A time-out that begins in a shield holds there, also when the time around the shield is over; so
/// does one in an initialiser, which is in a shield.
#[test]
fn a_time_out_in_a_shield_holds() {
    everywhere(|| {
        let around = timeout(SHORT, || {
            let _ = timeout(Duration::ZERO, fibre::is_cancelled);
            let inside = shield(|| {
                fibre::sleep(2 * SHORT);
                let granted = timeout(LONG, || Semaphore::new(1).acquire());
                let late = timeout(SHORT, || Semaphore::new(0).acquire());
                let shielded = timeout(SHORT, || shield(|| fibre::sleep(2 * SHORT)));
                let slept = timeout(LONG, || fibre::sleep(SHORT));
                [granted, late, shielded, slept].map(|result| result.is_ok())
            });
            assert_eq!(inside, [true, false, true, true]);
            Semaphore::new(0).acquire();
        });
        assert!(
            around.is_err(),
            "the time around the shield holds behind it"
        );
        let first = LazyLock::new(|| timeout(SHORT, || Semaphore::new(0).acquire()).is_err());
        assert!(*first);
    });
}

/// Waits for an event when it is dropped.
struct WaitsFor(Arc<Event>);

impl Drop for WaitsFor {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// A fibre whose destructor waits while it unwinds is no matter of other fibres of the processor:
/// their time-outs hold.
#[test]
fn time_outs_hold_beside_a_fibre_that_waits_while_it_unwinds() {
    watched(|| {
        let cluster = fibre::Cluster::builder().processors(1).build().unwrap();
        let body = || {
            let (go_on, unwinds) = (Arc::new(Event::new()), Arc::new(Event::new()));
            let waits = WaitsFor(Arc::clone(&go_on));
            let begun = Arc::clone(&unwinds);
            let first = fibre::spawn(move || {
                let _waits = waits;
                begun.set();
                resume_unwind(Box::new("of the first"));
            });
            unwinds.wait();
            fibre::yield_now();
            assert!(
                !std::thread::panicking(),
                "the first one has its panic with it"
            );
            assert!(timeout(SHORT, || Semaphore::new(0).acquire()).is_err());
            assert!(timeout(SHORT, || fibre::sleep(LONG)).is_err());
            let nested = timeout(LONG, || {
                timeout(SHORT, || bounded::<()>(1).1.recv()).is_err()
            });
            assert_eq!(nested, Ok(true));
            // One that does unwind is not unwound a second time.
            let dropped = AtomicU32::new(0);
            let late = timeout(SHORT, || {
                let _all = [WaitsAtDrop(&dropped), WaitsAtDrop(&dropped)];
                Semaphore::new(0).acquire();
            });
            assert!(late.is_err() && dropped.load(Ordering::Relaxed) == 2);
            go_on.set();
            assert!(first.join().is_err());
        };
        cluster.spawn(body).join().unwrap();
        cluster.stop();
    });
}

/// A destructor that runs because the stack is unwound waits as long as it likes.
struct WaitsAtDrop<'a>(&'a AtomicU32);

impl Drop for WaitsAtDrop<'_> {
    fn drop(&mut self) {
        assert!(std::thread::panicking());
        let permits = Arc::new(Semaphore::new(0));
        let released = Arc::clone(&permits);
        let fibre = fibre::spawn(move || {
            fibre::sleep(SHORT);
            released.release();
        });
        permits.acquire();
        fibre.join().unwrap();
        fibre::sleep(SHORT);
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// All destructors run, and may wait.
#[test]
fn destructors_run_and_may_wait() {
    everywhere(|| {
        let dropped = AtomicU32::new(0);
        let late = timeout(SHORT, || {
            let _all = [WaitsAtDrop(&dropped), WaitsAtDrop(&dropped)];
            fibre::sleep(LONG);
        });
        assert_eq!(late.unwrap_err().into_value(), None);
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    });
}

/// The end of a time is not mistaken for another panic, and the other way round.
#[test]
fn panics_pass_through() {
    everywhere(|| {
        let panics = || {
            let _ = timeout(LONG, || std::panic::resume_unwind(Box::new(7_u32)));
        };
        let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&7_u32));
        // Code that catches all panics does not keep the time from ending the next call.
        let late = timeout(SHORT, || {
            let caught = catch_unwind(|| fibre::sleep(LONG));
            assert!(caught.is_err());
            fibre::sleep(LONG);
        });
        assert_eq!(late.unwrap_err().into_value(), None);
    });
}

/// An initialiser is not ended by the time-out of the caller that happens to run it.
#[test]
fn initialisers_are_not_poisoned() {
    everywhere(|| {
        let lazy = LazyLock::new(|| {
            fibre::sleep(3 * SHORT);
            7
        });
        assert_eq!(timeout(SHORT, || *lazy), Ok(7));
        let once = Once::new();
        assert_eq!(
            timeout(SHORT, || once.call_once(|| fibre::sleep(3 * SHORT))),
            Ok(())
        );
        assert!(once.is_completed());
    });
}

/// A condition variable's mutex is locked again while the stack is unwound, also if another fibre
/// has it then.
#[test]
fn a_guard_that_is_unwound_has_its_lock() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(0_u32), fibre::sync::Condvar::new()));
        let others = Arc::clone(&shared);
        let holder = fibre::spawn(move || {
            // It has the mutex when the time is over.
            let mut guard = loop {
                let guard = others.0.lock();
                if *guard == 1 {
                    break guard;
                }
                drop(guard);
                fibre::yield_now();
            };
            fibre::sleep(30 * SHORT);
            *guard = 2;
        });
        let late = timeout(20 * SHORT, || {
            let mut guard = shared.0.lock();
            *guard = 1;
            shared.1.wait(&mut guard);
        });
        assert_eq!(late.unwrap_err().into_value(), None);
        assert_eq!(*shared.0.lock(), 2, "the unwinding waited for the holder");
        holder.join().unwrap();
    });
}

/// Cancellation ends calls that cannot fail where the program asks for it, and nowhere else.
#[test]
fn cancellation_unwinds_where_it_is_asked_for() {
    for_each_cluster(|_| {
        let permits = Arc::new(Semaphore::new(0));
        let inside = Arc::clone(&permits);
        let fibre = fibre::spawn(move || {
            let first = cancellable(|| inside.acquire());
            let second = cancellable(|| fibre::sleep(LONG));
            let third = cancellable(|| timeout(LONG, || inside.acquire()));
            // Outside, such calls do not notice.
            fibre::sleep(SHORT);
            let shielded = cancellable(|| shield(|| fibre::sleep(SHORT)));
            (first, second, third, shielded)
        });
        fibre.cancel();
        let ended = fibre.join().unwrap();
        assert_eq!(
            ended,
            (Err(Cancelled), Err(Cancelled), Err(Cancelled), Ok(()))
        );
        permits.release();
        assert!(permits.try_acquire());
    });
}

/// A time-out alone does not let a call that cannot fail notice cancellation.
#[test]
fn a_time_out_is_no_cancellation() {
    for_each_cluster(|_| {
        let token = CancelToken::new();
        token.cancel();
        let builder = fibre::Builder::new().cancel_token(&token);
        let fibre = builder.spawn(|| {
            let before = Instant::now();
            let slept = timeout(LONG, || fibre::sleep(SHORT));
            let late = timeout(SHORT, || Semaphore::new(0).acquire());
            (slept, late.unwrap_err().into_value(), before.elapsed())
        });
        let (slept, late, elapsed) = fibre.unwrap().join().unwrap();
        assert_eq!((slept, late), (Ok(()), None));
        assert!(elapsed >= 2 * SHORT);
    });
}

/// Limited forms of core and io that time-outs made worth having.
#[test]
fn limited_forms_give_up_and_go_on() {
    everywhere(|| {
        let mut interval = fibre::Interval::new(4 * SHORT);
        let (begun, first) = (Instant::now(), interval.clone().tick());
        assert!(Instant::now() >= first && first > begun);
        // It is due, and stays so if it is not taken.
        assert_eq!(interval.clone().tick_timeout(Duration::ZERO), Some(first));
        assert_eq!(fibre::Interval::new(LONG).tick_timeout(SHORT), None);
        assert_eq!(interval.tick_within(Instant::now()), Ok(first));
        let given_up = interval.tick_within(Instant::now());
        assert!(given_up == Err(WaitError::TimedOut) || Instant::now() >= first + 4 * SHORT);
        let next = given_up.or_else(|_| interval.tick_within(Limit::Cancellation));
        assert_eq!(next, Ok(first + 4 * SHORT));
        assert_eq!(interval.tick_within(Limit::None), Ok(first + 8 * SHORT));
        let handle = fibre::spawn(|| fibre::sleep_within(LONG)).join_on_drop();
        let handle = handle.join_timeout(SHORT).unwrap_err();
        handle.cancel();
        let ended = handle.join_within(Limit::Cancellation).unwrap();
        assert_eq!(ended.unwrap(), Err(Cancelled));
        let found = fibre::net::lookup_host_within("127.0.0.1:80", Limit::Cancellation);
        assert_eq!(found.unwrap().count(), 1);
    });
}

/// A program that writes much to both of its outputs ends, and one that is late is killed.
#[test]
fn a_late_program_is_killed_and_a_loud_one_is_heard() {
    for_each_cluster(|_| {
        let shell = |script: &str| {
            let mut command = fibre::process::Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let loud = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; head -c 9 /dev/zero";
        let output = shell(loud).output_timeout(LONG).unwrap().unwrap();
        assert!(output.status.success());
        assert_eq!(
            (output.stdout.len(), output.stderr.len()),
            (300_009, 300_000)
        );
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut late = shell("exec sleep 3600");
        late.stdin(writer);
        assert!(late.output_timeout(SHORT).unwrap().is_none());
        drop(late);
        // Nobody has the other end any more: the program has gone.
        let rest = fibre::blocking(|| reader.read(&mut [0; 8]));
        assert_eq!(rest.unwrap(), 0);
    });
}

/// A notification that a waiter has consumed is not lost if the time is over while it waits for the
/// mutex: the call returns.
#[test]
fn a_consumed_notification_is_not_lost() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(0_u32), fibre::sync::Condvar::new()));
        let others = Arc::clone(&shared);
        let notifier = fibre::spawn(move || {
            let mut guard = loop {
                let guard = others.0.lock();
                if *guard == 1 {
                    break guard;
                }
                drop(guard);
                fibre::yield_now();
            };
            others.1.notify_one();
            let told = Instant::now();
            // The waiter is awake, and cannot have the mutex before its time is over.
            fibre::sleep(20 * SHORT);
            *guard = 2;
            told
        });
        let end = Instant::now() + 10 * SHORT;
        let notified = deadline(end, || {
            let mut guard = shared.0.lock();
            *guard = 1;
            shared.1.wait(&mut guard);
            *guard
        });
        // On a slow machine, the time may be over before the notification.
        if notifier.join().unwrap() < end {
            assert_eq!(notified, Ok(2));
        }
    });
}

/// A lock whose waiters spin is given up, too.
#[test]
fn a_spinning_lock_is_given_up() {
    everywhere(|| {
        let lock: Mutex<u32, Spinning> = Mutex::with_lock(0);
        let held = lock.lock();
        fibre::scope(|scope| {
            let waits = scope.spawn(|| timeout(SHORT, || *lock.lock()).is_err());
            assert!(waits.join().unwrap());
            let waits = scope.spawn(|| cancellable(|| *lock.lock()).is_err());
            waits.cancel();
            assert!(waits.join().unwrap());
        });
        drop(held);
        assert_eq!(timeout(LONG, || *lock.lock()), Ok(0));
    });
}
