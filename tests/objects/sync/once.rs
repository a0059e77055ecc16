//! What happens once: `Once`, `OnceLock`, `LazyLock`.

use super::{caught, crowd};
use crate::support::{
    Latch, eventually, for_clusters, for_each_cluster, let_others_block, text_of, until_waiting,
};
use fibre::sync::{LazyLock, Once, OnceLock};
use fibre::{Limit, WaitKind};
use std::mem::{align_of, size_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One of a crowd initialises, and nobody goes on before it is done.
#[test]
fn one_initialises_and_all_wait() {
    for_each_cluster(|_| {
        for _ in 0..50 {
            let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
            let inside = Arc::clone(&shared);
            crowd(6, 2, move |_| {
                inside.0.call_once(|| {
                    fibre::sleep(Duration::from_micros(20));
                    inside.1.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(inside.1.load(Ordering::Relaxed), 1);
            });
            assert!(shared.0.is_completed());
        }
    });
}

/// All that std says about poisoning, of both: the same calls, the same ends.
#[test]
fn poisoning_is_that_of_std() {
    macro_rules! ends {
        ($once:ty, $lock:ty, $lazy:ty) => {{
            let mut ends = Vec::new();
            let once = <$once>::new();
            ends.push(caught(|| once.call_once(|| panic!("first"))).is_err());
            ends.push(once.is_completed());
            ends.push(caught(|| once.call_once(|| ())).is_err());
            ends.push(caught(|| once.wait()).is_err());
            let seen = AtomicBool::new(false);
            once.call_once_force(|state| seen.store(state.is_poisoned(), Ordering::SeqCst));
            ends.push(seen.load(Ordering::SeqCst));
            ends.push(once.is_completed());
            ends.push(caught(|| once.call_once(|| panic!("never"))).is_err());
            let lock = <$lock>::new();
            ends.push(caught(|| *lock.get_or_init(|| panic!("first"))).is_err());
            ends.push(lock.get().is_some());
            ends.push(*lock.get_or_init(|| 5) == 5);
            ends.push(lock.set(6) == Err(6));
            let lazy = <$lazy>::new(|| panic!("first"));
            ends.push(caught(|| *lazy).is_err());
            ends.push(caught(|| *lazy).is_err());
            ends
        }};
    }
    let of_std = ends!(
        std::sync::Once,
        std::sync::OnceLock<u32>,
        std::sync::LazyLock<u32>
    );
    let ours = move || ends!(Once, OnceLock<u32>, LazyLock<u32>);
    assert_eq!(ours(), of_std);
    for_clusters(&[1], move |_| assert_eq!(ours(), of_std));
}

/// Those who wait for an initialiser that panics: of a `Once` they panic, of a `OnceLock` one of
/// them makes the value.
#[test]
fn who_waits_for_a_panic_goes_on() {
    for_each_cluster(|_| {
        let shared = Arc::new((Once::new(), OnceLock::new(), AtomicUsize::new(0)));
        let running = Latch::new();
        let (inside, begun) = (Arc::clone(&shared), Arc::clone(&running));
        let failing = fibre::spawn(move || {
            let fail = || -> usize {
                let failed = caught(|| {
                    inside.0.call_once(|| {
                        begun.open();
                        fibre::sleep(Duration::from_millis(3));
                        panic!("half done");
                    });
                });
                assert!(failed.is_err());
                panic!("no value");
            };
            assert!(caught(|| *inside.1.get_or_init(fail)).is_err());
        });
        running.wait();
        let inside = Arc::clone(&shared);
        crowd(3, 2, move |me| {
            let (once, lock, made) = &*inside;
            if me % 2 == 0 {
                let failed = caught(|| once.call_once(|| ())).unwrap_err();
                assert!(text_of(&*failed).contains("poisoned"));
            } else {
                let make = || made.fetch_add(1, Ordering::SeqCst) + 1;
                assert_eq!(*lock.get_or_init(make), 1);
            }
        });
        failing.join().unwrap();
        assert_eq!(shared.2.load(Ordering::SeqCst), 1);
    });
}

/// An initialiser that needs what it initialises is told so, wherever it asks.
#[test]
fn own_calls_panic() {
    fn own_calls() {
        let (once, lock) = (Once::new(), OnceLock::<u32>::new());
        let lock = &lock;
        let own = |call: &dyn Fn()| {
            let failed = caught(call).unwrap_err();
            assert!(text_of(&*failed).contains("waits for itself"));
        };
        once.call_once(|| {
            own(&|| once.call_once(|| ()));
            own(&|| once.wait());
            own(&|| once.wait_force());
        });
        assert!(once.is_completed());
        lock.get_or_init(|| {
            fibre::yield_now();
            own(&|| assert_eq!(*lock.get_or_init(|| 1), 0));
            own(&|| assert!(lock.set(1).is_err()));
            own(&|| assert!(lock.wait_timeout(Duration::from_secs(30)).is_none()));
            2
        });
        assert_eq!(lock.get(), Some(&2));
    }
    own_calls();
    for_clusters(&[1], |_| own_calls());
}

/// Waits with limits end by the event or by the limit, and leave no trace.
#[test]
fn limits_end_waits() {
    for_each_cluster(|_| {
        let lock = Arc::new(OnceLock::new());
        let inside = Arc::clone(&lock);
        crowd(4, 2, move |me| {
            let deadline = Instant::now() + Duration::from_micros(300 * me as u64);
            assert!(inside.wait_within(deadline).is_err());
            assert!(Instant::now() >= deadline);
            assert!(inside.wait_timeout(Duration::ZERO).is_none());
        });
        let inside = Arc::clone(&lock);
        let waits = fibre::spawn(move || inside.wait_within(Limit::Cancellation).is_err());
        let_others_block();
        waits.cancel();
        assert!(waits.join().unwrap());
        let inside = Arc::clone(&lock);
        let endless = fibre::spawn(move || *inside.wait_timeout(Duration::MAX).unwrap());
        let_others_block();
        lock.set(7).unwrap();
        assert_eq!(endless.join().unwrap(), 7);
        assert_eq!(lock.wait_within(Instant::now()), Ok(&7));
        let inside = Arc::clone(&lock);
        let late = fibre::spawn(move || {
            eventually(fibre::is_cancelled);
            inside.wait_timeout(Duration::ZERO).copied()
        });
        late.cancel();
        assert_eq!(late.join().unwrap(), Some(7));
    });
}

/// Cells as mailboxes: written once, waited for by fibres and threads with and without deadlines,
/// freed by whoever is last.
#[test]
fn values_arrive() {
    for_each_cluster(|_| {
        for round in 0..100_usize {
            let cells: Arc<Vec<OnceLock<usize>>> =
                Arc::new((0..8).map(|_| OnceLock::new()).collect());
            let inside = Arc::clone(&cells);
            crowd(6, 2, move |me| {
                let next = &inside[(me + 1) % 8];
                if (me + round) % 3 == 0 {
                    fibre::yield_now();
                }
                inside[me].set(me).unwrap();
                let value = match (me + round) % 3 {
                    0 => next.wait(),
                    1 => next.wait_timeout(Duration::from_secs(30)).unwrap(),
                    _ => loop {
                        match next.wait_timeout(Duration::from_micros(5)) {
                            Some(value) => break value,
                            None => continue,
                        }
                    },
                };
                assert_eq!(*value, (me + 1) % 8);
            });
        }
    });
}

/// An initialiser that is cancelled says so, and the next one makes the value.
#[test]
fn cancelled_initialisers_leave_room() {
    for_each_cluster(|_| {
        let lock = Arc::new(OnceLock::new());
        let inside = Arc::clone(&lock);
        let never = Arc::new(OnceLock::<()>::new());
        let first = fibre::spawn(move || {
            let make = || never.wait_within(Limit::Cancellation).map(|()| 1);
            inside.get_or_try_init(make).is_err()
        });
        until_waiting(WaitKind::Once, &[first.id()]);
        let inside = Arc::clone(&lock);
        let second = fibre::spawn(move || *inside.get_or_init(|| 2));
        until_waiting(WaitKind::Once, &[second.id()]);
        first.cancel();
        assert!(first.join().unwrap());
        assert_eq!(second.join().unwrap(), 2);
    });
}

/// Small, zero at first, and usable where std's are.
#[test]
fn forms_of_std() {
    assert_eq!((size_of::<Once>(), align_of::<Once>()), (8, 8));
    let once = Once::new();
    // SAFETY: as large as the object, which outlives the borrow.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const once).cast::<u8>(), 8) };
    assert_eq!(bytes, [0; 8]);
    let mut lock = OnceLock::from(vec![1]);
    assert_eq!(
        format!("{lock:?} {:?}", OnceLock::<u8>::new()),
        "OnceLock([1]) OnceLock(<no value>)"
    );
    assert_eq!(lock.clone(), lock);
    lock.get_mut().unwrap().push(2);
    assert_eq!(lock.take(), Some(vec![1, 2]));
    assert_eq!(lock.into_inner(), None);
    let lazy = LazyLock::new(|| String::from("made"));
    assert_eq!(format!("{lazy:?}"), "LazyLock(<no value>)");
    assert_eq!(lazy.len(), 4);
    assert_eq!(format!("{lazy:?}"), "LazyLock(\"made\")");
    assert_eq!(*LazyLock::<u32>::default(), 0);
}

/// However many wait for an initialiser, each comes and goes without looking at the others. (If
/// it did, this would take minutes.)
#[test]
fn any_number_waits() {
    const CROWD: usize = 40_000;
    for_clusters(&[1], |_| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
        let mut crowd = Vec::new();
        shared.0.call_once(|| {
            crowd.extend((0..CROWD).map(|_| {
                let shared = Arc::clone(&shared);
                fibre::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.call_once(|| unreachable!("it is being done"));
                })
            }));
            eventually(|| shared.1.load(Ordering::Relaxed) == CROWD);
        });
        crowd.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}
