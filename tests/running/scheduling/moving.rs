//! Started fibres that move: stolen by others, and to other clusters.

use crate::support::{Latch, eventually, kernel_thread, let_others_block, watched, were_late};
use fibre::sync::Semaphore;
use fibre::{Builder, Cluster, ClusterBuilder, QueueKind, StealOrder, Stealing};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A builder of clusters that move started fibres, whatever the environment wants.
fn moving(processors: usize) -> ClusterBuilder {
    let builder = Cluster::builder().processors(processors).sharing(false);
    let builder = builder.steal_order(StealOrder::LongestBusy);
    // SAFETY: the fibres of this file keep nothing across a wait that belongs to a kernel
    // thread.
    unsafe { builder.move_started_fibres() }
}

/// Runs `body` as a fibre of such a cluster and stops it.
fn within(builder: ClusterBuilder, body: impl FnOnce(&Cluster) + Send + 'static) {
    watched(|| {
        let cluster = builder.build().unwrap();
        let inside = cluster.clone();
        cluster.spawn(move || body(&inside)).join().unwrap();
        cluster.stop();
    });
}

/// Clusters that move fibres in different ways.
fn manners(processors: usize) -> [ClusterBuilder; 8] {
    let new = || moving(processors);
    [
        new(),
        new().stealing(Stealing::Sticky { threshold: 2 }),
        new().steal_order(StealOrder::Ring),
        new().steal_order(StealOrder::Random),
        new().sharing(true),
        new().steal_order(StealOrder::Hierarchical),
        new().queue(QueueKind::Stub),
        new().queue(QueueKind::TwoEnded),
    ]
}

/// Started fibres that a busy processor has woken, or left in its queue, are taken by the
/// others, though these are busy with fibres that yield all the time; also a single one.
#[test]
fn the_woken_are_transferred() {
    for processors in [2, 4] {
        for (count, builder) in [1, 30].into_iter().flat_map(|count| {
            manners(processors)
                .into_iter()
                .map(move |builder| (count, builder))
        }) {
            within(builder, move |_| {
                let (ran, stop) = (
                    Arc::new(AtomicUsize::new(0)),
                    Arc::new(AtomicBool::new(false)),
                );
                let latch = Latch::new();
                for _ in 0..count {
                    let (ran, latch) = (Arc::clone(&ran), Arc::clone(&latch));
                    fibre::spawn(move || {
                        latch.wait();
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                }
                for _ in 0..2 * processors {
                    let stop = Arc::clone(&stop);
                    fibre::spawn(move || {
                        while !stop.load(Ordering::SeqCst) {
                            fibre::yield_now();
                        }
                    });
                }
                let_others_block();
                latch.open();
                let deadline = Instant::now() + Duration::from_secs(30);
                while ran.load(Ordering::SeqCst) < count {
                    assert!(Instant::now() < deadline, "nobody took the work");
                    std::hint::spin_loop();
                }
                stop.store(true, Ordering::SeqCst);
            });
        }
    }
}

/// A fibre that computes does not hold up the deadlines of those that wait on its processor, while
/// another one has nothing to do.
#[test]
fn deadlines_pass_where_another_fibre_computes() {
    for builder in [2, 4].into_iter().flat_map(manners) {
        within(builder, |_| {
            let woken = Arc::new(AtomicBool::new(false));
            let waits: [fn(); 2] = [
                || fibre::sleep(Duration::from_millis(20)),
                || assert!(!Semaphore::new(0).acquire_timeout(Duration::from_millis(2))),
            ];
            for wait in waits {
                let here = fibre::processor().unwrap();
                woken.store(false, Ordering::SeqCst);
                let seen = Arc::clone(&woken);
                let computes = move || {
                    let deadline = Instant::now() + Duration::from_secs(30);
                    while !seen.load(Ordering::SeqCst) && Instant::now() < deadline {
                        std::hint::spin_loop();
                    }
                    seen.load(Ordering::SeqCst)
                };
                let computes = Builder::new().on_processor(here).spawn(computes).unwrap();
                wait();
                woken.store(true, Ordering::SeqCst);
                assert!(computes.join().unwrap(), "nobody woke who waited");
            }
        });
    }
}

/// A thread and a fibre go on waking each other while another fibre computes where this one is at
/// home.
#[test]
fn a_thread_and_a_fibre_talk_where_another_one_computes() {
    for builder in [2, 4].into_iter().flat_map(manners) {
        watched(|| {
            let cluster = builder.build().unwrap();
            let [asked, answered] = [0, 1].map(|_| Arc::new(Semaphore::new(0)));
            let stop = Arc::new(AtomicBool::new(false));
            let (asks, answers, stops) =
                (Arc::clone(&asked), Arc::clone(&answered), Arc::clone(&stop));
            let fibre = cluster.spawn(move || {
                let here = Builder::new().on_processor(fibre::processor().unwrap());
                let computes = move || {
                    while !stops.load(Ordering::SeqCst) {
                        std::hint::spin_loop();
                    }
                };
                let computes = here.spawn(computes).unwrap();
                for _ in 0..100 {
                    asks.acquire();
                    answers.release();
                }
                computes.join().unwrap();
            });
            for _ in 0..100 {
                asked.release();
                answered.acquire();
            }
            stop.store(true, Ordering::SeqCst);
            fibre.join().unwrap();
            cluster.stop();
        });
    }
}

/// Whoever fires a deadline of a processor that one fibre keeps meets its owner, and wakers, at the
/// same time: each wait ends once.
#[test]
fn deadlines_and_wakes_meet_where_others_compute() {
    for builder in [2, 4].into_iter().flat_map(manners) {
        within(builder, |_| {
            let semaphore = Arc::new(Semaphore::new(0));
            let fibres: Vec<_> = (0..24)
                .map(|me| {
                    let semaphore = Arc::clone(&semaphore);
                    fibre::spawn(move || {
                        let mut taken = 0;
                        for round in 0..8 {
                            let waits = Duration::from_micros(300 + 100 * me);
                            taken += usize::from(semaphore.acquire_timeout(waits));
                            if (me + round) % 4 == 0 {
                                let end = Instant::now() + Duration::from_millis(2);
                                while Instant::now() < end {
                                    std::hint::spin_loop();
                                }
                            }
                            semaphore.release();
                        }
                        taken
                    })
                })
                .collect();
            let taken: usize = fibres.into_iter().map(|it| it.join().unwrap()).sum();
            assert_eq!(semaphore.available(), 24 * 8 - taken);
        });
    }
}

/// Fibres that wake each other, yield, and sleep come through, in every manner.
#[test]
fn crowds_come_through() {
    for processors in [1, 2, 4, 16] {
        for builder in manners(processors) {
            within(builder, |_| {
                let semaphore = Arc::new(Semaphore::new(1));
                let fibres: Vec<_> = (0..16)
                    .map(|me| {
                        let semaphore = Arc::clone(&semaphore);
                        let builder = if me % 4 == 0 {
                            Builder::new().background()
                        } else {
                            Builder::new().priority(fibre::Priority::ALL[me % 3])
                        };
                        let body = move || {
                            for round in 0..60 {
                                semaphore.acquire();
                                fibre::yield_now();
                                semaphore.release();
                                if round % 20 == me {
                                    fibre::sleep(Duration::from_micros(50));
                                }
                            }
                        };
                        builder.spawn(body).unwrap()
                    })
                    .collect();
                fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            });
        }
    }
}

/// A fibre goes to and fro between two clusters; it stays who it is, and is counted where
/// it is.
#[test]
fn fibres_migrate() {
    for kind in QueueKind::ALL {
        watched(|| {
            let [here, there] = [2, 1].map(|processors| moving(processors).queue(kind));
            let (here, there) = (here.build().unwrap(), there.build().unwrap());
            let both = [there.clone(), here.clone()];
            let travel = move || {
                let number = fibre::id();
                let mut threads = HashSet::new();
                for trip in 0..10 {
                    let before = kernel_thread();
                    let target = &both[trip % 2];
                    fibre::migrate_to(target).unwrap();
                    assert_ne!(kernel_thread(), before);
                    threads.insert(kernel_thread());
                    fibre::sleep(Duration::from_micros(50));
                    assert!(target.live() >= 1);
                    assert_eq!(fibre::id(), number);
                    assert_eq!(fibre::name().as_deref(), Some("traveller"));
                    assert_eq!(fibre::spawn(|| 7).join().unwrap(), 7);
                    fibre::migrate_to(target).unwrap();
                }
                threads.len()
            };
            let travellers: Vec<_> = (0..8)
                .map(|_| {
                    let travel = travel.clone();
                    let builder = Builder::new().name("traveller");
                    builder.spawn_in(&here, travel).unwrap()
                })
                .collect();
            for traveller in travellers {
                assert!(traveller.join().unwrap() >= 2);
            }
            let witnesses = [here.clone(), there.clone()];
            here.stop();
            there.stop();
            assert_eq!(witnesses.map(|cluster| cluster.live()), [0, 0]);
        });
    }
}

/// Fibres that arrive while their new cluster is being stopped are cancelled with the others.
#[test]
fn who_arrives_late_is_cancelled() {
    for round in 0..60 {
        watched(|| {
            let [here, there] = [(); 2].map(|()| moving(1).build().unwrap());
            let travellers: Vec<_> = (0..4)
                .map(|_| {
                    let there = there.clone();
                    here.spawn(move || {
                        if fibre::migrate_to(&there).is_ok() {
                            let night = Duration::from_secs(3600);
                            assert!(fibre::sleep_within(night).is_err());
                        }
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_micros(10 * (round % 12)));
            let patience = Duration::from_secs(20);
            there.stop_within(Duration::ZERO, patience).unwrap();
            travellers
                .into_iter()
                .for_each(|fibre| fibre.join().unwrap());
            here.stop();
        });
    }
}

/// Fibres that arrive when nobody is left who could run them are joined all the same.
#[test]
fn who_arrives_too_late_is_left_behind() {
    for round in 0..60 {
        watched(|| {
            let [here, there] = [(); 2].map(|()| moving(1).build().unwrap());
            let travellers: Vec<_> = (0..4)
                .map(|_| {
                    let there = there.clone();
                    here.spawn(move || {
                        if fibre::migrate_to(&there).is_ok() {
                            fibre::sleep(Duration::from_secs(3600));
                        }
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_micros(10 * (round % 12)));
            let stopped = there.stop_within(Duration::ZERO, Duration::ZERO);
            if stopped.as_ref().is_err_and(were_late) {
                return here.stop();
            }
            let left = travellers
                .into_iter()
                .filter_map(|fibre| fibre.join().err());
            let left = left.map(|payload| assert!(payload.is::<fibre::Abandoned>()));
            let told = stopped.map_or_else(|error| error.left.len() + error.unseen, |()| 0);
            assert_eq!(left.count(), told);
            here.stop();
        });
    }
}

/// A fibre that may not move, or has nowhere to go, is told so, and stays.
#[test]
fn some_may_not_migrate() {
    watched(|| {
        let refusal = |target: &Cluster| fibre::migrate_to(target).unwrap_err().kind();
        let (free, gone) = (moving(1).build().unwrap(), moving(1).build().unwrap());
        let bound = Cluster::builder().processors(1).build().unwrap();
        let stopped = gone.clone();
        gone.stop();
        assert_eq!(refusal(&free), ErrorKind::Unsupported, "a thread");
        let target = free.clone();
        let from_bound = bound.spawn(move || refusal(&target)).join().unwrap();
        assert_eq!(from_bound, ErrorKind::Unsupported);
        let target = bound.clone();
        let to_bound = free.spawn(move || refusal(&target)).join().unwrap();
        assert_eq!(to_bound, ErrorKind::Unsupported);
        let nowhere = free.spawn(move || (refusal(&stopped), fibre::in_fibre()));
        assert!(nowhere.join().unwrap().1);
        eventually(|| (free.live(), bound.live()) == (0, 0));
        free.stop();
        bound.stop();
    });
}
