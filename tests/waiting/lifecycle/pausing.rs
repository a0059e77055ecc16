//! Stopping the world of a cluster, and letting it go on.

use super::cluster;
use crate::support::{Random, eventually, processor_counts, sockets, watched};
use fibre::{Cluster, PauseError, Paused};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Fibres that count for as long as they are wanted.
struct Counting {
    cluster: Cluster,
    steps: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Counting {
    /// Spawns fibres that yield, and fibres that sleep.
    fn new(processors: usize) -> Self {
        let this = Self {
            cluster: cluster(processors),
            steps: Arc::default(),
            stop: Arc::default(),
        };
        for i in 0..20 {
            let (steps, stop) = (Arc::clone(&this.steps), Arc::clone(&this.stop));
            this.cluster.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    steps.fetch_add(1, Ordering::SeqCst);
                    if i % 2 == 0 {
                        fibre::yield_now();
                    } else {
                        fibre::sleep(Duration::from_micros(50));
                    }
                }
            });
        }
        this
    }

    /// Steps so far.
    fn steps(&self) -> usize {
        self.steps.load(Ordering::SeqCst)
    }

    /// Fails if anything runs.
    fn stands(&self) {
        let before = self.steps();
        thread::sleep(Duration::from_millis(2));
        assert_eq!(self.steps(), before, "something has run during a pause");
    }

    /// Waits until something runs.
    fn moves(&self) {
        let before = self.steps();
        eventually(|| self.steps() > before);
    }

    /// Ends it all.
    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.cluster.stop();
    }
}

/// Nothing runs during a pause, everything does after it, many times over.
#[test]
fn nothing_runs_meanwhile() {
    for processors in processor_counts() {
        watched(|| {
            let counting = Counting::new(processors);
            for _ in 0..20 {
                counting.moves();
                let paused = counting.cluster.pause().unwrap();
                counting.stands();
                drop(paused);
            }
            counting.moves();
            counting.end();
        });
    }
}

/// Pauses one right after the other, which catch processors on their way out of the last.
#[test]
fn pauses_follow_each_other() {
    watched(|| {
        let counting = Counting::new(2);
        for round in 0..2000 {
            let paused = counting.cluster.pause().unwrap();
            let before = counting.steps();
            for _ in 0..round % 100 {
                std::hint::spin_loop();
            }
            assert_eq!(counting.steps(), before);
            drop(paused);
        }
        counting.moves();
        counting.end();
    });
}

/// Of pauses that overlap, the last to end counts, whoever made them.
#[test]
fn pauses_overlap() {
    watched(|| {
        let counting = Counting::new(2);
        let first = counting.cluster.pause().unwrap();
        let second = counting.cluster.pause().unwrap();
        drop(first);
        counting.stands();
        drop(second);
        counting.moves();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _paused = counting.cluster.pause().unwrap();
                        let before = counting.steps();
                        thread::yield_now();
                        assert_eq!(counting.steps(), before);
                    }
                });
            }
        });
        counting.end();
    });
}

/// What is woken, what is due, and what has arrived during a pause is not lost.
#[test]
fn wake_ups_wait() {
    for processors in processor_counts() {
        watched(|| {
            let cluster = cluster(processors);
            let (mut near, mut far) = sockets::fresh_pair_with_std();
            let reader = cluster.spawn(move || near.read(&mut [0]).unwrap());
            let sleeper = cluster.spawn(|| fibre::sleep(Duration::from_millis(3)));
            let semaphore = Arc::new(fibre::sync::Semaphore::new(0));
            let taken = Arc::clone(&semaphore);
            let taker = cluster.spawn(move || taken.acquire());
            thread::sleep(Duration::from_millis(1));
            let paused = cluster.pause().unwrap();
            semaphore.release();
            far.write_all(b"!").unwrap();
            let late = cluster.spawn(|| 5);
            thread::sleep(Duration::from_millis(5));
            assert!(!reader.is_finished() && !taker.is_finished() && !late.is_finished());
            drop(paused);
            assert_eq!(reader.join().unwrap(), 1);
            sleeper.join().unwrap();
            taker.join().unwrap();
            assert_eq!(late.join().unwrap(), 5);
            cluster.stop();
        });
    }
}

/// A fibre cannot pause its own cluster; it can another one, and blocks no processor for it.
#[test]
fn fibres_pause_other_clusters() {
    watched(|| {
        let (own, counting) = (cluster(1), Counting::new(2));
        let inside = own.clone();
        let refused = own.spawn(move || inside.pause().map(drop)).join().unwrap();
        assert_eq!(refused, Err(PauseError::Inside));
        let free = Arc::new(AtomicBool::new(false));
        let (begun, wait) = channel();
        let held = Arc::clone(&free);
        // Keeps one processor of the other cluster from standing still.
        counting.cluster.spawn(move || {
            begun.send(()).unwrap();
            while !held.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
        });
        wait.recv().unwrap();
        let other = counting.cluster.clone();
        let pauser = own.spawn(move || other.pause().unwrap());
        // The only processor of `own` is free meanwhile.
        own.spawn(|| fibre::sleep(Duration::from_millis(2)))
            .join()
            .unwrap();
        assert!(!pauser.is_finished());
        free.store(true, Ordering::SeqCst);
        let paused: Paused = pauser.join().unwrap();
        counting.stands();
        drop(paused);
        counting.moves();
        counting.end();
        own.stop();
    });
}

/// A fibre that never switches is named at the deadline, and everybody else goes on.
#[test]
fn deadlines_give_up() {
    watched(|| {
        let counting = Counting::new(3);
        let free = Arc::new(AtomicBool::new(false));
        let (begun, wait) = channel();
        let held = Arc::clone(&free);
        counting.cluster.spawn(move || {
            begun.send(fibre::processor().unwrap()).unwrap();
            while !held.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
        });
        let culprit = wait.recv().unwrap();
        // The others need not have been seen to stand by a deadline that is so close.
        let soon = Instant::now() + Duration::from_millis(100);
        let Err(PauseError::TimedOut { processors }) = counting.cluster.pause_until(soon) else {
            panic!("a processor stands that cannot");
        };
        assert!(processors.contains(&culprit), "{processors:?}");
        // It goes on: others run who may, which those need not that began beside the culprit.
        assert_eq!(counting.cluster.spawn(|| 7).join().unwrap(), 7);
        free.store(true, Ordering::SeqCst);
        let later = Instant::now() + Duration::from_secs(60);
        let paused = counting.cluster.pause_until(later).unwrap();
        counting.stands();
        drop(paused);
        counting.end();
    });
}

/// Processors that are added during a pause stand, too.
#[test]
fn new_processors_stand() {
    watched(|| {
        let cluster = cluster(1);
        let paused = cluster.pause().unwrap();
        cluster.add_processors(3).unwrap();
        let fibres: Vec<_> = (0..20).map(|_| cluster.spawn(|| ())).collect();
        let again = cluster.pause().unwrap();
        thread::sleep(Duration::from_millis(2));
        assert!(fibres.iter().all(|fibre| !fibre.is_finished()));
        drop((paused, again));
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    });
}

/// A cluster that is stopped during a pause ends after it; one that has ended stands.
#[test]
fn stopping_waits_for_pauses() {
    watched(|| {
        for processors in processor_counts() {
            let cluster = cluster(processors);
            let paused = cluster.pause().unwrap();
            let fibre = cluster.spawn(|| 3);
            let other = cluster.clone();
            let stopper = thread::spawn(move || other.stop());
            thread::sleep(Duration::from_millis(1));
            assert!(!stopper.is_finished() && !fibre.is_finished());
            drop(paused);
            stopper.join().unwrap();
            assert_eq!(fibre.join().unwrap(), 3);
            drop(cluster.pause().unwrap());
        }
    });
}

/// Pauses, additions and stops at random moments of a cluster that is busy.
#[test]
fn all_at_random() {
    let seed = Random::seed();
    let mut random = Random::new(seed);
    watched(|| {
        for _ in 0..50 {
            let counting = Counting::new(1 + random.below(3));
            for _ in 0..random.below(10) {
                match random.below(4) {
                    0 => drop(counting.cluster.add_processors(1)),
                    1 => thread::sleep(Duration::from_micros(random.below(300) as u64)),
                    _ => drop(counting.cluster.pause().unwrap()),
                }
            }
            counting.end();
        }
    });
}
