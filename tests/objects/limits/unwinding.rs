//! Destructors that wait while their stack unwinds: what limits their waits, and what goes on
//! beside them.

use crate::support::drops::OnDrop;
use crate::support::stripped::pass_when_stripped;
use crate::support::{
    Random, any_cluster, eventually, for_each_cluster, processor_counts, watched,
};
use fibre::channel::bounded;
use fibre::sync::{Event, Semaphore};
use fibre::{Cancelled, Group, cancellable, deadline, shield, timeout};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::panicking;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_secs(3600);

/// Runs a body in a fibre of each kind of cluster, and on a plain thread.
fn everywhere(body: fn()) {
    for_each_cluster(move |_| body());
    watched(move || std::thread::spawn(body).join().unwrap());
}

/// Runs a body in a fibre of a cluster with one processor.
fn on_one_processor(body: fn()) {
    watched(|| {
        let cluster = any_cluster().processors(1).build().unwrap();
        cluster.spawn(body).join().unwrap();
        cluster.stop();
    });
}

/// Has a stack unwind that has a value with this destructor.
type Way = fn(&dyn Fn());

/// Ways in which a stack comes to unwind.
const WAYS: [(&str, Way); 5] = [
    ("a payload of the program's", |destructor| {
        let body = || {
            let _value = OnDrop(destructor);
            resume_unwind(Box::new(7_u32));
        };
        let payload = catch_unwind(AssertUnwindSafe(body)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&7_u32));
    }),
    ("a panic", |destructor| {
        let body = || {
            let _value = OnDrop(destructor);
            panic_any("of a destructor that waits");
        };
        assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    }),
    ("a time-out", |destructor| {
        let late = timeout(SHORT, || {
            let _value = OnDrop(destructor);
            fibre::sleep(LONG);
        });
        assert_eq!(late.unwrap_err().into_value(), None);
    }),
    (
        "a time-out of a call that waits within time-outs",
        |destructor| {
            let late = timeout(SHORT, || {
                timeout(LONG, || {
                    let _value = OnDrop(destructor);
                    Semaphore::new(0).acquire();
                })
            });
            assert_eq!(late.unwrap_err().into_value(), None);
        },
    ),
    ("a panic within a time-out", |destructor| {
        let body = || {
            timeout(LONG, || {
                let _value = OnDrop(destructor);
                resume_unwind(Box::new(7_u32));
            })
        };
        assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    }),
];

/// Does something within a limit; says whether that has been ended as it should be.
type Limited = fn() -> bool;

/// What destructors do within limits.
const LIMITED: [(&str, Limited); 9] = [
    ("a time-out", || {
        timeout(SHORT, || fibre::sleep(LONG)).is_err()
    }),
    ("a time-out of a lock", || {
        timeout(SHORT, || Semaphore::new(0).acquire()).is_err()
    }),
    ("a deadline", || {
        deadline(Instant::now() + SHORT, || bounded::<()>(1).1.recv()).is_err()
    }),
    ("a time-out in a shield", || {
        shield(|| timeout(SHORT, || fibre::sleep(LONG)).is_err())
    }),
    ("a shorter one within a longer one", || {
        timeout(LONG, || timeout(SHORT, || fibre::sleep(LONG)).is_err()) == Ok(true)
    }),
    ("a longer one within a shorter one", || {
        let mut returned = false;
        let late = timeout(SHORT, || {
            let _ = timeout(LONG, || fibre::sleep(LONG));
            returned = true;
        });
        late.is_err() && !returned
    }),
    ("one that is in time", || {
        timeout(LONG, || fibre::sleep(SHORT)) == Ok(())
    }),
    ("a group's", || {
        let group = Group::builder().timeout(SHORT);
        let ended = group.run(|group| {
            group.spawn(|| {
                fibre::sleep(LONG);
                Ok::<_, ()>(())
            });
            Ok(())
        });
        ended.is_err()
    }),
    ("a destructor within a destructor", || {
        let (inside, ended) = (Cell::new(false), Cell::new(false));
        let late = timeout(SHORT, || {
            let _value = OnDrop(|| {
                fibre::sleep(SHORT);
                inside.set(timeout(SHORT, || fibre::sleep(LONG)).is_err());
                ended.set(true);
            });
            fibre::sleep(LONG);
        });
        late.is_err() && inside.get() && ended.get()
    }),
];

/// A limit that a destructor sets holds, however its stack has come to unwind.
#[test]
fn limits_that_a_destructor_sets_hold() {
    everywhere(|| {
        for (way, unwind) in WAYS {
            for (what, limited) in LIMITED {
                let ended = Cell::new(None);
                unwind(&|| {
                    assert!(panicking());
                    ended.set(Some(limited()));
                    assert!(panicking(), "{what} has ended the unwinding by {way}");
                });
                assert_eq!(ended.get(), Some(true), "{what} in a destructor, by {way}");
                assert!(!panicking(), "{what} in a destructor, by {way}");
            }
        }
    });
}

/// A destructor of a cancelled fibre ends by cancellation what it makes cancellable, and nothing
/// else.
#[test]
fn destructors_are_cancelled_where_they_ask_for_it() {
    for_each_cluster(|_| {
        let ended = Arc::new(AtomicU32::new(0));
        let ends = Arc::clone(&ended);
        let fibre = fibre::spawn(move || {
            cancellable(|| {
                let _value = OnDrop(|| {
                    // A call outside waits as ever.
                    fibre::sleep(SHORT);
                    assert_eq!(cancellable(|| fibre::sleep(LONG)), Err(Cancelled));
                    assert_eq!(timeout(LONG, || fibre::sleep(SHORT)), Ok(()));
                    assert!(timeout(SHORT, || fibre::sleep(LONG)).is_err());
                    ends.fetch_add(1, Ordering::Relaxed);
                });
                fibre::sleep(LONG);
            })
        });
        fibre.cancel();
        assert_eq!(fibre.join().unwrap(), Err(Cancelled));
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    });
}

/// Has a fibre wait in a destructor while its stack unwinds, until `beside` has returned.
fn beside_a_destructor(beside: impl FnOnce()) {
    let (waits, go_on) = (Arc::new(Event::new()), Arc::new(Event::new()));
    let (begins, ends) = (Arc::clone(&waits), Arc::clone(&go_on));
    let unwound = fibre::spawn(move || {
        let late = timeout(SHORT, || {
            let _value = OnDrop(|| {
                begins.set();
                assert!(panicking());
                ends.wait();
                assert!(panicking());
            });
            fibre::sleep(LONG);
        });
        assert!(late.is_err() && !panicking());
    });
    // Also when a time-out of the caller's ends this early, as it may on a busy machine.
    let goes_on = OnDrop(|| go_on.set());
    waits.wait();
    beside();
    drop(goes_on);
    unwound.join().unwrap();
}

/// Calls `f` through a function with C's calling convention, which nothing unwinds through.
fn through_c(f: &mut dyn FnMut()) {
    extern "C" fn call(f: &mut &mut dyn FnMut()) {
        f();
    }
    call(&mut { f });
}

/// Time-outs of other fibres of the processor hold while one waits in a destructor, and after it.
#[test]
fn time_outs_hold_beside_a_destructor_that_waits() {
    on_one_processor(|| {
        let hold = || {
            for (what, limited) in LIMITED {
                assert!(limited(), "{what}");
            }
            let mut inside = None;
            let around = timeout(LONG, || {
                through_c(&mut || inside = Some(timeout(SHORT, || fibre::sleep(LONG)).is_err()));
            });
            assert_eq!((around, inside), (Ok(()), Some(true)), "through C");
        };
        beside_a_destructor(hold);
        hold();
        // Begun before, and over while another fibre waits in its destructor.
        let late = timeout(10 * SHORT, || {
            beside_a_destructor(|| assert!(timeout(SHORT, || fibre::sleep(LONG)).is_err()));
            fibre::sleep(LONG);
        });
        assert!(late.is_err());
        let (begun, over) = (Arc::new(Event::new()), Arc::new(AtomicBool::new(false)));
        let (begins, ends) = (Arc::clone(&begun), Arc::clone(&over));
        let waits = fibre::spawn(move || {
            let late = timeout(20 * SHORT, || {
                begins.set();
                fibre::sleep(LONG);
            });
            ends.store(late.is_err(), Ordering::SeqCst);
        });
        begun.wait();
        beside_a_destructor(|| eventually(|| over.load(Ordering::SeqCst)));
        waits.join().unwrap();
    });
}

/// A fibre that another one's destructor has waited beside does not count as panicking, and what it
/// does as one that panics is its own.
#[test]
fn others_do_not_panic() {
    on_one_processor(|| {
        beside_a_destructor(|| {
            assert!(!panicking());
            let lock = Arc::new(std::sync::Mutex::new(()));
            let locked = Arc::clone(&lock);
            let panics = fibre::spawn(move || {
                let _guard = locked.lock();
                panic_any("with a guard");
            });
            assert!(panics.join().is_err());
            assert!(lock.is_poisoned(), "the guard has not seen the panic");
            assert!(!panicking());
        });
    });
}

/// Slices end, and timers fire, while a fibre of the processor waits in a destructor.
#[test]
fn slices_end_beside_a_destructor_that_waits() {
    on_one_processor(|| {
        beside_a_destructor(|| {
            let slept = Arc::new(AtomicBool::new(false));
            let (sleeps, begun) = (Arc::clone(&slept), Arc::new(Event::new()));
            let begins = Arc::clone(&begun);
            let fibre = fibre::spawn(move || {
                begins.set();
                fibre::sleep(Duration::from_millis(1));
                sleeps.store(true, Ordering::SeqCst);
            });
            begun.wait();
            let begun = Instant::now();
            while !slept.load(Ordering::SeqCst) {
                fibre_core::internal::yield_point();
                assert!(
                    begun.elapsed() < Duration::from_secs(30),
                    "nobody else runs"
                );
            }
            fibre.join().unwrap();
        });
    });
}

/// So do those of the destructor itself.
#[test]
fn slices_of_a_destructor_end() {
    on_one_processor(|| {
        let told = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&told);
        let unwound = fibre::spawn(move || {
            let _value = OnDrop(|| {
                let begun = Instant::now();
                while !told.load(Ordering::SeqCst) {
                    fibre_core::internal::yield_point();
                    assert!(
                        begun.elapsed() < Duration::from_secs(30),
                        "nobody else runs"
                    );
                }
            });
            resume_unwind(Box::new(()));
        });
        fibre::sleep(SHORT);
        tells.store(true, Ordering::SeqCst);
        assert!(unwound.join().is_err());
    });
}

/// A destructor that waits lets the others of its processor run at once: what it waits for may be
/// one of them. One that was held for a moment would be late each time.
#[test]
fn a_destructor_does_not_keep_its_processor() {
    on_one_processor(|| {
        let in_time = (0..50).filter(|_| {
            let (permits, granted) = (
                Arc::new(Semaphore::new(0)),
                Arc::new(AtomicBool::new(false)),
            );
            let (wanted, grants) = (Arc::clone(&permits), Arc::clone(&granted));
            let unwound = fibre::spawn(move || {
                let _value = OnDrop(|| {
                    let granted = wanted.acquire_timeout(Duration::from_millis(10));
                    grants.store(granted, Ordering::SeqCst);
                });
                resume_unwind(Box::new(()));
            });
            let releases = fibre::spawn(move || permits.release());
            assert!(unwound.join().is_err());
            releases.join().unwrap();
            granted.load(Ordering::SeqCst)
        });
        assert!(
            in_time.count() > 0,
            "no destructor has let another fibre run"
        );
    });
}

/// Fibres of several processors unwind, wait, and time out in their destructors, all at once.
#[test]
fn many_destructors_wait_at_once() {
    watched(|| {
        for processors in processor_counts() {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let ended = Arc::new(AtomicU32::new(0));
            let fibres = (0..200_u32).map(|i| {
                let ends = Arc::clone(&ended);
                cluster.spawn(move || {
                    let body = || {
                        let _value = OnDrop(|| {
                            fibre::sleep(Duration::from_micros(u64::from(i) * 7));
                            assert!(panicking());
                            let late = timeout(Duration::from_micros(u64::from(i)), || {
                                Semaphore::new(0).acquire();
                            });
                            assert!(late.is_err() && panicking());
                            ends.fetch_add(1, Ordering::Relaxed);
                        });
                        match i % 3 {
                            0 => resume_unwind(Box::new(())),
                            _ => fibre::sleep(LONG),
                        }
                    };
                    match i % 3 {
                        0 => assert!(catch_unwind(AssertUnwindSafe(body)).is_err()),
                        _ => assert!(timeout(SHORT, body).is_err()),
                    }
                    assert!(!panicking());
                })
            });
            for fibre in fibres.collect::<Vec<_>>() {
                fibre.join().unwrap();
            }
            assert_eq!(ended.load(Ordering::Relaxed), 200);
            cluster.stop();
        }
    });
}

/// Does things at random that wait, unwind, and limit each other; `unwinding`: the caller is in a
/// destructor of a stack that unwinds. It always knows whether it is.
fn act(random: &RefCell<Random>, unwinding: bool, depth: usize) {
    let below = |bound| random.borrow_mut().below(bound);
    let soon = || Duration::from_micros(below(200) as u64);
    for _ in 0..1 + below(3) {
        assert_eq!(panicking(), unwinding);
        let deeper = || act(random, unwinding, depth + 1);
        match below(if depth < 4 { 9 } else { 4 }) {
            0 => fibre::yield_now(),
            1 => fibre::sleep(soon()),
            2 => drop(fibre::sleep_within(soon())),
            3 => drop(Semaphore::new(0).acquire_timeout(soon())),
            4 => drop(timeout(soon(), deeper)),
            5 => drop(cancellable(deeper)),
            6 => shield(deeper),
            7 => assert!(timeout(soon(), || Semaphore::new(0).acquire()).is_err()),
            _ => {
                let ends = Cell::new(false);
                let body = || {
                    let _acts = OnDrop(|| act(random, unwinding || !ends.get(), depth + 1));
                    deeper();
                    if below(2) == 0 {
                        resume_unwind(Box::new(()));
                    }
                    ends.set(true);
                };
                let _ = catch_unwind(AssertUnwindSafe(body));
            }
        }
        assert_eq!(panicking(), unwinding);
    }
}

/// Fibres of which some are cancelled do such things beside each other.
#[test]
fn nested_at_random() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        let fibres = (0..60).map(|_| {
            let random = RefCell::new(random.split());
            fibre::spawn(move || (0..10).for_each(|_| act(&random, false, 0)))
        });
        let fibres: Vec<_> = fibres.collect();
        for fibre in fibres.iter().step_by(3) {
            fibre::sleep(Duration::from_micros(300));
            fibre.cancel();
        }
        for fibre in fibres {
            fibre.join().unwrap();
        }
        assert!(!panicking());
    });
}

/// All of this holds in a program without a table of symbols.
#[test]
fn stripped_programs_do_the_same() {
    pass_when_stripped(
        "unwinding",
        &["suite_limits::unwinding::", "--skip", "stripped_programs"],
    );
}
