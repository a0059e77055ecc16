//! What is counted is what the program did.

use super::alone;
use crate::support::{eventually, sockets};
use fibre::sync::Semaphore;
use fibre::{Cluster, ClusterMetrics, Metrics, Placement, metrics};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A cluster with this name and so many processors, and no spare ones.
fn cluster(name: &str, processors: usize) -> Cluster {
    let builder = Cluster::builder().name(name).processors(processors);
    builder.max_spare_processors(0).build().unwrap()
}

/// What is known of the cluster with this name.
fn of<'a>(metrics: &'a Metrics, name: &str) -> &'a ClusterMetrics {
    metrics.clusters.iter().find(|it| it.name == name).unwrap()
}

/// Waits until what is known of a cluster is as it should be; tells what it is, if it never is.
#[track_caller]
fn until(name: &str, wanted: impl Fn(&ClusterMetrics) -> bool) -> ClusterMetrics {
    let last = std::cell::RefCell::new(None);
    let come = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually(|| {
            let now = of(&metrics(), name).clone();
            let come = wanted(&now);
            *last.borrow_mut() = Some(now);
            come
        });
    }));
    let last = last.into_inner().unwrap();
    assert!(come.is_ok(), "{last:#?}");
    last
}

/// Each spawn is counted once, by fibres and from outside, and so is each end.
#[test]
fn spawns_and_ends_are_counted() {
    alone(&[], || {
        let cluster = cluster("spawns", 2);
        let inner = || (0..50).map(|_| fibre::spawn(fibre::yield_now)).collect();
        let fibres: Vec<_> = (0..100).map(|_| cluster.spawn(fibre::yield_now)).collect();
        let more: Vec<fibre::JoinHandle<()>> = cluster.spawn(inner).join().unwrap();
        for fibre in fibres.into_iter().chain(more) {
            fibre.join().unwrap();
        }
        let seen = until("spawns", |now| now.live == 0);
        let totals = seen.totals();
        assert_eq!([totals.spawned, totals.started, totals.ended], [151; 3]);
        assert_eq!((seen.spawned_outside, totals.panicked), (101, 0));
        assert_eq!(totals.stack_hits() + totals.stack_misses, 151);
        assert!(totals.stack_misses > 0);
    });
}

/// Those who wait are blocked, and nobody else is.
#[test]
fn fibres_that_wait_are_blocked() {
    alone(&[], || {
        for processors in [1, 2] {
            let name = format!("waits{processors}");
            let cluster = cluster(&name, processors);
            let permits = Arc::new(Semaphore::new(0));
            let wait = |permits: &Arc<Semaphore>| {
                let permits = Arc::clone(permits);
                cluster.spawn(move || permits.acquire())
            };
            let fibres: Vec<_> = (0..37).map(|_| wait(&permits)).collect();
            let still = |now: &ClusterMetrics| now.blocked == Some(37) && now.unstarted == 0;
            let seen = until(&name, still);
            assert_eq!((seen.live, seen.runnable), (37, Some(0)));
            permits.release_many(37);
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            let seen = until(&name, |now| now.live == 0);
            assert_eq!((seen.runnable, seen.blocked), (Some(0), Some(0)));
            cluster.stop();
        }
    });
}

/// Those who are ready are runnable, whether they have begun, and wherever they are queued: also in
/// clusters whose fibres move, which queue them elsewhere.
#[test]
fn fibres_that_are_ready_are_runnable() {
    alone(&[], || {
        for (name, moves, processors) in [
            ("stay", false, 1),
            ("stay2", false, 2),
            ("move", true, 1),
            ("move2", true, 2),
        ] {
            let builder = Cluster::builder().name(name).processors(processors);
            let builder = builder.max_spare_processors(0);
            let builder = if moves {
                // SAFETY: these fibres keep nothing of a thread across a wait.
                unsafe { builder.move_started_fibres() }
            } else {
                builder
            };
            let cluster = builder.build().unwrap();
            let over = Arc::new(AtomicBool::new(false));
            let permits = Arc::new(Semaphore::new(0));
            let yields = || {
                let over = Arc::clone(&over);
                cluster.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        fibre::yield_now();
                    }
                })
            };
            let waits = || {
                let permits = Arc::clone(&permits);
                cluster.spawn(move || permits.acquire())
            };
            let mut fibres: Vec<_> = (0..9).map(|_| yields()).collect();
            fibres.extend((0..5).map(|_| waits()));
            // A fibre that is just being moved is in no queue.
            let seen = until(name, |now| {
                now.runnable == Some(9) && now.blocked == Some(5)
            });
            assert_eq!(seen.live, 14);
            let queued = seen.processors.iter().map(|one| one.queued.unwrap());
            assert!(queued.sum::<u64>() <= 9);
            over.store(true, Ordering::Relaxed);
            permits.release_many(5);
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        }
    });
}

/// A processor that a fibre keeps cannot say what is queued there, and that holds up no reader.
#[test]
fn what_cannot_be_counted_is_not_known() {
    alone(&[], || {
        let cluster = cluster("kept", 1);
        let [begun, over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let hog = {
            let (begun, over) = (Arc::clone(&begun), Arc::clone(&over));
            cluster.spawn(move || {
                begun.store(true, Ordering::Relaxed);
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        eventually(|| begun.load(Ordering::Relaxed));
        let seen = of(&metrics(), "kept").clone();
        assert_eq!((seen.live, seen.runnable, seen.blocked), (1, None, None));
        assert!(seen.processors[0].busy);
        let used = seen.processors[0].cpu.unwrap();
        until("kept", |now| now.processors[0].cpu.unwrap() > used);
        over.store(true, Ordering::Relaxed);
        hog.join().unwrap();
        until("kept", |now| now.runnable == Some(0));
    });
}

/// Processors that stand still do not say that nothing is queued.
#[test]
fn of_a_paused_cluster_nothing_wrong_is_said() {
    alone(&[], || {
        let cluster = cluster("paused", 1);
        let paused = cluster.pause().unwrap();
        let fibre = cluster.spawn(|| ());
        let seen = of(&metrics(), "paused").clone();
        assert_eq!((seen.live, seen.unstarted), (1, 1));
        assert_ne!(seen.blocked, Some(1));
        drop(paused);
        fibre.join().unwrap();
    });
}

/// Every switch is counted, and looks that found nothing are not.
#[test]
fn switches_are_counted() {
    const YIELDS: u64 = 10_000;
    alone(&[], || {
        let cluster = cluster("switches", 1);
        let yields = || (0..YIELDS).for_each(|_| fibre::yield_now());
        let fibres = [0, 1].map(|_| cluster.spawn(yields));
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        let asleep = |now: &ClusterMetrics| now.live == 0 && !now.processors[0].busy;
        let switches = until("switches", asleep).totals().switches;
        assert!(
            (2 * YIELDS..2 * YIELDS + 10).contains(&switches),
            "{switches}"
        );
    });
}

/// A fibre that only another processor can run has been stolen.
#[test]
fn steals_are_counted() {
    alone(&[], || {
        let builder = Cluster::builder().name("steals").processors(2);
        let builder = builder.max_spare_processors(0).placement(Placement::Local);
        let cluster = builder.build().unwrap();
        let root = || {
            let here = fibre::processor();
            let ran = Arc::new(AtomicBool::new(false));
            let runs = Arc::clone(&ran);
            let child = fibre::spawn(move || {
                runs.store(true, Ordering::Relaxed);
                fibre::processor()
            });
            while !ran.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            assert_ne!(child.join().unwrap(), here);
        };
        cluster.spawn(root).join().unwrap();
        let totals = until("steals", |now| now.live == 0).totals();
        assert!(
            totals.steals >= 1 && totals.steals_tried >= totals.steals,
            "{totals:?}"
        );
        assert!(totals.steals <= 2, "{totals:?}");
    });
}

/// Sleeps of processors, and who has ended them.
#[test]
fn sleeps_of_processors_are_counted() {
    alone(&[], || {
        let cluster = cluster("sleeps", 1);
        let asleep = |now: &ClusterMetrics| now.live == 0 && !now.processors[0].busy;
        let idle = |now: &ClusterMetrics| asleep(now) && now.totals().parks > 0;
        let before = until("sleeps", idle).totals();
        for _ in 0..10 {
            cluster.spawn(|| ()).join().unwrap();
            until("sleeps", asleep);
        }
        let after = until("sleeps", asleep).totals();
        // It may have fallen asleep once more after a wake that came too late.
        assert!(after.parks - before.parks >= 10, "{before:?} {after:?}");
        assert!(after.wakes - before.wakes >= 9, "{before:?} {after:?}");
        assert!(after.wakes <= after.parks && after.wakes_in_vain <= after.wakes);
    });
}

/// Panics, cancellations, deadlines, blocking calls.
#[test]
fn rarer_events_are_counted() {
    alone(&[], || {
        let before = metrics();
        assert_eq!((before.live(), before.cancelled), (0, 0));
        let cluster = cluster("events", 2);
        for _ in 0..3 {
            assert!(
                cluster
                    .spawn(|| panic!("as the test wants it"))
                    .join()
                    .is_err()
            );
        }
        for _ in 0..2 {
            let sleeper = cluster.spawn(|| fibre::sleep_within(Duration::from_secs(3600)));
            sleeper.cancel();
            sleeper.cancel();
            assert!(sleeper.join().unwrap().is_err());
        }
        for _ in 0..5 {
            cluster
                .spawn(|| fibre::sleep(Duration::from_millis(2)))
                .join()
                .unwrap();
        }
        for _ in 0..4 {
            cluster.spawn(|| fibre::blocking(|| ())).join().unwrap();
        }
        let now = metrics();
        assert_eq!(now.cancelled, 2);
        assert_eq!((now.blocking.calls, now.blocking.pending), (4, 0));
        assert!(now.blocking.threads >= 1);
        let totals = of(&now, "events").totals();
        assert_eq!((totals.panicked, totals.timers_fired), (3, 5));
        assert!(totals.latest_timer <= totals.timer_lateness);
        assert!(now.stacks.existing >= 1 && now.stacks.reserved >= 32 << 10);
        assert!(now.uptime > Duration::ZERO);
    });
}

/// Polls and their events.
#[test]
fn polls_are_counted() {
    alone(&[("FIBRE_POLLER", "processors")], || {
        let cluster = cluster("polls", 1);
        let echo = || {
            let (mut near, mut far) = sockets::pair();
            let answer = fibre::spawn(move || {
                let mut text = [0; 4];
                far.read_exact(&mut text).unwrap();
                far.write_all(&text).unwrap();
            });
            near.write_all(b"echo").unwrap();
            near.read_exact(&mut [0; 4]).unwrap();
            answer.join().unwrap();
            // Its events come while it waits.
            let (mut near, far) = sockets::pair_with_std();
            let writer = std::thread::spawn(move || (&far).write_all(b"late"));
            near.read_exact(&mut [0; 4]).unwrap();
            writer.join().unwrap().unwrap();
        };
        cluster.spawn(echo).join().unwrap();
        let totals = until("polls", |now| now.totals().events > 0).totals();
        assert!(totals.polls > totals.empty_polls, "{totals:?}");
    });
}

/// What a cluster has counted is not lost with it.
#[test]
fn what_is_gone_is_remembered() {
    alone(&[], || {
        let cluster = cluster("gone", 2);
        for _ in 0..10 {
            cluster.spawn(|| ()).join().unwrap();
        }
        cluster.stop();
        eventually(|| metrics().gone.spawned == 10);
        let now = metrics();
        assert_eq!((now.gone.ended, now.totals().spawned), (10, 10));
        assert!(now.clusters.is_empty() && now.to_string().contains("clusters that are gone"));
    });
}

/// Fibres may ask, too, also those of the cluster that is asked about.
#[test]
fn fibres_may_ask() {
    alone(&[], || {
        let cluster = cluster("asks", 1);
        let seen = cluster.spawn(metrics).join().unwrap();
        let seen = of(&seen, "asks");
        assert_eq!((seen.live, seen.unstarted), (1, 0));
        assert!(seen.runnable.is_some());
    });
}

/// A forked child may ask; nothing is waited for that only its parent has.
#[test]
fn a_forked_child_may_ask() {
    alone(&[], || {
        fibre::spawn(|| ()).join().unwrap();
        // SAFETY: the child only asks, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let spawned = metrics().totals().spawned;
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(spawned != 1)) };
        }
        let mut status = 0;
        // SAFETY: our child, and room for its status.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
            "{status}"
        );
    });
}
