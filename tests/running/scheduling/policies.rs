//! What each policy promises, whatever the environment asks of the others.

use crate::support::{Latch, let_others_block, watched};
use fibre::sync::Mutex;
use fibre::{Builder, Cluster, ClusterBuilder, Placement, Priority, QueueKind, StealOrder};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Numbers of processors that every policy is tried with.
const PROCESSORS: [usize; 4] = [1, 2, 4, 16];

/// A builder whose policies are the defaults, not the environment's.
fn plain(processors: usize) -> ClusterBuilder {
    Cluster::builder()
        .processors(processors)
        .placement(Placement::Push)
        .steal_order(StealOrder::LongestBusy)
        .sharing(false)
}

/// A builder with the policies of locality-aware schedulers (thesis, chapter 5).
fn las(processors: usize) -> ClusterBuilder {
    plain(processors)
        .queue(QueueKind::TwoEnded)
        .placement(Placement::Head)
        .steal_order(StealOrder::Hierarchical)
}

/// Runs `body` as a fibre of such a cluster and stops it.
fn within<R: Send + 'static>(
    builder: ClusterBuilder,
    body: impl FnOnce(&Cluster) -> R + Send + 'static,
) -> R {
    watched(|| {
        let cluster = builder.build().unwrap();
        let inside = cluster.clone();
        let result = cluster.spawn(move || body(&inside)).join();
        cluster.stop();
        result.unwrap()
    })
}

/// Whose turn it was, in order.
type Log<T> = Arc<Mutex<Vec<T>>>;

/// Fibres of higher priority run first, however they were spawned.
#[test]
fn higher_priorities_run_first() {
    let log = within(plain(1), |_| {
        let log = Log::default();
        let rounds = 10;
        let fibres: Vec<_> = (0..rounds)
            .flat_map(|_| [Priority::Low, Priority::Normal, Priority::High])
            .map(|priority| {
                let log = Arc::clone(&log);
                let builder = Builder::new().priority(priority);
                builder.spawn(move || log.lock().push(priority)).unwrap()
            })
            .collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        Arc::into_inner(log).unwrap().into_inner()
    });
    let places = |priority| -> usize {
        let mine = log.iter().enumerate().filter(|(_, of)| **of == priority);
        mine.map(|(place, _)| place).sum()
    };
    let sums = Priority::ALL.map(places);
    // Without exceptions for those who have waited: 45, 145, 245.
    assert!(sums[0] < 100 && sums[1] < 200 && sums[2] > 200, "{sums:?}");
}

/// So do those that have been woken.
#[test]
fn higher_priorities_go_on_first() {
    within(plain(1), |_| {
        let (log, latch) = (Log::default(), Latch::new());
        let fibres: Vec<_> = [Priority::Low, Priority::High, Priority::Low, Priority::High]
            .map(|priority| {
                let (log, latch) = (Arc::clone(&log), Arc::clone(&latch));
                let waiting = move || {
                    latch.wait();
                    log.lock().push(priority);
                };
                Builder::new().priority(priority).spawn(waiting).unwrap()
            })
            .into();
        let_others_block();
        latch.open();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        let order = log.lock().clone();
        let low = order.iter().filter(|of| **of == Priority::Low).count();
        assert_eq!((order.len(), low), (4, 2));
        assert!(order[..2].contains(&Priority::High), "{order:?}");
    });
}

/// Fibres that keep everybody busy do not starve those of lower priority, nor those of the
/// background, before their start or after.
#[test]
fn the_lowest_do_not_starve() {
    for processors in PROCESSORS {
        within(plain(processors), move |_| {
            let stop = Arc::new(AtomicBool::new(false));
            for _ in 0..2 * processors {
                let stop = Arc::clone(&stop);
                let busy = move || {
                    while !stop.load(Ordering::SeqCst) {
                        fibre::yield_now();
                    }
                };
                Builder::new().priority(Priority::High).spawn(busy).unwrap();
            }
            let low = Builder::new().priority(Priority::Low);
            let background = Builder::new().background();
            let fibres: Vec<_> = [low, background]
                .into_iter()
                .flat_map(|builder| [builder.clone(), builder])
                .map(|builder| {
                    let steps = || {
                        for _ in 0..3 {
                            fibre::yield_now();
                            fibre::sleep(Duration::from_micros(100));
                        }
                    };
                    builder.spawn(steps).unwrap()
                })
                .collect();
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            stop.store(true, Ordering::SeqCst);
        });
    }
}

/// A fibre of the background runs when the others have run.
#[test]
fn the_background_comes_last() {
    let last = within(plain(1), |_| {
        let mut last = 0;
        for _ in 0..50 {
            let ran = Arc::new(AtomicUsize::new(0));
            let before = Arc::clone(&ran);
            let background = Builder::new().background();
            let background = background.spawn(move || before.load(Ordering::SeqCst));
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                fibre::spawn(move || ran.fetch_add(1, Ordering::SeqCst));
            }
            last += usize::from(background.unwrap().join().unwrap() == 10);
        }
        last
    });
    // Now and then it has its turn all the same.
    assert!(last > 25, "{last} of 50");
}

/// An idle cluster runs what is staged, and what is in the background, at once.
#[test]
fn idle_processors_take_what_is_for_all() {
    for processors in PROCESSORS {
        watched(|| {
            let builder = plain(processors).placement(Placement::Staging);
            let cluster = builder.build().unwrap();
            for i in 0..200 {
                if i % 50 == 0 {
                    // All go to sleep.
                    thread::sleep(Duration::from_millis(5));
                }
                assert_eq!(cluster.spawn(move || i).join().unwrap(), i);
                let background = Builder::new().background().spawn_in(&cluster, move || i);
                assert_eq!(background.unwrap().join().unwrap(), i);
            }
            cluster.stop();
        });
    }
}

/// A fibre that computes does not hold up what it has spawned, where others can take it.
#[test]
fn others_take_what_a_busy_processor_leaves() {
    let everywhere = [
        plain(4).placement(Placement::Staging),
        plain(4).placement(Placement::Local),
        plain(4).sharing(true),
        plain(2).steal_order(StealOrder::Ring),
        plain(2).steal_order(StealOrder::Random).seed(3),
        plain(4).steal_order(StealOrder::Topology),
        plain(4).steal_order(StealOrder::Hierarchical),
        plain(4).queue(QueueKind::Stub),
        plain(4).queue(QueueKind::Locked),
        plain(4).queue(QueueKind::TwoEnded),
        plain(4).placement(Placement::Head),
        las(4),
    ];
    for builder in everywhere {
        within(builder, |_| {
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..100 {
                let ran = Arc::clone(&ran);
                fibre::spawn(move || ran.fetch_add(1, Ordering::SeqCst));
            }
            let deadline = Instant::now() + Duration::from_secs(30);
            while ran.load(Ordering::SeqCst) < 100 {
                assert!(Instant::now() < deadline, "nobody took the work");
                std::hint::spin_loop();
            }
        });
    }
}

/// Local fibres that nobody steals stay with their spawner.
#[test]
fn local_fibres_stay_where_nobody_steals() {
    for processors in PROCESSORS {
        let builder = plain(processors).placement(Placement::Local);
        within(builder.steal_order(StealOrder::Never), |_| {
            let here = fibre::processor();
            let fibres: Vec<_> = (0..100).map(|_| fibre::spawn(fibre::processor)).collect();
            // The others have time to take them.
            thread::sleep(Duration::from_millis(5));
            for fibre in fibres {
                assert_eq!(fibre.join().unwrap(), here);
            }
        });
    }
}

/// New fibres at the head run before older ones. Of queues with one end the oldest comes first.
#[test]
fn the_head_comes_first() {
    for (queue, expected) in [
        (QueueKind::TwoEnded, ["late", "early"]),
        (QueueKind::Nemesis, ["early", "late"]),
    ] {
        let builder = las(1).queue(queue);
        let order = within(builder, |_| {
            let log = Log::default();
            let fibres = ["early", "late"].map(|what| {
                let log = Arc::clone(&log);
                fibre::spawn(move || log.lock().push(what))
            });
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            Arc::into_inner(log).unwrap().into_inner()
        });
        assert_eq!(order, expected, "{queue}");
    }
}

/// Newer fibres at the head, each of which spawns the next one, do not keep an older one from
/// running.
#[test]
fn the_head_starves_nobody() {
    /// Spawns the next one, until it is told to stop.
    fn chain(stop: &Arc<AtomicBool>) {
        let next = Arc::clone(stop);
        if !stop.load(Ordering::SeqCst) {
            fibre::spawn(move || chain(&next));
        }
    }
    for processors in PROCESSORS {
        within(las(processors), |_| {
            let stop = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&stop);
            let behind = fibre::spawn(move || told.store(true, Ordering::SeqCst));
            fibre::spawn(move || chain(&stop));
            behind.join().unwrap();
        });
    }
}

/// A fibre that was told where to run runs there for all its life, also if that processor
/// is busy and the others are not.
#[test]
fn affine_fibres_stay() {
    for processors in PROCESSORS {
        within(plain(processors), move |cluster| {
            let fibres: Vec<_> = (0..3 * processors)
                .map(|i| {
                    let there = i % processors;
                    let body = move || {
                        for _ in 0..20 {
                            assert_eq!(fibre::processor(), Some(there));
                            fibre::yield_now();
                            assert_eq!(fibre::processor(), Some(there));
                            fibre::sleep(Duration::from_micros(50));
                        }
                    };
                    let builder = Builder::new().on_processor(there);
                    let priority = Priority::ALL[i % 3];
                    builder.priority(priority).spawn(body).unwrap()
                })
                .collect();
            let end = Instant::now() + Duration::from_millis(3);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            let nowhere = Builder::new().on_processor(processors);
            assert!(nowhere.clone().spawn(|| ()).is_err());
            assert!(nowhere.spawn_in(cluster, || ()).is_err());
        });
    }
}

/// A fibre that is spawned to run now does so before its spawner goes on, and at the same
/// place; the spawner goes on before the others.
#[test]
fn now_is_now() {
    within(plain(1), |_| {
        let log = Log::default();
        let note = |what| {
            let log = Arc::clone(&log);
            move || log.lock().push(what)
        };
        let later = fibre::spawn(note("later"));
        let inner = note("inner");
        let outer = note("outer");
        fibre::spawn_now(move || {
            fibre::spawn_now(inner).join().unwrap();
            outer();
        })
        .join()
        .unwrap();
        note("spawner")();
        later.join().unwrap();
        assert_eq!(*log.lock(), ["inner", "outer", "spawner", "later"]);
    });
    // A plain thread makes way for nobody.
    assert_eq!(fibre::spawn_now(|| 3).join().unwrap(), 3);
}

/// Fibres that make way for others again and again starve neither fibres nor timers.
#[test]
fn now_starves_nobody() {
    within(plain(1), |_| {
        let came = Arc::new(AtomicUsize::new(0));
        for duration in [Duration::ZERO, Duration::from_millis(1)] {
            let came = Arc::clone(&came);
            fibre::spawn(move || {
                fibre::sleep(duration);
                came.fetch_add(1, Ordering::SeqCst);
            });
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while came.load(Ordering::SeqCst) < 2 {
            fibre::spawn_now(|| ()).join().unwrap();
            assert!(Instant::now() < deadline, "somebody starves");
        }
    });
}

/// A tree of forks and joins, on all processors.
#[test]
fn now_makes_trees() {
    fn leaves(depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let branches: Vec<_> = (0..4)
            .map(|_| fibre::spawn_now(move || leaves(depth - 1)))
            .collect();
        branches
            .into_iter()
            .map(|fibre| fibre.join().unwrap())
            .sum()
    }
    for processors in PROCESSORS {
        within(plain(processors), |_| {
            let trees: Vec<_> = (0..4).map(|_| fibre::spawn(|| leaves(5))).collect();
            for tree in trees {
                assert_eq!(tree.join().unwrap(), 1024);
            }
        });
    }
}

/// What a busy processor takes out of the staging queue is not lost behind a fibre that goes on
/// for long: others may take it from there.
#[test]
fn what_is_taken_for_all_stays_for_all() {
    for builder in [
        plain(2).placement(Placement::Staging),
        plain(2).sharing(true),
    ] {
        let came = within(builder, |_| {
            let stop = Arc::new(AtomicBool::new(false));
            for _ in 0..4 {
                let stop = Arc::clone(&stop);
                fibre::spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        fibre::yield_now();
                    }
                });
            }
            let deadline = Instant::now() + Duration::from_secs(20);
            let came = (0..100).all(|_| {
                let there = Arc::new(AtomicBool::new(false));
                let told = Arc::clone(&there);
                let waits = fibre::spawn(move || {
                    while !told.load(Ordering::SeqCst) && Instant::now() < deadline {
                        thread::yield_now();
                    }
                    told.load(Ordering::SeqCst)
                });
                fibre::spawn(move || there.store(true, Ordering::SeqCst));
                waits.join().unwrap()
            });
            stop.store(true, Ordering::SeqCst);
            came
        });
        assert!(came, "it was kept by a processor that does not come to it");
    }
}
