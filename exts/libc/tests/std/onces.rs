//! `Barrier`, `Once`, `OnceLock`, `LazyLock`.

use crate::support::{SHORT, panics_there, panics_with};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{TryRecvError, channel};
use std::sync::{Arc, Barrier, LazyLock, Once, OnceLock};
use std::thread;

/// How many threads storm something.
const THREADS: usize = 8;

pub(crate) fn barriers_choose_a_leader() {
    let barrier = Arc::new(Barrier::new(THREADS));
    let (send, receive) = channel();
    for _ in 0..THREADS - 1 {
        let (barrier, send) = (Arc::clone(&barrier), send.clone());
        thread::spawn(move || send.send(barrier.wait().is_leader()).unwrap());
    }
    drop(send);
    // All of them wait for the caller.
    thread::yield_now();
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    let own = barrier.wait().is_leader();
    let leaders = receive.iter().chain([own]).filter(|leads| *leads);
    assert_eq!(leaders.count(), 1);
}

pub(crate) fn barriers_are_used_again() {
    let barrier = Arc::new(Barrier::new(3));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || (0..20).filter(|_| barrier.wait().is_leader()).count())
        })
        .collect();
    let leaders: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(leaders, 20);
}

pub(crate) fn once_runs_once() {
    let (once, count) = (Once::new(), Cell::new(0));
    assert!(!once.is_completed());
    for _ in 0..2 {
        once.call_once(|| count.set(count.get() + 1));
    }
    assert_eq!((once.is_completed(), count.get()), (true, 1));
}

pub(crate) fn once_is_stormed() {
    let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.call_once(|| {
                    thread::yield_now();
                    shared.1.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(shared.1.load(Ordering::Relaxed), 1);
            })
        })
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
}

/// A `Once` that has been poisoned.
fn poisoned() -> Arc<Once> {
    let once = Arc::new(Once::new());
    let theirs = Arc::clone(&once);
    panics_there(move || theirs.call_once(|| panic!("poisons")));
    once
}

pub(crate) fn once_is_poisoned() {
    let once = poisoned();
    assert!(panics_with(|| once.call_once(|| {})).contains("poisoned"));
    assert!(!once.is_completed());
}

pub(crate) fn once_is_forced() {
    let (once, was_poisoned) = (poisoned(), Cell::new(false));
    once.call_once_force(|state| was_poisoned.set(state.is_poisoned()));
    assert!(was_poisoned.get() && once.is_completed());
    once.call_once(|| panic!("it has run"));
}

pub(crate) fn once_forces_one_that_runs() {
    let once = poisoned();
    let ((tell, told), (go, goes)) = (channel(), channel());
    let theirs = Arc::clone(&once);
    let first = thread::spawn(move || {
        theirs.call_once_force(|_| {
            tell.send(()).unwrap();
            goes.recv().unwrap();
        });
    });
    told.recv().unwrap();
    // One that runs is waited for, and is not run again.
    let second = thread::spawn(move || once.call_once(|| panic!("it runs")));
    thread::yield_now();
    go.send(()).unwrap();
    first.join().unwrap();
    second.join().unwrap();
}

pub(crate) fn once_is_waited_for() {
    let (once, value) = (Once::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                once.wait();
                assert_eq!(value.load(Ordering::Relaxed), 1);
            });
        }
        thread::sleep(SHORT);
        once.call_once(|| value.store(1, Ordering::Relaxed));
    });
    once.wait();
}

pub(crate) fn once_is_waited_for_in_vain() {
    let once = poisoned();
    assert!(!panics_with(|| once.wait()).is_empty());
    let forced = Arc::clone(&once);
    thread::scope(|scope| {
        let waits = scope.spawn(|| once.wait_force());
        thread::yield_now();
        forced.call_once_force(|_| ());
        waits.join().unwrap();
    });
}

pub(crate) fn cells_are_set_once() {
    let cell = OnceLock::new();
    assert!(cell.get().is_none());
    assert_eq!((cell.set(1), cell.set(2)), (Ok(()), Err(2)));
    assert_eq!(cell.get(), Some(&1));
}

pub(crate) fn cells_are_filled_once() {
    static CELL: OnceLock<String> = OnceLock::new();
    let filled = thread::spawn(|| CELL.get_or_init(|| "first".to_owned()).len());
    assert_eq!(filled.join().unwrap(), 5);
    assert_eq!(CELL.get_or_init(|| "second".to_owned()), "first");
}

pub(crate) fn cells_give_access() {
    let mut cell = OnceLock::new();
    assert!(cell.get_mut().is_none());
    cell.set(90).unwrap();
    *cell.get_mut().unwrap() += 2;
    assert_eq!(cell.get(), Some(&92));
    assert_eq!((cell.take(), cell.get()), (Some(92), None));
}

pub(crate) fn cells_are_cloned_and_compared() {
    let (first, second) = (OnceLock::from("text".to_owned()), OnceLock::new());
    assert_eq!(first.clone(), first);
    assert_ne!(first, second);
    second.set("text".to_owned()).unwrap();
    assert_eq!(first, second);
}

pub(crate) fn cells_give_their_value() {
    assert_eq!(OnceLock::from(1).into_inner(), Some(1));
    assert_eq!(OnceLock::<i32>::new().into_inner(), None);
}

pub(crate) fn cells_show_whole_values() {
    for _ in 0..20 {
        let cell: OnceLock<String> = OnceLock::new();
        let (first, second) = ("a".repeat(9), "b".repeat(9));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = cell.set(first.clone());
            });
            scope.spawn(|| {
                let _ = cell.set(second.clone());
            });
            scope.spawn(|| {
                let seen = cell.get();
                assert!(seen.is_none_or(|seen| *seen == first || *seen == second));
            });
        });
        assert!(cell.get().is_some());
    }
}

pub(crate) fn cells_are_waited_for() {
    let cell = OnceLock::new();
    thread::scope(|scope| {
        let waits = scope.spawn(|| *cell.wait());
        thread::sleep(SHORT);
        cell.set(7).unwrap();
        assert_eq!(waits.join().unwrap(), 7);
    });
}

pub(crate) fn cells_survive_panics() {
    let cell = OnceLock::new();
    let fill = AssertUnwindSafe(|| {
        cell.get_or_init(|| panic!("fills nothing"));
    });
    assert!(catch_unwind(fill).is_err());
    assert!(cell.get().is_none());
    assert_eq!(cell.get_or_init(|| 1), &1);
}

pub(crate) fn cells_are_stormed() {
    let (cell, fills) = (OnceLock::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (cell, fills) = (&cell, &fills);
            scope.spawn(move || {
                cell.get_or_init(|| {
                    thread::yield_now();
                    fills.fetch_add(1, Ordering::Relaxed);
                    number
                });
            });
        }
    });
    assert_eq!(fills.into_inner(), 1);
}

pub(crate) fn lazies_are_made_once() {
    let count = AtomicUsize::new(0);
    let lazy = LazyLock::new(|| count.fetch_add(1, Ordering::Relaxed) + 92);
    assert_eq!((*lazy, *lazy), (92, 92));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

pub(crate) fn lazies_are_made_at_first_use() {
    let count = AtomicUsize::new(0);
    let lazy = LazyLock::new(|| count.fetch_add(1, Ordering::Relaxed));
    assert_eq!(count.load(Ordering::Relaxed), 0);
    thread::scope(|scope| {
        scope.spawn(|| LazyLock::force(&lazy));
    });
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

pub(crate) fn lazies_in_statics() {
    static LAZY: LazyLock<Vec<i32>> = LazyLock::new(|| vec![1, 2, 3]);
    let there = thread::spawn(|| LAZY.iter().sum::<i32>());
    assert_eq!(there.join().unwrap(), 6);
    assert_eq!(*LAZY, [1, 2, 3]);
}

pub(crate) fn lazies_are_poisoned() {
    let lazy: LazyLock<String> = LazyLock::new(|| panic!("makes nothing"));
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| lazy.len())).is_err());
    }
}

pub(crate) fn lazies_have_defaults() {
    let lazy: LazyLock<Vec<i32>> = LazyLock::default();
    assert!(lazy.is_empty());
    assert!(format!("{:?}", LazyLock::new(|| 1)).contains("<uninit>"));
}

pub(crate) fn lazies_are_stormed() {
    let count = AtomicUsize::new(0);
    let lazy = LazyLock::new(|| {
        thread::yield_now();
        count.fetch_add(1, Ordering::Relaxed)
    });
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| assert_eq!(*lazy, 0));
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

pub(crate) fn lazies_may_wait() {
    let lazy = LazyLock::new(|| {
        thread::sleep(SHORT);
        5
    });
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(*lazy, 5));
        }
    });
}
