//! `exit` in a fibre ends the process, and not the thread-local values of its kernel thread: other
//! fibres of that thread use them, or have lent them.

use super::witness::lend;
use fibre::Cluster;
use fibre::sync::Mutex;
use std::cell::RefCell;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Set in the environment of a child: what it does.
const ROLE: &str = "SOUNDNESS_EXITING";

/// Set there, too: on how many processors.
const PROCESSORS: &str = "SOUNDNESS_PROCESSORS";

/// The code of a child that ends as it should.
const CODE: i32 = 9;

/// Long enough for others to look.
const A_WHILE: Duration = Duration::from_millis(200);

/// Runs the calling test again in a process of its own.
fn again(processors: usize) -> Output {
    let test = thread::current().name().unwrap().to_owned();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture", "--test-threads=1"])
        .env(ROLE, &test)
        .env(PROCESSORS, processors.to_string())
        .output()
        .unwrap()
}

/// As a child, calls `body` with its cluster; else looks how such children end, and what they have
/// said.
#[track_caller]
fn in_a_child(said: &str, body: impl FnOnce(&Cluster)) {
    if std::env::var_os(ROLE).is_some() {
        let processors = std::env::var(PROCESSORS).unwrap().parse().unwrap();
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            eprintln!("it has not ended");
            std::process::abort();
        });
        body(&cluster);
        thread::sleep(Duration::from_secs(3600));
    }
    for processors in [1, 2, 4] {
        let output = again(processors);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(CODE), "{processors}: {errors}");
        let words = String::from_utf8_lossy(&output.stdout);
        assert!(words.contains(said), "{processors}: {words}");
    }
}

/// Ends the process at once: it exits already.
fn found_ended() -> ! {
    eprintln!("a value is used that has ended");
    std::process::abort();
}

/// Blocks its fibre when the thread ends it.
struct Waits(fn());

impl Drop for Waits {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local!(static WAITS: RefCell<Option<Waits>> = const { RefCell::new(None) });

/// Has a fibre on each processor use its thread's value again and again, and another one exit, with
/// a destructor that waits by `wait`.
fn exit_beside_users(cluster: &Cluster, wait: fn()) {
    for _ in 0..cluster.processors() * 2 {
        drop(cluster.spawn(move || {
            // What is touched first ends last.
            WAITS.with_borrow_mut(|_| ());
            let ended = Arc::new(AtomicBool::new(false));
            lend(&ended, |witness| {
                loop {
                    if witness.has_ended() {
                        found_ended();
                    }
                    fibre::yield_now();
                }
            });
        }));
    }
    drop(cluster.spawn(move || {
        WAITS.with_borrow_mut(|waits| *waits = Some(Waits(wait)));
        let ended = Arc::new(AtomicBool::new(false));
        lend(&ended, |_| ());
        fibre::sleep(Duration::from_millis(20));
        print!("last words");
        std::process::exit(CODE);
    }));
}

/// A destructor that sleeps lets nobody use what has ended before.
#[test]
fn beside_a_destructor_that_sleeps() {
    in_a_child("last words", |cluster| {
        exit_beside_users(cluster, || fibre::sleep(A_WHILE));
    });
}

/// The same for one that yields.
#[test]
fn beside_a_destructor_that_yields() {
    in_a_child("last words", |cluster| {
        exit_beside_users(cluster, || (0..1000).for_each(|_| fibre::yield_now()));
    });
}

/// One that wants a lock which another fibre of the thread has for ever does not keep the process
/// from ending.
#[test]
fn beside_a_destructor_that_waits_for_ever() {
    static LOCK: Mutex<()> = Mutex::new(());
    in_a_child("last words", |cluster| {
        let taken = cluster.spawn(|| std::mem::forget(LOCK.lock()));
        taken.join().unwrap();
        exit_beside_users(cluster, || drop(LOCK.lock()));
    });
}

/// What another fibre of the thread has lent to a thread stays while the process ends.
#[test]
fn beside_a_fibre_that_has_lent() {
    in_a_child("", |cluster| {
        static LENT: OnceLock<()> = OnceLock::new();
        let one = cluster.processors() == 1;
        for _ in 0..cluster.processors() {
            drop(cluster.spawn(move || {
                WAITS.with_borrow_mut(|waits| *waits = Some(Waits(|| thread::sleep(A_WHILE))));
                let ended = Arc::new(AtomicBool::new(false));
                lend(&ended, |witness| {
                    fibre::blocking(|| {
                        LENT.set(()).ok();
                        while !witness.has_ended() {
                            thread::sleep(Duration::from_millis(1));
                        }
                        found_ended();
                    });
                });
            }));
        }
        drop(cluster.spawn(move || {
            fibre::sleep(Duration::from_millis(50));
            assert!(LENT.get().is_some() || !one);
            std::process::exit(CODE);
        }));
    });
}

/// Fibres that exit at the same time end the process once.
#[test]
fn beside_others_that_exit() {
    in_a_child("", |cluster| {
        let (go, all) = (Arc::new(AtomicBool::new(false)), 4 * cluster.processors());
        for _ in 0..all {
            let go = Arc::clone(&go);
            drop(cluster.spawn(move || {
                while !go.load(Ordering::SeqCst) {
                    fibre::yield_now();
                }
                std::process::exit(CODE);
            }));
        }
        thread::sleep(Duration::from_millis(20));
        go.store(true, Ordering::SeqCst);
    });
}
