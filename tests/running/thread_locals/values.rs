//! Values of `thread_local!`.

use super::{for_crowds, for_each_kind};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

thread_local! {
    static CELL: Cell<usize> = const { Cell::new(0) };
    static LIST: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static SHARED: RefCell<Option<Rc<Cell<usize>>>> = const { RefCell::new(None) };
    static ONLY: RefCell<Option<OnDrop>> = const { RefCell::new(None) };
    static SLOW: usize = {
        fibre::sleep(Duration::from_millis(1));
        CELL.get()
    };
}

/// Calls a function when it is dropped.
struct OnDrop(Box<dyn Fn()>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// An address that was taken before a move is the value's after it.
#[test]
fn values_stay_where_they_are() {
    for_crowds(100, |number| {
        CELL.with(|cell| {
            cell.set(number);
            for _ in 0..50 {
                fibre::yield_now();
                assert_eq!((cell.get(), CELL.get()), (number, number));
                CELL.with(|again| assert!(std::ptr::eq(cell, again)));
            }
        });
    });
}

#[test]
fn a_borrow_may_last_over_waits() {
    for_crowds(100, |number| {
        LIST.with(|list| {
            let mut list = list.borrow_mut();
            for step in 0..20 {
                list.push(number + step);
                fibre::yield_now();
            }
            assert!(LIST.with(|same| same.try_borrow().is_err()));
        });
        let sum: usize = LIST.take().iter().sum();
        assert_eq!(sum, 20 * number + 190);
    });
}

/// What is not `Send` may be on a stack and in a thread-local, as both belong to the fibre.
#[test]
fn what_is_not_send_moves_with_its_fibre() {
    for_crowds(100, |_| {
        let count = Rc::new(Cell::new(0));
        SHARED.set(Some(Rc::clone(&count)));
        for _ in 0..50 {
            let same = SHARED.with_borrow(|shared| shared.clone().unwrap());
            same.set(same.get() + 1);
            fibre::yield_now();
        }
        assert_eq!((count.get(), Rc::strong_count(&count)), (50, 2));
    });
}

/// Destructors run at the end of a fibre, before a join returns; they may wait, and find the
/// fibre's other values.
#[test]
fn destructors_run_before_a_join_returns() {
    for_each_kind(|_| {
        let ended = Arc::new(AtomicUsize::new(0));
        for number in 1..=50 {
            let count = Arc::clone(&ended);
            let fibre = fibre::spawn(move || {
                CELL.set(number);
                let on_drop = move || {
                    fibre::yield_now();
                    assert_eq!(CELL.get(), number);
                    count.fetch_add(1, Ordering::Relaxed);
                };
                ONLY.set(Some(OnDrop(Box::new(on_drop))));
                fibre::yield_now();
            });
            fibre.join().unwrap();
            assert_eq!(ended.load(Ordering::Relaxed), number);
        }
    });
}

/// A destructor may use a value for the first time, and that has a destructor, too.
#[test]
fn destructors_may_make_values() {
    thread_local! {
        static LATE: RefCell<Option<OnDrop>> = const { RefCell::new(None) };
    }
    for_each_kind(|_| {
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let ended = Arc::clone(&ended);
            let fibre = fibre::spawn(move || {
                let late = move || {
                    let ended = Arc::clone(&ended);
                    let last = move || {
                        ended.fetch_add(1, Ordering::Relaxed);
                    };
                    LATE.set(Some(OnDrop(Box::new(last))));
                };
                ONLY.set(Some(OnDrop(Box::new(late))));
            });
            fibre.join().unwrap();
        }
        assert_eq!(ended.load(Ordering::Relaxed), 50);
    });
}

/// The next fibre on a stack finds nothing of the one before.
#[test]
fn each_fibre_begins_with_new_values() {
    for_each_kind(|_| {
        let mut places = Vec::new();
        for number in 1..=100 {
            let fibre = fibre::spawn(move || {
                assert_eq!(CELL.get(), 0);
                assert!(LIST.with_borrow(Vec::is_empty));
                CELL.set(number);
                LIST.with_borrow_mut(|list| list.push(number));
                CELL.with(|cell| std::ptr::from_ref(cell).addr())
            });
            places.push(fibre.join().unwrap());
        }
        places.sort_unstable();
        places.dedup();
        assert!(places.len() < 100, "no block was used twice");
    });
}

/// An initialiser may wait: nobody else asks for the same value meanwhile.
#[test]
fn initialisers_may_wait() {
    for_crowds(20, |number| {
        CELL.set(number);
        assert_eq!(SLOW.with(|slow| *slow), number);
    });
}

/// A fibre that panics, or is cancelled, ends its values like any other.
#[test]
fn values_of_fibres_that_unwind_are_dropped() {
    for_each_kind(|_| {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ended);
        let prepare = move || {
            let count = Arc::clone(&count);
            let on_drop = move || {
                assert!(!std::thread::panicking());
                count.fetch_add(1, Ordering::Relaxed);
            };
            ONLY.set(Some(OnDrop(Box::new(on_drop))));
        };
        let prepare = Arc::new(prepare);
        for _ in 0..20 {
            let first = Arc::clone(&prepare);
            let fibre = fibre::spawn(move || {
                first();
                std::panic::resume_unwind(Box::new("a payload"));
            });
            assert!(fibre.join().is_err());
            let second = Arc::clone(&prepare);
            let late = fibre::timeout(Duration::from_millis(1), || {
                let inner = fibre::spawn(move || {
                    second();
                    fibre::yield_now();
                });
                inner.join().unwrap();
                fibre::sleep(Duration::from_secs(3600));
            });
            assert!(late.is_err());
        }
        assert_eq!(ended.load(Ordering::Relaxed), 40);
    });
}

/// A destructor that waits is not unwound when its cluster is stopped: std would abort.
#[test]
fn destructors_wait_while_their_cluster_is_stopped() {
    for processors in crate::support::processor_counts() {
        let cluster = super::builder().processors(processors).build().unwrap();
        let ended = Arc::new(AtomicUsize::new(0));
        let (begun, told) = std::sync::mpsc::channel();
        for _ in 0..4 {
            let (ended, begun) = (Arc::clone(&ended), begun.clone());
            cluster.spawn(move || {
                let on_drop = move || {
                    begun.send(()).unwrap();
                    fibre::sleep(Duration::from_millis(100));
                    ended.fetch_add(1, Ordering::Relaxed);
                };
                ONLY.set(Some(OnDrop(Box::new(on_drop))));
            });
        }
        (0..4).for_each(|_| told.recv().unwrap());
        let outcome = cluster.stop_within(Duration::ZERO, Duration::from_secs(60));
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(ended.load(Ordering::Relaxed), 4);
    }
}

/// Fibre-local values end before a join returns, too, and so do the thread-locals that their
/// destructors use.
#[test]
fn fibre_locals_may_use_values() {
    fibre::fibre_local! {
        static LAST: RefCell<Option<OnDrop>> = RefCell::new(None);
    }
    for_each_kind(|_| {
        let ended = Arc::new(AtomicUsize::new(0));
        for round in 1..=20 {
            let count = Arc::clone(&ended);
            let fibre = fibre::spawn(move || {
                let on_drop = move || {
                    let count = Arc::clone(&count);
                    let last = move || {
                        count.fetch_add(1, Ordering::Relaxed);
                    };
                    ONLY.set(Some(OnDrop(Box::new(last))));
                };
                LAST.with_borrow_mut(|last| *last = Some(OnDrop(Box::new(on_drop))));
            });
            fibre.join().unwrap();
            assert_eq!(ended.load(Ordering::Relaxed), round);
        }
    });
}
