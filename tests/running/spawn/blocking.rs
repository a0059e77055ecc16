//! Calls that block a kernel thread.

use crate::support::drops::OnDrop;
use crate::support::process::{errors, plays, spawn_child};
use crate::support::{
    Drops, eventually, for_clusters, for_each_cluster, kernel_thread, text_of, watched,
};
use fibre::{BlockingPool, Cluster, StopError};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

/// A pool of at most so many threads, which stay for so long without work.
fn pool(threads: usize, idle: Duration) -> Arc<BlockingPool> {
    let builder = BlockingPool::builder().threads(threads).idle(idle);
    Arc::new(builder.name("some-pool").build())
}

/// An hour.
const LONG: Duration = Duration::from_secs(3600);

/// The call runs on another kernel thread, may borrow, and its value comes back.
#[test]
fn blocking_calls_run_elsewhere() {
    for_each_cluster(|_| {
        let text = "borrowed".to_owned();
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let (length, there) = fibre::blocking(|| (text.len(), name()));
        assert_eq!(length, text.len());
        assert!(there.starts_with("fibre-disk/"), "{there}");
        assert!(!name().starts_with("fibre-disk/"));
    });
}

/// While a call blocks its thread, the other fibres of the processor go on.
#[test]
fn others_run_meanwhile() {
    for_each_cluster(|_| {
        let (tell, told) = channel();
        let blocked = fibre::spawn(move || fibre::blocking(move || told.recv().unwrap()));
        for _ in 0..100 {
            fibre::spawn(fibre::yield_now).join().unwrap();
        }
        tell.send("released by a fibre").unwrap();
        assert_eq!(blocked.join().unwrap(), "released by a fibre");
    });
}

/// More calls than there are threads for them take turns.
#[test]
fn many_calls_take_turns() {
    for_each_cluster(|_| {
        let handles: Vec<_> = (0..64_usize)
            .map(|i| {
                fibre::spawn(move || {
                    fibre::blocking(|| {
                        thread::sleep(Duration::from_millis(1));
                        i
                    })
                })
            })
            .collect();
        for (i, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), i);
        }
    });
}

/// A panic of the call is the caller's, and what it captured is dropped once.
#[test]
fn panics_come_back() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let captured = drops.value();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            fibre::blocking(move || {
                let _captured = captured;
                panic!("from the call");
            })
        }));
        let payload = outcome.expect_err("it panicked");
        assert_eq!(text_of(&*payload), "from the call");
        assert_eq!(drops.count(), 1);
        assert_eq!(fibre::blocking(|| 3), 3);
    });
}

/// On a plain thread the call is just made; inside another such call it works, too.
#[test]
fn plain_threads_and_nesting() {
    watched(|| {
        let here = kernel_thread();
        assert_eq!(fibre::blocking(kernel_thread), here);
        let nested = fibre::spawn(|| fibre::blocking(|| fibre::blocking(|| 11)));
        assert_eq!(nested.join().unwrap(), 11);
    });
}

/// A fibre stops another cluster by such a call, and only waits itself.
#[test]
fn a_fibre_stops_another_cluster() {
    for_each_cluster(|_| {
        let other = Cluster::builder().processors(2).build().unwrap();
        let slow = other.spawn(|| fibre::sleep(Duration::from_millis(5)));
        fibre::blocking(move || other.stop());
        assert!(slow.is_finished());
    });
}

/// Calls that go on for long have threads of their own, all at the same time.
#[test]
fn the_pool_grows_with_demand() {
    for_each_cluster(|_| {
        let pool = pool(100, LONG);
        assert_eq!(pool.threads(), 0);
        let all_there = Arc::new(Barrier::new(40));
        let callers: Vec<_> = (0..40)
            .map(|_| {
                let (pool, all_there) = (Arc::clone(&pool), Arc::clone(&all_there));
                fibre::spawn(move || pool.run(|| all_there.wait().is_leader()))
            })
            .collect();
        let leaders = callers.into_iter().filter_map(|fibre| fibre.join().ok());
        assert_eq!(leaders.filter(|leads| *leads).count(), 1);
        assert_eq!(pool.threads(), 40);
    });
}

/// There are never more threads than there may be; the others' calls are made in their turn.
#[test]
fn the_pool_is_bounded() {
    for_each_cluster(|_| {
        let pool = pool(3, LONG);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let seen = Mutex::new(HashSet::new());
        fibre::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| {
                    pool.run(|| {
                        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        seen.lock().unwrap().insert(kernel_thread());
                        thread::sleep(Duration::from_micros(100));
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                });
            }
        });
        assert!(most.into_inner() <= 3);
        assert!(seen.into_inner().unwrap().len() <= 3);
        assert!(pool.threads() <= 3);
    });
}

/// Threads without work end; and so do all when the pool is dropped, those that are idle included.
#[test]
fn the_pool_shrinks() {
    let tasks = |wanted: &str| {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            tasks.filter_map(|it| std::fs::read_to_string(it.ok()?.path().join("comm")).ok());
        names.filter(|name| name.starts_with(wanted)).count()
    };
    for_clusters(&[2], move |_| {
        for (idle, name) in [(Duration::from_millis(20), "shrinks"), (LONG, "is-gone")] {
            let builder = BlockingPool::builder().idle(idle).name(name);
            let pool = builder.build();
            let all_there = Barrier::new(10);
            fibre::scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|| pool.run(|| all_there.wait().is_leader()));
                }
            });
            if idle == LONG {
                assert_eq!(pool.threads(), 10);
                // A list that is read while others' threads end may lack some.
                eventually(|| tasks(name) == 10);
                drop(pool);
            } else {
                eventually(|| pool.threads() == 0);
                // And it grows again.
                assert_eq!(pool.run(|| 5), 5);
            }
            eventually(|| tasks(name) == 0);
        }
    });
}

/// A thousand calls at the same time.
#[test]
fn a_thousand_at_once() {
    for_each_cluster(|_| {
        let calls = AtomicUsize::new(0);
        fibre::scope(|scope| {
            for _ in 0..1000 {
                scope.spawn(|| fibre::blocking(|| calls.fetch_add(1, Ordering::Relaxed)));
            }
        });
        assert_eq!(calls.into_inner(), 1000);
    });
}

/// Payloads whose destructors panic hurt no thread: whoever made the call has them.
#[test]
fn payloads_may_panic() {
    for_each_cluster(|_| {
        let pool = pool(1, LONG);
        for _ in 0..3 {
            let payload = OnDrop(|| panic!("from the payload's destructor"));
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.run(|| panic_any(payload))));
            let payload = outcome.expect_err("it panicked");
            assert!(catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err());
        }
        assert_eq!(pool.run(|| 8), 8);
        assert_eq!(pool.threads(), 1);
    });
}

/// Cancellation does not end a call, which may borrow; and the calls of a cancelled fibre are made.
#[test]
fn cancellation_waits() {
    for_each_cluster(|_| {
        let (tell, told) = fibre::channel::bounded(1);
        let fibre = fibre::spawn(move || {
            let mut borrowed = vec![1];
            fibre::blocking(|| {
                told.recv().unwrap();
                borrowed.push(2);
            });
            assert!(fibre::is_cancelled());
            fibre::blocking(|| borrowed.push(3));
            borrowed
        });
        fibre::sleep(Duration::from_millis(2));
        fibre.cancel();
        fibre::sleep(Duration::from_millis(2));
        assert!(!fibre.is_finished());
        tell.send(()).unwrap();
        assert_eq!(fibre.join().unwrap(), [1, 2, 3]);
    });
}

/// A cluster whose fibre is in a call is stopped without it, and the call ends where it began.
#[test]
fn left_behind_in_a_call() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (tell, told) = fibre::channel::bounded(1);
        let (say, heard) = channel();
        let (begin, begun) = channel();
        let fibre = cluster.spawn(move || {
            let local = [7; 64];
            fibre::blocking(|| {
                begin.send(()).unwrap();
                told.recv().unwrap();
                say.send(local[63]).unwrap();
            });
        });
        begun.recv().unwrap();
        let short = Duration::from_millis(10);
        let error: StopError = cluster.stop_within(short, short).unwrap_err();
        assert_eq!(error.left.len(), 1);
        assert!(fibre.join().is_err());
        tell.send(()).unwrap();
        assert_eq!(heard.recv().unwrap(), 7);
    });
}

/// In a call one is no fibre: waiting blocks the call's thread, and spawning is for the default
/// cluster.
#[test]
fn a_call_is_no_fibre() {
    for_each_cluster(|_| {
        fibre::blocking(|| {
            assert!(!fibre::in_fibre());
            assert!(!thread::panicking());
            let here = kernel_thread();
            let (send, receive) = fibre::channel::bounded(1);
            let sender = fibre::spawn(move || send.send(kernel_thread()).unwrap());
            assert_ne!(receive.recv().unwrap(), here);
            sender.join().unwrap();
            assert_eq!(here, kernel_thread());
        });
    });
}

/// A program that is started in a call hears of signals.
#[test]
fn programs_started_there_hear_of_signals() {
    let script = "grep -q 'SigBlk:\t0*$' /proc/self/status";
    for_clusters(&[1], move |_| {
        let status = fibre::blocking(|| {
            let mut command = Command::new("sh");
            fibre::unblock_signals(command.arg("-c").arg(script)).status()
        });
        assert!(status.unwrap().success());
    });
}

/// Where no thread can be started, a call is made where the caller is, and it is said.
/// AddressSanitizer ends the process instead where an allocation fails.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn without_threads() {
    if plays("poor") {
        watched(|| {
            let cluster = Cluster::builder().processors(1).build().unwrap();
            let calls = cluster.spawn(|| {
                let here = kernel_thread();
                // No room for the stack of a thread.
                let status = std::fs::read_to_string("/proc/self/statm").unwrap();
                let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
                let before = getrlimit(Resource::As);
                let poor = Rlimit {
                    current: Some((pages << 12) + (1 << 20)),
                    maximum: before.maximum,
                };
                setrlimit(Resource::As, poor).unwrap();
                let there: Vec<_> = (0..3).map(|_| fibre::blocking(kernel_thread)).collect();
                setrlimit(Resource::As, before).unwrap();
                assert_eq!(there, [here; 3]);
                assert_ne!(fibre::blocking(kernel_thread), here);
            });
            calls.join().unwrap();
        });
        return;
    }
    let output = spawn_child("poor", &[]);
    let said = errors(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(
        said.matches("calls that block now block processors")
            .count(),
        1,
        "{said}"
    );
}

/// The environment sets the bound.
#[test]
fn the_environment_bounds() {
    if plays("bounded") {
        let calls = || {
            fibre::scope(|scope| {
                let callers = (0..20).map(|_| scope.spawn(|| fibre::blocking(kernel_thread)));
                let callers: Vec<_> = callers.collect();
                callers
                    .into_iter()
                    .map(|it| it.join().unwrap())
                    .collect::<HashSet<_>>()
            })
        };
        assert_eq!(watched(|| fibre::spawn(calls).join().unwrap()).len(), 1);
        return;
    }
    let output = spawn_child("bounded", &[("FIBRE_BLOCKING_THREADS", "1")]);
    assert!(output.status.success(), "{}", errors(&output));
    for (name, value) in [
        ("FIBRE_BLOCKING_THREADS", "0"),
        ("FIBRE_BLOCKING_THREADS", "many"),
        ("FIBRE_BLOCKING_IDLE", "-1"),
    ] {
        let output = spawn_child("bounded", &[(name, value)]);
        assert!(!output.status.success());
        assert!(errors(&output).contains("must be"), "{}", errors(&output));
    }
}

/// A name that no thread can have is like threads that cannot be started: the calls are made all
/// the same.
#[test]
fn a_pool_with_an_impossible_name() {
    for_each_cluster(|_| {
        let pool = BlockingPool::builder().name("some\0pool").build();
        for number in 0..3 {
            assert_eq!(pool.run(|| number), number);
        }
        assert_eq!(pool.threads(), 0);
    });
    assert!(Cluster::builder().name("some\0cluster").build().is_err());
}
