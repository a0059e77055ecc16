//! A panic hook that blocks its fibre. A process of its own, as a hook is the process's.
//!
//! Where the words say so, nothing that the hook waits for needs another fibre of its processor;
//! these may panic meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::channel::bounded;
use fibre::sync::{Mutex, Semaphore};
use fibre::{CancelToken, Cluster, Limit, is_cancelled, shield, sleep, timeout, yield_now};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind, set_hook};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Once, PoisonError};
use std::thread::{self, panicking};
use std::time::Duration;
use support::drops::OnDrop;
use support::stripped::pass_when_stripped;
use support::{any_cluster, eventually, for_each_cluster, processor_counts, watched};

/// Something that the hook does, as the payload of a panic.
struct InHook(Box<dyn Fn() + Send + Sync>);

/// The hook: does what the payload says.
fn hook(info: &std::panic::PanicHookInfo<'_>) {
    match info.payload().downcast_ref::<InHook>() {
        Some(InHook(f)) => f(),
        None => eprintln!("{info}"),
    }
}

/// Sets the hook, once, and keeps other tests from running: they would make each other late.
fn install() -> MutexGuard<'static, ()> {
    static ONCE: Once = Once::new();
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONCE.call_once(|| set_hook(Box::new(hook)));
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Panics, and does `f` in the hook.
fn panic_with(f: impl Fn() + Send + Sync + 'static) -> ! {
    panic_any(InHook(Box::new(f)))
}

/// A wait in a hook, for something that another thread does.
type Wait = fn();

/// Has another thread do something a moment later.
fn later(f: impl FnOnce() + Send + 'static) {
    thread::spawn(|| {
        thread::sleep(Duration::from_millis(2));
        f();
    });
}

/// All kinds of waits that need no fibre of the same processor.
const WAITS: [(&str, Wait); 11] = [
    ("sleep", || sleep(Duration::from_millis(2))),
    ("long sleep", || sleep(Duration::from_millis(60))),
    ("yields", || (0..20).for_each(|_| yield_now())),
    ("mutex", || {
        let mutex = Arc::new(Mutex::new(false));
        let other = Arc::clone(&mutex);
        let (held, taken) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut value = other.lock();
            held.send(()).unwrap();
            thread::sleep(Duration::from_millis(2));
            *value = true;
        });
        taken.recv().unwrap();
        assert!(*mutex.lock());
    }),
    ("semaphore", || {
        let semaphore = Arc::new(Semaphore::new(0));
        let other = Arc::clone(&semaphore);
        later(move || other.release());
        semaphore.acquire();
    }),
    ("deadline", || {
        assert!(!Semaphore::new(0).acquire_timeout(Duration::from_millis(2)));
        let (_sender, receiver) = bounded::<()>(1);
        assert!(receiver.recv_timeout(Duration::from_millis(2)).is_err());
    }),
    ("send", || {
        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        later(move || assert_eq!(receiver.recv().unwrap() + receiver.recv().unwrap(), 3));
        sender.send(2).unwrap();
    }),
    ("receive", || {
        let (sender, receiver) = bounded(1);
        later(move || sender.send(1).unwrap());
        assert_eq!(receiver.recv(), Ok(1));
    }),
    ("pipe", || {
        let (mut reader, mut writer) = fibre::io::pipe().unwrap();
        later(move || writer.write_all(b"x").unwrap());
        assert_eq!(reader.read(&mut [0]).unwrap(), 1);
    }),
    ("standard error", || {
        let mut errors = fibre::io::stderr();
        errors.write_all(b"from a hook\n").unwrap();
        errors.flush().unwrap();
    }),
    ("blocking", || {
        fibre::blocking(|| thread::sleep(Duration::from_millis(2)));
    }),
];

/// While a hook waits, whatever for, other fibres panic, and their hooks wait.
#[test]
fn others_panic_while_a_hook_waits() {
    let _alone = install();
    for_each_cluster(|_| {
        for (name, wait) in WAITS {
            let waited = Arc::new(AtomicUsize::new(0));
            let panics = (0..6).map(|i| {
                let waited = Arc::clone(&waited);
                fibre::spawn(move || {
                    if i % 2 == 0 {
                        sleep(Duration::from_millis(1));
                    }
                    panic_with(move || {
                        wait();
                        waited.fetch_add(1, Ordering::SeqCst);
                    })
                })
            });
            let quiet = (0..6).map(|i| {
                fibre::spawn(move || {
                    sleep(Duration::from_micros(i * 500));
                    resume_unwind(Box::new(()))
                })
            });
            for fibre in panics.chain(quiet).collect::<Vec<_>>() {
                assert!(fibre.join().is_err());
            }
            assert_eq!(waited.load(Ordering::SeqCst), 6, "{name}");
            assert!(!panicking(), "{name}");
        }
    });
}

/// What a hook waits for may be a fibre of its own processor.
#[test]
fn hooks_wait_for_fibres_at_home() {
    let _alone = install();
    for_each_cluster(|_| {
        let waits: [Wait; 8] = [
            || {
                fibre::spawn(|| sleep(Duration::from_millis(1)))
                    .join()
                    .unwrap()
            },
            || assert_eq!(fibre::scope(|scope| scope.spawn(|| 4).join().unwrap()), 4),
            || {
                let mutex = Arc::new(Mutex::new(false));
                let (other, locked) = (Arc::clone(&mutex), Arc::new(Semaphore::new(0)));
                let told = Arc::clone(&locked);
                fibre::spawn(move || {
                    let mut value = other.lock();
                    told.release();
                    sleep(Duration::from_millis(3));
                    *value = true;
                });
                locked.acquire();
                assert!(*mutex.lock());
            },
            || {
                let (sender, receiver) = bounded(1);
                fibre::spawn(move || (0..5).for_each(|i| sender.send(i).unwrap()));
                assert_eq!(receiver.iter().sum::<i32>(), 10);
            },
            || until_set(yield_now),
            || until_set(|| sleep(Duration::from_micros(100))),
            || assert_eq!(fibre::spawn_now(|| 5).join().unwrap(), 5),
            || {
                let cluster = Cluster::builder().processors(1).build().unwrap();
                let fibre = cluster.spawn(|| sleep(Duration::from_millis(2)));
                fibre.join().unwrap();
                cluster.stop();
            },
        ];
        for wait in waits {
            assert!(fibre::spawn(move || panic_with(wait)).join().is_err());
            assert!(!panicking());
        }
    });
}

/// Waits by `wait` until another fibre has set a flag.
fn until_set(wait: fn()) {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    fibre::spawn(move || set.store(true, Ordering::SeqCst));
    while !flag.load(Ordering::SeqCst) {
        wait();
    }
}

/// What a hook waits for may be a fibre of its own processor that panics.
#[test]
fn hooks_wait_for_fibres_at_home_that_panic() {
    let _alone = install();
    for_each_cluster(|_| {
        let ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ended);
        let fibre = fibre::spawn(move || {
            panic_with(move || {
                let inner = fibre::spawn(|| panic_with(|| sleep(Duration::from_millis(1))));
                assert!(inner.join().is_err() && panicking());
                ends.store(true, Ordering::SeqCst);
            })
        });
        assert!(fibre.join().is_err());
        assert!(ended.load(Ordering::SeqCst) && !panicking());
    });
}

/// Time-outs that begin in a hook hold there, and the panic goes on; those around the panic end no
/// call of the hook that cannot fail.
#[test]
fn time_outs_hold_in_hooks() {
    let _alone = install();
    let body = || {
        const SHORT: Duration = Duration::from_millis(2);
        const LONG: Duration = Duration::from_secs(3600);
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        let before = ENDED.load(Ordering::SeqCst);
        let panics = || {
            timeout(SHORT, || {
                panic_with(|| {
                    sleep(2 * SHORT);
                    assert!(timeout(SHORT, || sleep(LONG)).is_err());
                    let nested = timeout(LONG, || {
                        let _waits = OnDrop(|| assert!(timeout(SHORT, || sleep(LONG)).is_err()));
                        timeout(SHORT, || Semaphore::new(0).acquire()).is_err()
                    });
                    assert_eq!(nested, Ok(true));
                    let unwound = timeout(SHORT, || {
                        let _waits = OnDrop(|| {
                            sleep(SHORT);
                            assert!(timeout(SHORT, || sleep(LONG)).is_err());
                        });
                        sleep(LONG);
                    });
                    assert!(unwound.is_err() && panicking());
                    ENDED.fetch_add(1, Ordering::SeqCst);
                })
            })
        };
        let caught = catch_unwind(AssertUnwindSafe(panics));
        assert!(caught.unwrap_err().is::<InHook>());
        assert_eq!(ENDED.load(Ordering::SeqCst), before + 1);
        assert!(!panicking());
    };
    for_each_cluster(move |_| body());
    watched(|| thread::spawn(body).join().unwrap());
}

/// The hook may be set while one waits, by a fibre of the same processor.
#[test]
fn the_hook_is_set_while_one_waits() {
    let _alone = install();
    for_each_cluster(|_| {
        for _ in 0..5 {
            let begun = Arc::new(AtomicBool::new(false));
            let begins = Arc::clone(&begun);
            let fibre = fibre::spawn(move || {
                panic_with(move || {
                    begins.store(true, Ordering::SeqCst);
                    sleep(Duration::from_millis(5));
                })
            });
            eventually(|| begun.load(Ordering::SeqCst));
            set_hook(Box::new(hook));
            assert!(fibre.join().is_err());
        }
    });
}

/// The same while a destructor waits that a time-out unwinds in the hook.
#[test]
fn the_hook_is_set_while_one_unwinds() {
    let _alone = install();
    for_each_cluster(|_| {
        for in_a_scope in [false, true] {
            let begun = Arc::new(AtomicBool::new(false));
            let begins = Arc::clone(&begun);
            let fibre = fibre::spawn(move || {
                panic_with(move || {
                    let waits = || {
                        begins.store(true, Ordering::SeqCst);
                        sleep(Duration::from_millis(5));
                    };
                    let unwound = timeout(Duration::from_millis(1), || {
                        let _waits = OnDrop(|| match in_a_scope {
                            true => timeout(Duration::from_secs(3600), waits).unwrap(),
                            false => waits(),
                        });
                        Semaphore::new(0).acquire();
                    });
                    assert!(unwound.is_err() && panicking());
                })
            });
            eventually(|| begun.load(Ordering::SeqCst));
            set_hook(Box::new(hook));
            assert!(fibre.join().is_err());
        }
    });
}

/// A wait in a hook is cancelled like any other, and is not in a shield.
#[test]
fn waits_in_hooks_are_cancelled() {
    let _alone = install();
    watched(|| {
        for processors in processor_counts() {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let waits: [Wait; 4] = [
                || assert!(fibre::sleep_within(Duration::from_secs(3600)).is_err()),
                || {
                    assert!(
                        Semaphore::new(0)
                            .acquire_within(Limit::Cancellation)
                            .is_err()
                    )
                },
                || assert!(!Semaphore::new(0).acquire_timeout(Duration::from_secs(3600))),
                || {
                    eventually(is_cancelled);
                    shield(|| sleep(Duration::from_millis(2)));
                    assert!(fibre::cancellation_point().is_err());
                },
            ];
            for wait in waits {
                let token = CancelToken::new();
                let begun = Arc::new(AtomicBool::new(false));
                let begins = Arc::clone(&begun);
                let fibre = fibre::Builder::new().cancel_token(&token);
                let ended = Arc::new(AtomicBool::new(false));
                let ends = Arc::clone(&ended);
                let body = move || {
                    panic_with(move || {
                        begins.store(true, Ordering::SeqCst);
                        wait();
                        ends.store(true, Ordering::SeqCst);
                    })
                };
                let fibre = fibre.spawn_in(&cluster, body).unwrap();
                eventually(|| begun.load(Ordering::SeqCst));
                thread::sleep(Duration::from_millis(2));
                token.cancel();
                assert!(fibre.join().is_err() && ended.load(Ordering::SeqCst));
            }
            cluster.stop();
        }
    });
}

/// A cluster stands still, and goes on, while a hook waits in it.
#[test]
fn clusters_pause_while_a_hook_waits() {
    let _alone = install();
    watched(|| {
        for processors in processor_counts() {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let permits = Arc::new(Semaphore::new(0));
            let wanted = Arc::clone(&permits);
            let begun = Arc::new(AtomicBool::new(false));
            let begins = Arc::clone(&begun);
            let fibre = cluster.spawn(move || {
                panic_with(move || {
                    begins.store(true, Ordering::SeqCst);
                    wanted.acquire();
                })
            });
            eventually(|| begun.load(Ordering::SeqCst));
            let paused = cluster.pause().unwrap();
            permits.release();
            thread::sleep(Duration::from_millis(3));
            assert!(!fibre.is_finished());
            drop(paused);
            assert!(fibre.join().is_err());
            cluster.stop();
        }
    });
}

/// A destructor that waits during unwinding is no hook: it leaves its processor to others at once,
/// however long it waits.
#[test]
fn destructors_leave_their_processor() {
    let _alone = install();
    for_each_cluster(|_| {
        let (begun, told) = (
            Arc::new(Semaphore::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (begins, tells) = (Arc::clone(&begun), Arc::clone(&told));
        let unwinding = fibre::spawn(move || {
            let _waits = OnDrop(move || {
                begins.release();
                // One that was held would let nobody run before it ends.
                fibre::sleep_within(Duration::from_secs(3600)).unwrap_err();
                assert!(tells.load(Ordering::SeqCst));
            });
            resume_unwind(Box::new(()));
        });
        begun.acquire();
        let others = (0..100).map(|_| fibre::spawn(|| sleep(Duration::from_millis(1))));
        let others: Vec<_> = others.collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        told.store(true, Ordering::SeqCst);
        unwinding.cancel();
        assert!(unwinding.join().is_err());
    });
}

/// All of this holds in a program without a table of symbols, too.
#[test]
fn stripped_programs_do_the_same() {
    let _alone = install();
    let skipped = ["--skip", "stripped_programs", "--skip", "others_panic"];
    let arguments = [&["suite_panic_hook::"], &skipped[..]].concat();
    pass_when_stripped("stripped", &arguments);
}
