//! Fibre-local storage: whose values are whose, when they are made, and how they end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::sync::Semaphore;
use fibre::{Cluster, Key, fibre_local};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use support::{Drops, for_each_cluster, kernel_thread, let_others_block, run_in, watched};

fibre_local! {
    static NUMBER: Cell<u64> = Cell::new(7);
    /// Two in one call, with and without a value of their own.
    static WORDS: RefCell<Vec<String>> = RefCell::new(vec!["first".to_owned()]);
}

fibre_local!(static HELD: RefCell<Vec<support::drops::Counted>> = RefCell::default());

/// Each fibre, and each thread, has its own, wherever it blocks meanwhile.
#[test]
fn everybody_has_its_own() {
    for_each_cluster(|_| {
        let fibres: Vec<_> = (0..50)
            .map(|me| {
                fibre::spawn(move || {
                    assert_eq!(NUMBER.get(), 7);
                    NUMBER.set(me);
                    WORDS.with_borrow_mut(|words| words.push(me.to_string()));
                    for _ in 0..10 {
                        fibre::yield_now();
                        assert_eq!(NUMBER.replace(me), me);
                    }
                    fibre::sleep(Duration::from_micros(me));
                    assert_eq!(WORDS.take(), ["first".to_owned(), me.to_string()]);
                    assert_eq!((NUMBER.take(), NUMBER.get()), (me, 0));
                })
            })
            .collect();
        let thread = thread::spawn(|| {
            NUMBER.set(1);
            NUMBER.get()
        });
        assert_eq!(fibre::blocking(|| thread.join()).unwrap(), 1);
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(NUMBER.get(), 7);
    });
}

/// A reference stays good across calls that block, and while other values are made.
#[test]
fn references_stay() {
    macro_rules! many {
        ($($name:ident)*) => {{
            fibre_local! { $(static $name: String = stringify!($name).to_owned();)* }
            [$(&$name),*]
        }};
    }
    for_each_cluster(|_| {
        fibre::spawn(|| {
            WORDS.with(|words| {
                let words = words.borrow();
                let others = many!(A B C D E F G H I J K L M N O P Q R S T);
                for (index, other) in others.into_iter().enumerate() {
                    assert_eq!(other.with(String::len), 1);
                    fibre::sleep(Duration::from_micros(index as u64));
                }
                assert_eq!(*words, ["first"]);
            });
        })
        .join()
        .unwrap();
    });
}

/// Values are made when asked for, once; making one may block and may ask for it.
#[test]
fn values_are_made_late_and_once() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    fibre_local! {
        static LATE: usize = {
            fibre::sleep(Duration::from_micros(10));
            MADE.fetch_add(1, Ordering::SeqCst)
        };
        static NESTED: usize = match NUMBER.replace(0) {
            0 => 5,
            _ => NESTED.with(|inner| inner + 100),
        };
        static FAILING: usize = match NUMBER.replace(0) {
            0 => 9,
            _ => resume_unwind(Box::new("not yet")),
        };
    }
    for_each_cluster(|_| {
        let before = MADE.load(Ordering::SeqCst);
        let idle = fibre::spawn(|| {});
        let busy = fibre::spawn(|| {
            let first = LATE.with(|late| *late);
            LATE.with(|late| *late) == first
        });
        idle.join().unwrap();
        assert!(busy.join().unwrap());
        assert_eq!(MADE.load(Ordering::SeqCst), before + 1);
        let nested =
            fibre::spawn(|| (NESTED.with(|nested| *nested), NESTED.with(|nested| *nested)));
        assert_eq!(nested.join().unwrap(), (5, 5), "the inner one stays");
        fibre::spawn(|| {
            assert!(catch_unwind(|| FAILING.with(|value| *value)).is_err());
            assert_eq!(FAILING.with(|value| *value), 9);
        })
        .join()
        .unwrap();
    });
}

/// Values are gone when the fibre has ended: by returning, by a panic, joined or not.
#[test]
fn values_end_before_the_fibre() {
    for_each_cluster(|cluster| {
        let drops = Drops::new();
        let holding = |drops: &Drops| {
            let value = drops.value();
            move || HELD.with_borrow_mut(|held| held.push(value))
        };
        fibre::spawn(holding(&drops)).join().unwrap();
        assert_eq!(drops.count(), 1);
        let hold = holding(&drops);
        let panicking = fibre::spawn(move || {
            hold();
            resume_unwind(Box::new(()));
        });
        assert!(panicking.join().is_err());
        assert_eq!(drops.count(), 2);
        drop(fibre::spawn(holding(&drops)));
        let hold = holding(&drops);
        fibre::scope(|scope| {
            scope.spawn(hold);
        });
        support::eventually(|| cluster.live() == 1);
        assert_eq!(drops.count(), 4);
    });
}

/// Ends by asking for another value, after having blocked.
struct Chain {
    ended: Arc<AtomicUsize>,
    /// Makes the next one, if any.
    next: Option<fn(Chain)>,
}

impl Drop for Chain {
    fn drop(&mut self) {
        fibre::sleep(Duration::from_micros(50));
        fibre::yield_now();
        assert!(fibre::id().is_some() || thread::current().name() == Some("ends"));
        self.ended.fetch_add(1, Ordering::SeqCst);
        if let Some(next) = self.next {
            next(Chain {
                ended: Arc::clone(&self.ended),
                next: self.next,
            });
        }
    }
}

fibre_local!(static CHAIN: RefCell<Option<Chain>> = RefCell::default());
fibre_local!(static LINK: RefCell<Option<Chain>> = RefCell::default());

/// Sets the value that the destructor of another value sets again, and so on.
fn chain(ended: &Arc<AtomicUsize>, next: Option<fn(Chain)>) {
    let chain = Chain {
        ended: Arc::clone(ended),
        next,
    };
    CHAIN.with_borrow_mut(|place| *place = Some(chain));
}

/// Destructors block, and set values again: up to four rounds, then there is no more.
#[test]
fn destructors_have_four_rounds() {
    let again: fn(Chain) = |chain| CHAIN.with_borrow_mut(|place| *place = Some(chain));
    let once: fn(Chain) = |mut chain| {
        chain.next = None;
        LINK.with_borrow_mut(|place| *place = Some(chain));
    };
    for_each_cluster(move |_| {
        for (next, rounds) in [(None, 1), (Some(once), 2), (Some(again), 4)] {
            let ended = Arc::new(AtomicUsize::new(0));
            let inside = Arc::clone(&ended);
            fibre::spawn(move || chain(&inside, next)).join().unwrap();
            assert_eq!(ended.load(Ordering::SeqCst), rounds);
        }
    });
    watched(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let inside = Arc::clone(&ended);
        let thread = thread::Builder::new().name("ends".to_owned());
        let thread = thread.spawn(move || chain(&inside, Some(again))).unwrap();
        thread.join().unwrap();
        assert_eq!(ended.load(Ordering::SeqCst), 4);
    });
}

/// Panics when it ends.
struct Failing;

impl Drop for Failing {
    fn drop(&mut self) {
        resume_unwind(Box::new("in the destructor"));
    }
}

/// A destructor that panics takes neither the fibre's result nor other values with it.
#[test]
fn destructors_may_panic() {
    fibre_local!(static FAILING: Cell<Option<Failing>> = Cell::new(None));
    for_each_cluster(|_| {
        let drops = Drops::new();
        let value = drops.value();
        let fibre = fibre::spawn(move || {
            FAILING.set(Some(Failing));
            HELD.with_borrow_mut(|held| held.push(value));
            5
        });
        assert_eq!(fibre.join().unwrap(), 5);
        assert_eq!(drops.count(), 1);
    });
}

/// A result that is dropped on the fibre's stack may use values, which end, too.
#[test]
fn unwanted_results_use_values() {
    struct Uses(Drops, Arc<Semaphore>);
    impl Drop for Uses {
        fn drop(&mut self) {
            HELD.with_borrow_mut(|held| held.push(self.0.value()));
            self.1.release();
        }
    }
    for_each_cluster(|cluster| {
        let (drops, dropped) = (Drops::new(), Arc::new(Semaphore::new(0)));
        let result = Uses(drops.clone(), Arc::clone(&dropped));
        let gate = Arc::new(Semaphore::new(0));
        let opened = Arc::clone(&gate);
        drop(fibre::spawn(move || {
            opened.acquire();
            result
        }));
        gate.release();
        dropped.acquire();
        support::eventually(|| cluster.live() == 1);
        assert_eq!(drops.count(), 1);
    });
}

/// Where started fibres move, their values move along.
#[test]
fn values_move_along() {
    for processors in [2, 4] {
        let builder = Cluster::builder().processors(processors);
        // SAFETY: the fibres of this test keep nothing that belongs to a kernel thread.
        let cluster = unsafe { builder.force_migration() }.build().unwrap();
        let body = |_: &Cluster| {
            let fibres: Vec<_> = (0..20)
                .map(|me| {
                    fibre::spawn(move || {
                        NUMBER.set(me);
                        NUMBER.with(|number| {
                            for _ in 0..20 {
                                let before = kernel_thread();
                                fibre::sleep(Duration::from_micros(20));
                                assert_ne!(kernel_thread(), before);
                                assert_eq!(number.get(), me);
                                assert_eq!(NUMBER.get(), me);
                            }
                        });
                    })
                })
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        };
        run_in(cluster, Arc::new(body));
    }
}

/// Adds to the counter that the value points to.
unsafe extern "C-unwind" fn count(value: *mut c_void) {
    // SAFETY: the values of these tests are counters that live for ever.
    unsafe { &*value.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
}

/// Untyped keys: null at first, destructors for what is not null, nothing after deletion.
#[test]
fn keys() {
    for_each_cluster(|_| {
        let counter: &'static AtomicUsize = Box::leak(Box::default());
        let value = ptr::from_ref(counter).cast_mut().cast::<c_void>();
        // SAFETY: the values are counters.
        let (key, other) = unsafe { (Key::new(Some(count)), Key::new(None)) };
        let fibres: Vec<_> = (0..10)
            .map(|me| {
                let value = value.expose_provenance();
                fibre::spawn(move || {
                    let value = ptr::with_exposed_provenance_mut(value);
                    assert!(key.get().is_null() && other.get().is_null());
                    // SAFETY: the values are counters.
                    assert!(unsafe { key.set(value) && other.set(value) });
                    let_others_block();
                    assert_eq!((key.get(), other.get()), (value, value));
                    if me == 0 {
                        // SAFETY: no value.
                        assert!(unsafe { key.set(ptr::null_mut()) });
                    }
                })
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(counter.load(Ordering::SeqCst), 9);
        // SAFETY: the value is a counter.
        assert!(unsafe { key.set(value) });
        assert!(key.delete() && !key.delete());
        // SAFETY: as above.
        assert!(key.get().is_null() && !unsafe { key.set(value) } && !key.is_alive());
        // SAFETY: there is no destructor.
        let heir = unsafe { Key::new(None) };
        assert!(heir.get().is_null());
        assert!(heir.delete() && other.delete());
    });
}

/// The key of a typed value has no number: whoever tries all of them never finds one whose values
/// are typed.
#[test]
fn typed_values_have_no_number() {
    for_each_cluster(|_| {
        NUMBER.with(|number| {
            let typed = ptr::from_ref(number).cast_mut().cast::<c_void>();
            // SAFETY: there is no destructor, and nothing is set by what is found.
            let (own, found) = unsafe {
                let own = Key::new(None);
                (own, (0..4096).filter_map(|number| Key::numbered(number)))
            };
            let numbers: Vec<_> = found
                .map(|key| {
                    assert_ne!(key.get(), typed, "found by its number");
                    key.number()
                })
                .collect();
            assert!(numbers.contains(&own.number()));
            assert!(own.delete());
        });
    });
}

/// A panic that passes through `with` leaves the value as it is.
#[test]
fn panics_pass() {
    for_each_cluster(|_| {
        NUMBER.set(3);
        let passed = catch_unwind(AssertUnwindSafe(|| {
            NUMBER.with(|number| {
                number.set(4);
                resume_unwind(Box::new(()));
            });
        }));
        assert!(passed.is_err());
        assert_eq!(NUMBER.get(), 4);
    });
}
