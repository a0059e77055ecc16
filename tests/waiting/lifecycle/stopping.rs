//! The end of clusters: at their own pace, and within limits.

use super::cluster;

use crate::support::{
    Latch, Random, cpu_time_of, eventually, let_others_block, processor_counts, sockets,
    thread_exists, watched, were_late,
};
use fibre::sync::{Condvar, Mutex, Semaphore};
use fibre::{
    Abandoned, Builder, Cancelled, Cluster, Limit, Priority, StopError, WaitKind, Waiting,
};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// No time at all.
const NOW: Duration = Duration::ZERO;

/// A little time.
const SOON: Duration = Duration::from_millis(20);

/// A cluster whose started fibres move with every wake-up, or not.
fn maybe_migrating(processors: usize, migrate: bool, name: &str) -> Cluster {
    let builder = Cluster::builder().processors(processors).name(name);
    let builder = if migrate {
        // SAFETY: nothing in this file belongs to a kernel thread and is kept across a wait.
        unsafe { builder.force_migration() }
    } else {
        builder
    };
    builder.build().unwrap()
}

/// Fails if the error names others than the fibres with these numbers.
#[track_caller]
fn names_exactly(error: &StopError, ids: &[u64]) {
    let mut left: Vec<u64> = error.left.iter().map(|fibre| fibre.id).collect();
    let mut ids = ids.to_vec();
    left.sort_unstable();
    ids.sort_unstable();
    assert_eq!(left, ids, "{error}");
    assert_eq!(error.unseen, 0, "{error}");
}

/// What ends in time is waited for, also what it spawns meanwhile.
#[test]
fn who_ends_in_time_is_drained() {
    for processors in processor_counts() {
        watched(|| {
            let cluster = cluster(processors);
            let ended = Arc::new(AtomicUsize::new(0));
            for i in 0..300_u64 {
                let ended = Arc::clone(&ended);
                cluster.spawn(move || {
                    fibre::sleep(Duration::from_micros(i * 20));
                    let inner = Arc::clone(&ended);
                    fibre::spawn(move || inner.fetch_add(1, Ordering::SeqCst));
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            cluster.stop_within(LONG, NOW).unwrap();
            assert_eq!(ended.load(Ordering::SeqCst), 600);
        });
    }
}

/// A cluster that is being stopped takes fibres from its own fibres only.
#[test]
fn a_draining_cluster_is_closed_to_others() {
    watched(|| {
        let cluster = cluster(2);
        let (latch, other) = (Latch::new(), cluster.clone());
        let waiting = Arc::clone(&latch);
        let last = cluster.spawn(move || {
            waiting.wait();
            fibre::spawn(|| 4).join().unwrap()
        });
        let stopped = cluster.clone();
        let stopper = thread::spawn(move || stopped.stop());
        eventually(|| Builder::new().spawn_in(&other, || ()).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(other.spawn(|| ())))).is_err());
        assert!(other.add_processors(1).is_err());
        assert!(!stopper.is_finished());
        latch.open();
        assert_eq!(last.join().unwrap(), 4);
        stopper.join().unwrap();
        assert_eq!(other.live(), 0);
    });
}

/// A fibre that stops another cluster blocks itself, and not its processor.
#[test]
fn stopping_blocks_the_fibre_only() {
    watched(|| {
        let (own, other) = (cluster(1), cluster(2));
        let latch = Latch::new();
        let waiting = Arc::clone(&latch);
        let held = other.spawn(move || waiting.wait());
        let stopper = own.spawn(move || other.stop());
        own.spawn(let_others_block).join().unwrap();
        assert!(!stopper.is_finished());
        own.spawn(move || latch.open()).join().unwrap();
        stopper.join().unwrap();
        held.join().unwrap();
        own.stop();
    });
}

/// What can be cancelled is: in whatever it waits, and also if it begins later.
#[test]
fn who_can_be_cancelled_ends() {
    for migrate in [false, true] {
        for processors in processor_counts() {
            watched(|| {
                let cluster = maybe_migrating(processors, migrate, "fibre");
                let listener = Arc::new(sockets::listener());
                let (near, _far) = sockets::pair_with_std();
                let semaphore = Arc::new(Semaphore::new(0));
                let pair = Arc::new((Mutex::new(()), Condvar::new()));
                let (permits, cell) = (Arc::clone(&semaphore), Arc::clone(&pair));
                let accepting = Arc::clone(&listener);
                let lives: Vec<Box<dyn FnOnce() -> bool + Send>> = vec![
                    Box::new(move || permits.acquire_within(Limit::Cancellation).is_err()),
                    Box::new(move || {
                        let mut guard = cell.0.lock();
                        cell.1.wait_within(&mut guard, Limit::Cancellation).is_err()
                    }),
                    Box::new(|| fibre::sleep_within(LONG).is_err()),
                    Box::new(move || (&near).read(&mut [0]).is_err()),
                    Box::new(move || accepting.accept().is_err()),
                    Box::new(|| {
                        let child = fibre::spawn(|| fibre::sleep_within(LONG));
                        child.join().unwrap().is_err()
                    }),
                    Box::new(|| {
                        while fibre::cancellation_point().is_ok() {
                            fibre::yield_now();
                        }
                        // A fibre that it spawns now is cancelled from the beginning.
                        fibre::spawn(fibre::is_cancelled).join().unwrap()
                    }),
                ];
                let fibres: Vec<_> = lives.into_iter().map(|it| cluster.spawn(it)).collect();
                let_others_block();
                cluster.stop_within(SOON, LONG).unwrap();
                for fibre in fibres {
                    assert!(fibre.join().unwrap());
                }
                assert_eq!(Arc::strong_count(&semaphore), 1);
            });
        }
    }
}

/// A cluster that waits for its last fibre, and one that stands, use no CPU.
#[test]
fn waiting_for_the_end_uses_no_cpu() {
    watched(|| {
        for processors in [1, 4] {
            let name = format!("end{processors}p");
            let builder = Cluster::builder().processors(processors).name(&name);
            let cluster = builder.build().unwrap();
            let latch = Latch::new();
            let waiting = Arc::clone(&latch);
            cluster.spawn(move || waiting.wait());
            let_others_block();
            let mut paused = Some(cluster.pause().unwrap());
            let stopper = thread::spawn(move || cluster.stop());
            for _ in 0..2 {
                thread::sleep(Duration::from_millis(20));
                let before = cpu_time_of(&name);
                thread::sleep(Duration::from_millis(200));
                let used = cpu_time_of(&name) - before;
                assert!(used < 20_000_000, "{used} ns of CPU for nothing");
                // Once standing, and once draining.
                drop(paused.take());
            }
            latch.open();
            stopper.join().unwrap();
        }
    });
}

/// Fibres that wait for ever, each in another way, which cannot be cancelled. `wake` wakes
/// those that can be.
struct Blocked {
    ids: Vec<u64>,
    handles: Vec<fibre::JoinHandle<()>>,
    semaphore: Arc<Semaphore>,
    mutex: Arc<Mutex<()>>,
    pair: Arc<(Mutex<bool>, Condvar)>,
    /// Ends the call that blocks a thread.
    end: Sender<()>,
}

impl Blocked {
    fn new(cluster: &Cluster) -> Self {
        let semaphore = Arc::new(Semaphore::new(0));
        let mutex = Arc::new(Mutex::new(()));
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let (permits, lock, cell) = (
            Arc::clone(&semaphore),
            Arc::clone(&mutex),
            Arc::clone(&pair),
        );
        let holder = Arc::clone(&mutex);
        let never = Arc::clone(&semaphore);
        let (end, patience) = channel::<()>();
        let endless: Vec<Box<dyn FnOnce() + Send>> = vec![
            Box::new(move || permits.acquire()),
            Box::new(move || {
                let _held = holder.lock();
                fibre::sleep(LONG);
            }),
            Box::new(move || {
                // Not before the holder has it.
                while lock.try_lock().is_some() {
                    fibre::sleep(Duration::from_millis(1));
                }
                drop(lock.lock());
            }),
            Box::new(move || {
                let mut told = cell.0.lock();
                cell.1.wait_while(&mut told, |told| !*told);
            }),
            Box::new(|| fibre::sleep(LONG)),
            Box::new(move || {
                let child = fibre::spawn(move || fibre::shield(|| never.acquire()));
                // It may have been unwound. A panic here would write a backtrace meanwhile, which
                // takes a processor for longer than a test waits for it.
                let _ = child.join();
            }),
            Box::new(|| {
                let sleeps = || fibre::shield(|| fibre::sleep(LONG));
                fibre::scope(|scope| drop(scope.spawn(sleeps)));
            }),
            Box::new(move || fibre::blocking(move || patience.recv()).unwrap_or(())),
        ];
        let handles: Vec<_> = endless
            .into_iter()
            .map(|body| cluster.spawn(|| fibre::shield(body)))
            .collect();
        Self {
            ids: handles.iter().map(fibre::JoinHandle::id).collect(),
            handles,
            semaphore,
            mutex,
            pair,
            end,
        }
    }

    /// Wakes whom it can.
    fn wake(&self) {
        self.semaphore.release();
        self.semaphore.release();
        self.end.send(()).unwrap();
        assert!(
            self.mutex.try_lock().is_none(),
            "its holder is there for ever"
        );
        *self.pair.0.lock() = true;
        self.pair.1.notify_all();
    }
}

/// What is left is told of and never runs again; joins of it end, and waking it does no harm.
#[test]
fn who_cannot_be_cancelled_is_left() {
    for migrate in [false, true] {
        for processors in processor_counts() {
            watched(|| {
                let name = format!("left{processors}{migrate}");
                let cluster = maybe_migrating(processors, migrate, &name);
                let witness = cluster.clone();
                let blocked = Blocked::new(&cluster);
                let threads = cluster.thread_ids();
                // Two of them have a child that is left, too.
                let all = blocked.ids.len() + 2;
                let is_ours = |it: &&Waiting| it.cluster == name && it.stuck.is_none();
                eventually(|| fibre::waits().iter().filter(is_ours).count() == all);
                let error = cluster.stop_within(SOON, SOON).unwrap_err();
                assert!(error.stuck.is_empty(), "{error}");
                assert!(error.left.iter().all(|fibre| fibre.started), "{error}");
                assert_eq!(error.left.len(), all, "{error}");
                assert_eq!(error.unseen, 0, "{error}");
                for id in &blocked.ids {
                    assert!(error.left.iter().any(|fibre| fibre.id == *id), "{error}");
                }
                // What a fibre has lent of its thread's values stays lent. Where fibres move,
                // nobody knows whose they are.
                let stays =
                    |thread: &&i32| std::fs::exists(format!("/proc/self/task/{thread}")).unwrap();
                let staying = threads.iter().filter(stays).count();
                assert!(staying >= if migrate { processors } else { 1 }, "{staying}");
                blocked.wake();
                thread::sleep(Duration::from_millis(1));
                assert_eq!(witness.live(), error.left.len());
                for handle in blocked.handles {
                    let payload = handle.join().unwrap_err();
                    assert!(payload.is::<Abandoned>());
                }
                // Once more is no more.
                witness.stop();
            });
        }
    }
}

/// Names of fibres that were left are told.
#[test]
fn who_is_left_is_named() {
    watched(|| {
        let cluster = cluster(1);
        let builder = Builder::new().name("endless");
        let fibre = builder.spawn_in(&cluster, || fibre::sleep(LONG)).unwrap();
        let waits = |it: &Waiting| it.id == fibre.id() && it.awaited.kind() == WaitKind::Sleep;
        eventually(|| fibre::waits().iter().any(waits));
        let error = cluster.stop_within(NOW, NOW).unwrap_err();
        names_exactly(&error, &[fibre.id()]);
        assert_eq!(error.left[0].name.as_deref(), Some("endless"));
        let text = format!(
            "1 fibre was left behind: {} (\"endless\") that waits for time to pass",
            fibre.id()
        );
        assert_eq!(error.to_string(), text);
    });
}

/// Fibres that have not begun, since their cluster stands, are left with their closures.
#[test]
fn who_has_not_begun_is_left() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    watched(|| {
        let cluster = cluster(2);
        let paused = cluster.pause().unwrap();
        let dropped = Arc::new(AtomicBool::new(false));
        let captured = Dropped(Arc::clone(&dropped));
        let fibre = cluster.spawn(move || drop(captured));
        let error = cluster.stop_within(NOW, NOW).unwrap_err();
        names_exactly(&error, &[fibre.id()]);
        assert!(!error.left[0].started && error.stuck.is_empty());
        assert!(fibre.join().unwrap_err().is::<Abandoned>());
        drop(paused);
        assert!(!dropped.load(Ordering::SeqCst));
    });
}

/// Whatever queue a fibre is in that has not begun, it is found.
#[test]
fn whoever_waits_in_a_queue_is_left() {
    watched(|| {
        let cluster = cluster(2);
        let paused = cluster.pause().unwrap();
        let mut builders = vec![Builder::new(), Builder::new().background()];
        let priorities = [Priority::High, Priority::Low];
        builders.extend(priorities.map(|priority| Builder::new().priority(priority)));
        let pinned = builders.clone().into_iter().map(|it| it.on_processor(1));
        builders.extend(pinned.collect::<Vec<_>>());
        let fibres: Vec<_> = builders
            .into_iter()
            .map(|builder| builder.spawn_in(&cluster, || ()).unwrap())
            .collect();
        let error = cluster.stop_within(NOW, NOW).unwrap_err();
        let ids: Vec<_> = fibres.iter().map(fibre::JoinHandle::id).collect();
        names_exactly(&error, &ids);
        for fibre in fibres {
            assert!(fibre.join().unwrap_err().is::<Abandoned>());
        }
        drop(paused);
    });
}

/// Joins end of all fibres of clusters that are abandoned while these are being stolen.
#[test]
fn nobody_is_lost_in_a_thief_s_hands() {
    for round in 0..200 {
        watched(|| {
            let mut builder = Cluster::builder().processors(4);
            if round % 2 == 1 {
                // SAFETY: the fibres below keep nothing.
                builder = unsafe { builder.move_started_fibres() };
            }
            let cluster = builder.build().unwrap();
            let fibres: Vec<_> = (0..1500)
                .map(|index| {
                    cluster.spawn(move || {
                        if index % 16 == 0 {
                            fibre::yield_now();
                            thread::yield_now();
                        }
                    })
                })
                .collect();
            let outcome = cluster.stop_within(NOW, NOW);
            let stuck = outcome.as_ref().is_err_and(|error| !error.stuck.is_empty());
            if !stuck {
                assert_eq!(outcome.map_or_else(|error| error.unseen, |()| 0), 0);
                for fibre in fibres {
                    assert!(
                        fibre
                            .join()
                            .map_or_else(|it| it.is::<Abandoned>(), |()| true)
                    );
                }
            }
        });
    }
}

/// Of fibres that move between two clusters while these are stopped, none is lost on the way.
#[test]
fn nobody_is_lost_between_clusters() {
    let seed = Random::seed();
    let mut random = Random::new(seed);
    for _ in 0..100 {
        watched(|| {
            let clusters = [0, 1].map(|_| {
                let builder = Cluster::builder().processors(1 + random.below(3));
                // SAFETY: the fibres below keep nothing.
                unsafe { builder.move_started_fibres() }.build().unwrap()
            });
            let fibres: Vec<_> = (0..random.below(150))
                .map(|index| {
                    let (clusters, mut random) = (clusters.clone(), random.split());
                    clusters[index % 2].clone().spawn(move || {
                        for _ in 0..random.below(30) {
                            let _ = fibre::migrate_to(&clusters[random.below(2)]);
                            fibre::sleep(Duration::from_micros(random.below(100) as u64));
                        }
                    })
                })
                .collect();
            let late = AtomicBool::new(false);
            thread::scope(|scope| {
                for cluster in clusters {
                    let late = &late;
                    let [wait, drain, cancel] = [1500, 1000, 1000]
                        .map(|most| Duration::from_micros(random.below(most) as u64));
                    scope.spawn(move || {
                        thread::sleep(wait);
                        if let Err(error) = cluster.stop_within(drain, cancel) {
                            late.fetch_or(were_late(&error), Ordering::SeqCst);
                        }
                    });
                }
            });
            if late.into_inner() {
                // Their fibres have been given up by nobody.
                return;
            }
            for fibre in fibres {
                if let Err(payload) = fibre.join() {
                    // A limit may be long enough for some to be unwound.
                    assert!(payload.is::<Abandoned>() || payload.is::<Cancelled>());
                }
            }
        });
    }
}

/// A processor whose fibre never switches keeps its thread until it does; the others end.
#[test]
fn stuck_processors_are_told() {
    for processors in [1, 3] {
        watched(|| {
            let name = format!("stuck{processors}");
            let builder = Cluster::builder().processors(processors).name(&name);
            let cluster = builder.build().unwrap();
            let free = Arc::new(AtomicBool::new(false));
            let (begun, wait) = channel();
            let held = Arc::clone(&free);
            let busy = cluster.spawn(move || {
                begun.send(fibre::processor().unwrap()).unwrap();
                while !held.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                5
            });
            let index = wait.recv().unwrap();
            let thread = cluster.thread_ids()[index];
            let error = cluster.stop_within(NOW, SOON).unwrap_err();
            let stuck: Vec<_> = error.stuck.iter().map(|it| (it.index, it.thread)).collect();
            assert_eq!(stuck, [(index, thread)], "{error}");
            assert_eq!((error.left.len(), error.unseen), (0, 1), "{error}");
            for other in (0..processors).filter(|other| *other != index) {
                eventually(|| !thread_exists(&format!("{name}/{other}")));
            }
            eventually(|| thread_exists(&format!("{name}/{index}")));
            free.store(true, Ordering::SeqCst);
            assert_eq!(busy.join().unwrap(), 5);
            eventually(|| !thread_exists(&format!("{name}/{index}")));
        });
    }
}

/// Descriptors that an abandoned fibre waits for serve others.
#[test]
fn abandoned_waits_for_sockets_do_no_harm() {
    watched(|| {
        for processors in processor_counts() {
            let cluster = cluster(processors);
            let (near, mut far) = sockets::pair_with_std();
            let near = Arc::new(near);
            let reading = Arc::clone(&near);
            // Cannot be cancelled, as it does not care.
            cluster.spawn(move || while (&*reading).read(&mut [0]).is_err() {});
            let_others_block();
            let outcome = cluster.stop_within(NOW, SOON);
            std::io::Write::write_all(&mut far, b"xx").unwrap();
            assert_eq!((&*near).read(&mut [0]).unwrap(), 1);
            drop(outcome);
        }
    });
}

/// Stops at random moments, within random limits, of clusters that are busy in all ways:
/// each ends soon.
#[test]
fn limits_at_random() {
    let seed = Random::seed();
    let mut random = Random::new(seed);
    for _ in 0..60 {
        watched(|| {
            let cluster = maybe_migrating(1 + random.below(4), random.one_in(3), "fibre");
            let blocked = random.one_in(2).then(|| Blocked::new(&cluster));
            for _ in 0..random.below(200) {
                let time = Duration::from_micros(random.below(2000) as u64);
                cluster.spawn(move || {
                    fibre::yield_now();
                    fibre::sleep(time);
                    fibre::spawn(fibre::yield_now);
                });
            }
            let limit = |random: &mut Random| Duration::from_micros(random.below(3000) as u64);
            let (drain, cancel) = (limit(&mut random), limit(&mut random));
            thread::sleep(limit(&mut random));
            if let Err(error) = cluster.stop_within(drain, cancel) {
                were_late(&error);
            }
            if let Some(blocked) = blocked {
                blocked.semaphore.release();
            }
        });
    }
}
