//! Which calls notice that their fibre has been cancelled, and what they then say.

use super::never;
use crate::support::as_cancelled;
use crate::support::drops::OnDrop;
use crate::support::watched;
use crate::support::{Drops, Latch, eventually, for_clusters, for_each_cluster, let_others_block};
use fibre::sync::{Condvar, Mutex, Semaphore};
use fibre::{Builder, CancelToken, Cancelled, Cluster, JoinHandle, Limit, WaitError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the fibres of these tests wait for, and never get.
#[derive(Default)]
struct Shared {
    mutex: Mutex<()>,
    condition: (Mutex<bool>, Condvar),
    semaphore: Semaphore,
}

/// A call that waits, and says whether it gave up.
type Call = fn(&Shared) -> bool;

/// Every call of core and sync that ends when its fibre is cancelled.
const CALLS: [(&str, Call); 9] = [
    ("sleep", |_| {
        fibre::sleep_within(Duration::MAX) == Err(Cancelled)
    }),
    ("lock", |shared| {
        let guard = shared.mutex.lock_within(Limit::Cancellation);
        guard.err() == Some(WaitError::Cancelled)
    }),
    ("lock until a moment", |shared| {
        let guard = shared.mutex.lock_within(never());
        guard.err() == Some(WaitError::Cancelled)
    }),
    ("acquire", |shared| {
        shared.semaphore.acquire_within(Limit::Cancellation) == Err(WaitError::Cancelled)
    }),
    ("acquire until a moment", |shared| {
        shared.semaphore.acquire_within(never()) == Err(WaitError::Cancelled)
    }),
    ("wait", |shared| {
        let (mut guard, changed) = (shared.condition.0.lock(), &shared.condition.1);
        changed.wait_within(&mut guard, Limit::Cancellation) == Err(WaitError::Cancelled)
    }),
    ("wait until a moment", |shared| {
        let (mut guard, changed) = (shared.condition.0.lock(), &shared.condition.1);
        changed.wait_within(&mut guard, never()) == Err(WaitError::Cancelled)
    }),
    ("wait while", |shared| {
        let (mut guard, changed) = (shared.condition.0.lock(), &shared.condition.1);
        let waited = changed.wait_while_within(&mut guard, Limit::Cancellation, |there| !*there);
        waited == Err(WaitError::Cancelled)
    }),
    ("join until a moment", |_| {
        let latch = Latch::new();
        let waiting = Arc::clone(&latch);
        let handle = fibre::spawn(move || waiting.wait());
        let given_up = handle.join_within(never());
        latch.open();
        given_up.is_err()
    }),
];

/// Spawns a fibre that makes `call`, and cancels it: before it begins, or when it waits.
fn cancelled(shared: &Arc<Shared>, call: Call, waits: bool) -> JoinHandle<bool> {
    let inside = Arc::clone(shared);
    let fibre = fibre::spawn(move || call(&inside) && fibre::is_cancelled());
    if waits {
        let_others_block();
        assert!(!fibre.is_finished());
    }
    fibre.cancel();
    fibre
}

/// Each of these calls ends when the fibre is cancelled, and when it was before.
#[test]
fn waits_end() {
    for_each_cluster(|_| {
        let shared = Arc::new(Shared::default());
        let held = shared.mutex.lock();
        for waits in [true, false] {
            for (name, call) in CALLS {
                let fibre = cancelled(&shared, call, waits);
                assert!(fibre.join().unwrap(), "{name}, waits: {waits}");
            }
        }
        drop(held);
        assert!(shared.condition.0.try_lock().is_some());
        assert_eq!(shared.semaphore.available(), 0);
        shared.semaphore.release();
        assert!(shared.semaphore.try_acquire(), "nobody waits any more");
    });
}

/// Calls with a deadline try once; the others fail even if they had nothing to wait for.
#[test]
fn what_is_free_is_taken() {
    for_each_cluster(|_| {
        as_cancelled(|| {
            let (mutex, semaphore) = (Mutex::new(()), Semaphore::new(3));
            assert!(mutex.lock_within(never()).is_ok());
            assert!(mutex.lock_within(Limit::Cancellation).is_err());
            assert!(semaphore.acquire_within(never()).is_ok());
            assert!(semaphore.acquire_within(Limit::Cancellation).is_err());
            assert_eq!(semaphore.acquire_within(Limit::None), Ok(()));
            assert_eq!(semaphore.available(), 1);
            let ended = fibre::spawn(|| 3);
            eventually(|| ended.is_finished());
            assert_eq!(ended.join_within(never()).unwrap().unwrap(), 3);
            assert_eq!(fibre::cancellation_point(), Err(Cancelled));
        });
    });
}

/// A request wins over the end of the joined fibre that comes after it, though the caller runs only
/// when both have come.
#[test]
fn a_request_wins_over_a_later_end() {
    for_each_cluster(|cluster| {
        let token = CancelToken::new();
        let (cancels, begun) = (token.clone(), Latch::new());
        let waits = Arc::clone(&begun);
        let ends = cluster.spawn(move || {
            waits.wait();
            cancels.cancel();
        });
        let joins = Builder::new()
            .cancel_token(&token)
            .spawn_in(cluster, move || {
                begun.open();
                // It is refused where the request has come already.
                ends.join_within(Limit::Cancellation).is_err()
            });
        assert!(
            joins.unwrap().join().unwrap(),
            "it has joined what ended later"
        );
    });
}

/// Calls that cannot fail wait to the end, and so does everything in a shield.
#[test]
fn others_do_not_notice() {
    for_each_cluster(|_| {
        as_cancelled(|| {
            let before = Instant::now();
            fibre::sleep(Duration::from_millis(2));
            assert!(before.elapsed() >= Duration::from_millis(2));
            assert_eq!(fibre::spawn(wait_a_little).join().unwrap(), 7);
            let children = fibre::scope(|scope| {
                scope.spawn(wait_a_little);
                scope.spawn(wait_a_little).join().unwrap()
            });
            assert_eq!(children, 7);
            assert_eq!(fibre::blocking(|| 7), 7);
            let latch = Latch::new();
            let opening = Arc::clone(&latch);
            let opener = fibre::spawn(move || {
                wait_a_little();
                opening.open();
            });
            latch.wait();
            opener.join().unwrap();
        });
        as_cancelled(|| {
            let shielded = fibre::shield(|| {
                let inner = fibre::shield(fibre::cancellation_point);
                let deadline = Instant::now() + Duration::from_millis(2);
                let acquired = Semaphore::new(0).acquire_within(deadline);
                assert_eq!(acquired, Err(WaitError::TimedOut));
                assert!(Instant::now() >= deadline);
                assert!(!fibre::is_cancelled());
                inner.and(fibre::sleep_within(Duration::from_millis(1)))
            });
            assert_eq!(shielded, Ok(()));
            let _ = std::panic::catch_unwind(|| {
                fibre::shield(|| std::panic::resume_unwind(Box::new(())))
            });
            assert!(fibre::is_cancelled(), "a panic lowers the shield, too");
        });
    });
}

/// Ends with 7, but not at once.
fn wait_a_little() -> i32 {
    for _ in 0..10 {
        fibre::yield_now();
    }
    fibre::sleep(Duration::from_millis(1));
    7
}

/// A fibre that waits in a shield is not cancelled there, but afterwards.
#[test]
fn a_shield_delays() {
    for_each_cluster(|_| {
        let semaphore = Arc::new(Semaphore::new(0));
        let inside = Arc::clone(&semaphore);
        let fibre = fibre::spawn(move || {
            let first = fibre::shield(|| inside.acquire_within(Limit::Cancellation));
            (first, inside.acquire_within(Limit::Cancellation))
        });
        let_others_block();
        fibre.cancel();
        let_others_block();
        assert!(!fibre.is_finished());
        semaphore.release();
        assert_eq!(fibre.join().unwrap(), (Ok(()), Err(WaitError::Cancelled)));
    });
}

/// A cancelled fibre that tries again and again lets the others of its processor run.
#[test]
fn a_loop_of_failures_blocks_nobody() {
    for_clusters(&[1], |_| {
        type Try = fn(&Semaphore) -> bool;
        let tries: [Try; 2] = [
            |semaphore| semaphore.acquire_within(never()).is_ok(),
            |semaphore| {
                let acquired = semaphore.acquire_within(Limit::Cancellation);
                acquired.is_ok() || semaphore.try_acquire()
            },
        ];
        for again in tries {
            let semaphore = Arc::new(Semaphore::new(0));
            let inside = Arc::clone(&semaphore);
            let releaser = fibre::spawn(move || {
                wait_a_little();
                inside.release();
            });
            as_cancelled(move || while !again(&semaphore) {});
            releaser.join().unwrap();
        }
    });
}

/// Cancelling is not for threads, for ended fibres, or for others.
#[test]
fn nobody_else_is_cancelled() {
    watched(|| {
        assert!(!fibre::is_cancelled());
        assert_eq!(fibre::cancellation_point(), Ok(()));
        assert_eq!(fibre::shield(|| 5), 5);
        let deadline = Instant::now() + Duration::from_millis(1);
        assert_eq!(fibre::sleep_within(Duration::from_millis(1)), Ok(()));
        assert!(Instant::now() >= deadline);
    });
    for_each_cluster(|_| {
        let ended = fibre::spawn(|| 1);
        eventually(|| ended.is_finished());
        ended.cancel();
        ended.cancel();
        assert_eq!(ended.join().unwrap(), 1);
        let all_told = Latch::new();
        let fibres: Vec<_> = (0..20)
            .map(|_| {
                let told = Arc::clone(&all_told);
                fibre::spawn(move || {
                    told.wait();
                    fibre::is_cancelled()
                })
            })
            .collect();
        let_others_block();
        fibres.iter().step_by(2).for_each(JoinHandle::cancel);
        all_told.open();
        for (index, fibre) in fibres.into_iter().enumerate() {
            assert_eq!(fibre.join().unwrap(), index % 2 == 0);
        }
    });
}

/// A fibre that is cancelled before it begins drops its closure on a stack, as any other.
#[test]
fn unstarted_fibres_run() {
    for_clusters(&[1], |_| {
        let drops = Drops::new();
        let value = drops.value();
        let fibre = fibre::spawn(move || {
            let _value = value;
            fibre::is_cancelled()
        });
        fibre.cancel();
        assert!(fibre.join().unwrap());
        assert_eq!(drops.count(), 1);
    });
}

/// Foreign threads, and fibres of other clusters, may cancel.
#[test]
fn cancelled_from_outside() {
    watched(|| {
        for _ in 0..50 {
            let cluster = Cluster::builder().processors(1).build().unwrap();
            let fibre = cluster.spawn(|| fibre::sleep_within(Duration::MAX));
            fibre.cancel();
            assert_eq!(fibre.join().unwrap(), Err(Cancelled));
            let fibre = cluster.spawn(|| fibre::sleep_within(Duration::MAX));
            let other = Cluster::builder().processors(1).build().unwrap();
            let canceller = other.spawn(move || {
                fibre::sleep(Duration::from_micros(100));
                fibre.cancel();
                fibre.join().unwrap()
            });
            assert_eq!(canceller.join().unwrap(), Err(Cancelled));
            cluster.stop();
            other.stop();
        }
    });
}

/// A cancelled fibre that unwinds waits in destructors as before.
#[test]
fn destructors_wait() {
    for_each_cluster(|_| {
        let fibre = fibre::spawn(|| {
            let _waits = OnDrop(|| {
                assert!(fibre::sleep_within(Duration::MAX).is_err());
                fibre::sleep(Duration::from_millis(1));
            });
            let cancelled = fibre::sleep_within(Duration::MAX);
            std::panic::resume_unwind(Box::new(cancelled));
        });
        let_others_block();
        fibre.cancel();
        let payload = fibre.join().unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&Err::<(), _>(Cancelled)));
    });
}
