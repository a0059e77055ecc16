//! Deadlocks, beside the ways of `tests/observed/hangs`: which fibres wait for each other, or for
//! what will not come, is told with their stacks. A cycle is reported even if a listener is open.

use crate::support::eventually;
use crate::support::process::no_core_file;
use crate::support::program::{END, program, watched};
use fibre::net::TcpListener;
use fibre::sync::raw::{self, Kind, Wait};
use fibre::sync::{Mutex, RwLock};
use fibre::{Builder, JoinHandle, sleep};
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Spawns a fibre with a name.
fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name).spawn(f).unwrap()
}

/// A fibre that waits for connections, so that a descriptor could end some wait.
fn listen() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    drop(spawn("listener", move || drop(listener.accept())));
}

#[inline(never)]
fn takes_both_raw(first: &raw::Mutex, second: &raw::Mutex) {
    first.lock(Wait::FOREVER).unwrap();
    sleep(Duration::from_millis(50));
    second.lock(Wait::FOREVER).unwrap();
    std::hint::black_box(());
}

/// Those of C programs note their owners in all builds: some kinds always, and normal ones where
/// deadlocks are looked for, from when they are made on or else from the first wait on.
#[test]
fn mutexes_of_c_programs_in_two_orders() {
    static RECURSIVE: [raw::Mutex; 2] = [const { raw::Mutex::new(Kind::Recursive) }; 2];
    static ZEROED: [raw::Mutex; 2] = [const { raw::Mutex::new(Kind::Normal) }; 2];
    let made = || {
        let mut mutex = raw::Mutex::new(Kind::Normal);
        mutex.note_owners();
        mutex
    };
    let order = |mutexes: &'static [raw::Mutex; 2]| {
        listen();
        let [one, two] = mutexes;
        drop(spawn("ab", move || takes_both_raw(one, two)));
        drop(spawn("ba", move || takes_both_raw(two, one)));
    };
    for kind in ["recursive", "made", "zeroed"] {
        let environment = [("FIBRE_DEADLOCK", "report"), ("KIND_OF_MUTEX", kind)];
        let program = program(2, &environment, || {
            match std::env::var("KIND_OF_MUTEX").unwrap().as_str() {
                "recursive" => order(&RECURSIVE),
                // The first cluster has to ask the environment.
                "made" => {
                    fibre::spawn(|| ()).join().unwrap();
                    order(Box::leak(Box::new([made(), made()])));
                }
                _ => {
                    // Somebody has waited for each of them.
                    for mutex in &ZEROED {
                        mutex.lock(Wait::FOREVER).unwrap();
                        let waits = fibre::spawn(|| {
                            mutex.lock(Wait::FOREVER).unwrap();
                            // SAFETY: locked above.
                            unsafe { mutex.unlock().unwrap() };
                        });
                        eventually(|| fibre::waits().len() == 1);
                        // SAFETY: locked above.
                        unsafe { mutex.unlock().unwrap() };
                        waits.join().unwrap();
                    }
                    order(&ZEROED);
                }
            }
        });
        let report = program.report();
        for words in [
            "they wait for each other",
            "\"ab\"",
            "\"ba\"",
            "takes_both_raw",
        ] {
            assert!(
                report.contains(words),
                "{kind}: {words:?} is not in: {report}"
            );
        }
    }
}

/// A fibre that locks what it has.
#[test]
fn a_fibre_that_waits_for_itself() {
    static MUTEX: raw::Mutex = raw::Mutex::new(Kind::Normal);
    let program = watched(1, || {
        listen();
        drop(spawn("again", || {
            // The first wait, which has a limit, makes the mutex note its owner from the next lock
            // on.
            MUTEX.lock(Wait::FOREVER).unwrap();
            let other = fibre::spawn(|| {
                let limit = std::time::Instant::now() + Duration::from_millis(1);
                MUTEX.lock(Wait::until(limit)).is_err()
            });
            assert!(other.join().unwrap());
            // SAFETY: locked above.
            unsafe { MUTEX.unlock().unwrap() };
            takes_both_raw(&MUTEX, &MUTEX);
        }));
    });
    let report = program.report();
    let words = "\"again\" waits for itself";
    assert!(report.contains(words), "{report}");
}

/// A writer and a mutex, in two orders.
#[test]
fn a_read_write_lock_and_a_mutex() {
    fn first<T>(taken: T) -> T {
        sleep(Duration::from_millis(50));
        taken
    }
    let mut program = watched(2, || {
        let all = Arc::new((Mutex::new(1), RwLock::new(2)));
        let other = Arc::clone(&all);
        drop(spawn("mutex first", move || {
            let mutex = first(all.0.lock());
            std::hint::black_box(*mutex + *all.1.read());
        }));
        drop(spawn("lock first", move || {
            let lock = first(other.1.write());
            std::hint::black_box(*lock + *other.0.lock());
        }));
    });
    let report = program.report();
    if cfg!(debug_assertions) {
        assert!(report.contains("they wait for each other"), "{report}");
    }
    assert!(report.contains("\"mutex first\" waits for the read-write lock at 0x"));
    assert!(
        report.contains("\"lock first\" waits for the mutex at 0x"),
        "{report}"
    );
    assert!(program.lives());
}

#[inline(never)]
fn joins(other: &Mutex<Option<JoinHandle<()>>>) {
    let other = std::iter::from_fn(|| {
        fibre::yield_now();
        Some(other.lock().take())
    });
    let _ = other.flatten().next().map(JoinHandle::join);
    std::hint::black_box(());
}

/// Two fibres that join each other, and one that waits for connections.
fn join_each_other() {
    listen();
    let handles = Arc::new((Mutex::new(None), Mutex::new(None)));
    let (one, two) = (Arc::clone(&handles), Arc::clone(&handles));
    let one = spawn("one", move || joins(&one.0));
    let two = spawn("two", move || joins(&two.1));
    (*handles.0.lock(), *handles.1.lock()) = (Some(two), Some(one));
}

/// A deadlock is told once, and another one, which comes later, is told, too.
#[test]
fn each_is_told_once() {
    let program = watched(2, || {
        join_each_other();
        drop(spawn("later", || {
            sleep(Duration::from_secs(4));
            join_each_other();
        }));
    });
    program.wait_until(|errors| errors.matches(END).count() == 2);
    let all = program.errors();
    assert_eq!(all.matches("they wait for each other").count(), 2, "{all}");
}

#[test]
fn abort_reports_and_aborts() {
    no_core_file();
    let mut program = program(2, &[("FIBRE_DEADLOCK", "abort")], join_each_other);
    assert_eq!(program.end().signal(), Some(libc::SIGABRT));
    let report = program.report();
    assert!(report.contains("they wait for each other"), "{report}");
}

/// All fibres wait, and the processors sleep, long before the last thread that could end that waits
/// for ever, too. A static refers to the fibre's wait: no search for stuck fibres tells of it.
#[test]
fn a_thread_that_comes_to_rest_late() {
    static NEVER_SET: fibre::sync::Event = fibre::sync::Event::new();
    let program = program(2, &[("FIBRE_DEADLOCK", "report")], || {
        drop(spawn("waiter", || NEVER_SET.wait()));
        thread::sleep(Duration::from_secs(10));
    });
    let report = program.report();
    assert!(report.contains("the only fibre waits"), "{report}");
    assert!(
        report.contains("and no timer, descriptor, signal or thread"),
        "{report}"
    );
}

/// The threads of the metrics and of the lines about the scheduler wait in other ways than the
/// program's, and are no reason to say nothing.
#[test]
fn other_threads_of_the_runtime_end_no_wait() {
    let environment = [
        ("FIBRE_DEADLOCK", "report"),
        ("FIBRE_METRICS", "127.0.0.1:0"),
        ("FIBRE_SCHEDTRACE", "1000000"),
    ];
    let program = program(1, &environment, || {
        drop(spawn("waiter", || fibre::sync::Semaphore::new(0).acquire()));
    });
    let report = program.report();
    assert!(
        report.contains("\"waiter\" waits for the semaphore"),
        "{report}"
    );
    assert!(
        report.contains("and no timer, descriptor, signal or thread"),
        "{report}"
    );
}
