//! What `fibre::waits` says of processors whose fibres do not switch, and of the fibres there.

use crate::support::process::{errors, no_core_file, plays, spawn_child};
use crate::support::{Random, eventually, processor_counts, watched};
use fibre::sync::Event;
use fibre::{Builder, Cluster, JoinHandle, StuckProcessor, WaitKind, Waiting, waits};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::thread;
use std::time::{Duration, Instant};

/// A cluster whose started fibres move, or do not. Its name is its own: tests run side by side, and
/// tell their fibres apart by it.
fn cluster(processors: usize, moves: bool) -> Cluster {
    static CLUSTERS: AtomicUsize = AtomicUsize::new(0);
    let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("stuck-{number}-{processors}-{moves}");
    let builder = Cluster::builder().processors(processors).name(name);
    if !moves {
        return builder.build().unwrap();
    }
    // SAFETY: the fibres of these tests keep nothing across a wait that belongs to a kernel
    // thread.
    unsafe { builder.move_started_fibres() }.build().unwrap()
}

/// A fibre of this name, on one processor.
fn start(
    cluster: &Cluster,
    processor: usize,
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> JoinHandle<()> {
    let builder = Builder::new().name(name).on_processor(processor);
    builder.spawn_in(cluster, body).unwrap()
}

/// The fibres of a cluster that are seen.
fn seen(cluster: &Cluster) -> Vec<Waiting> {
    let mut all = waits();
    all.retain(|it| it.cluster == cluster.name());
    all
}

/// The one of this name, which is there once at most.
fn named<'a>(all: &'a [Waiting], name: &str) -> Option<&'a Waiting> {
    let mut found = all.iter().filter(|it| it.name.as_deref() == Some(name));
    let one = found.next();
    assert_eq!(found.next(), None, "it is there twice");
    one
}

/// Whether a fibre of this name is seen with such a kind, and on this stuck processor.
fn is_seen(all: &[Waiting], name: &str, kind: WaitKind, stuck: Option<(usize, i32)>) -> bool {
    named(all, name).is_some_and(|it| {
        let place = |stuck: StuckProcessor| (stuck.index, stuck.thread);
        it.awaited.kind() == kind && it.stuck.map(place) == stuck
    })
}

/// Two fibres of one processor have a mutex of std's across a sleep: the second one blocks the
/// thread, which the first one needs. Nobody can end that; but who asks is told.
#[test]
fn a_std_mutex_held_over_a_sleep_is_told_of() {
    if !plays("holder") {
        for moves in ["0", "1"] {
            let output = spawn_child("holder", &[("MOVES", moves)]);
            assert!(output.status.success(), "{}", errors(&output));
        }
        return;
    }
    no_core_file();
    let moves = std::env::var("MOVES").unwrap() == "1";
    watched(|| {
        let cluster = cluster(1, moves);
        let mutex: &'static StdMutex<()> = Box::leak(Box::default());
        let yielding = start(&cluster, 0, "ready", || {
            loop {
                fibre::yield_now();
            }
        });
        let hold = || {
            let _held = mutex.lock().unwrap();
            fibre::sleep(Duration::from_millis(100));
        };
        let holder = start(&cluster, 0, "holder", hold);
        let blocked = start(&cluster, 0, "blocked", hold);
        let place = (0, cluster.thread_ids()[0]);
        let roster = (!moves).then_some(place);
        eventually(|| {
            let all = seen(&cluster);
            is_seen(&all, "blocked", WaitKind::Running, Some(place))
                && is_seen(&all, "holder", WaitKind::Sleep, roster)
                && (moves || is_seen(&all, "ready", WaitKind::Processor, roster))
        });
        // It stays so, long after the sleep.
        thread::sleep(Duration::from_millis(400));
        let all = seen(&cluster);
        let one = named(&all, "blocked").unwrap();
        assert_eq!(one.id, blocked.id());
        let text = format!("does not let go of processor 0 (thread {})", place.1);
        assert!(one.to_string().ends_with(&text), "{one}");
        let one = named(&all, "holder").unwrap();
        assert_eq!((one.id, one.awaited.kind()), (holder.id(), WaitKind::Sleep));
        if !moves {
            let one = named(&all, "ready").unwrap();
            assert_eq!((one.id, one.owner), (yielding.id(), Some(blocked.id())));
        }
    });
}

/// Checks a cluster of which the first `stuck` processors are stuck; a fibre of the last one looks,
/// if it can, and a thread does.
fn check_stuck(processors: usize, stuck: usize, moves: bool) {
    let cluster = cluster(processors, moves);
    let threads = cluster.thread_ids();
    let mutex = Arc::new(StdMutex::new(()));
    let held = mutex.lock().unwrap();
    let gate = Arc::new(Event::new());
    let waiter = |processor: usize| {
        let gate = Arc::clone(&gate);
        let name = format!("waiter-{processor}");
        start(&cluster, processor, &name, move || gate.wait())
    };
    let mut fibres: Vec<_> = (0..processors).map(waiter).collect();
    let waits_everywhere = |all: &[Waiting], stuck: usize| {
        (0..processors).all(|processor| {
            let place = (processor, threads[processor]);
            let place = (processor < stuck && !moves).then_some(place);
            is_seen(all, &format!("waiter-{processor}"), WaitKind::Event, place)
        })
    };
    eventually(|| waits_everywhere(&seen(&cluster), 0));
    fibres.extend((0..stuck).map(|processor| {
        let mutex = Arc::clone(&mutex);
        let block = move || drop(mutex.lock().unwrap());
        start(&cluster, processor, &format!("blocked-{processor}"), block)
    }));
    let blocked_everywhere = |all: &[Waiting]| {
        (0..stuck).all(|processor| {
            let place = Some((processor, threads[processor]));
            is_seen(
                all,
                &format!("blocked-{processor}"),
                WaitKind::Running,
                place,
            )
        })
    };
    let all_are_seen = |all: &[Waiting]| waits_everywhere(all, stuck) && blocked_everywhere(all);
    eventually(|| all_are_seen(&seen(&cluster)));
    if stuck < processors {
        eventually(|| {
            let found = Arc::new(StdMutex::new(Vec::new()));
            let (inside, result) = (cluster.clone(), Arc::clone(&found));
            let look = move || *result.lock().unwrap() = seen(&inside);
            start(&cluster, processors - 1, "looker", look)
                .join()
                .unwrap();
            let found = found.lock().unwrap();
            assert_eq!(named(&found, "looker"), None);
            all_are_seen(&found)
        });
    }
    drop(held);
    gate.set();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    eventually(|| seen(&cluster).is_empty());
    cluster.stop();
}

/// Processors that are stuck are told of, one or all of them, with what has started there; and not
/// any more once they go on.
#[test]
fn every_stuck_processor_is_told_of() {
    for moves in [false, true] {
        for processors in processor_counts() {
            for stuck in [1, processors.max(2) - 1, processors] {
                watched(|| check_stuck(processors, stuck, moves));
            }
        }
    }
}

/// Fibres that stick for about as long as a look waits, end, and are followed by others at once,
/// while somebody looks: what is seen is whole.
#[test]
fn looking_at_processors_that_go_on_is_safe() {
    const LOOKS: usize = 20;
    let mut random = Random::new(Random::seed());
    for moves in [false, true] {
        for processors in processor_counts() {
            watched(|| {
                let cluster = cluster(processors, moves);
                let stop = Arc::new(AtomicBool::new(false));
                let root = |processor| {
                    let (inside, stop) = (cluster.clone(), Arc::clone(&stop));
                    let random = random.split();
                    let body = move || stick_and_end(&inside, processor, &stop, random);
                    start(&cluster, processor, "one of root", body)
                };
                let roots: Vec<_> = (0..processors).map(root).collect();
                for _ in 0..LOOKS {
                    for it in seen(&cluster) {
                        let name = it.name.as_deref();
                        let whole = name.is_some_and(|name| name.starts_with("one of "));
                        assert!(
                            whole && it.id != 0 || it.name.is_none() && it.id == 0,
                            "{it:?}"
                        );
                        assert!(!it.to_string().is_empty());
                    }
                }
                stop.store(true, Ordering::Relaxed);
                roots.into_iter().for_each(|root| root.join().unwrap());
                cluster.stop();
            });
        }
    }
}

/// Starts fibres on one processor until it is told to stop: some compute for so long that a look
/// may give up on them, others wait for a moment, and all end at once afterwards.
fn stick_and_end(cluster: &Cluster, processor: usize, stop: &AtomicBool, mut random: Random) {
    while !stop.load(Ordering::Relaxed) {
        let fibres = (0..8).map(|_| {
            let (micros, sticks) = (random.below(25_000) as u64, random.one_in(4));
            let body = move || {
                let long = Duration::from_micros(micros);
                let began = Instant::now();
                if !sticks {
                    fibre::sleep(long / 16);
                }
                while sticks && began.elapsed() < long {
                    std::hint::spin_loop();
                }
            };
            start(cluster, processor, "one of many", body)
        });
        let fibres: Vec<_> = fibres.collect();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    }
}
