//! Activities: fibres that are run again and again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod support;

use fibre::activity::{Activity, Stopped, Work};
use fibre::sync::{Event, Mutex, Semaphore};
use fibre::{Builder, Cluster, Priority, Revival};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{Drops, Random, any_cluster, eventually, for_each_cluster, watched};

/// An activity that does what it was given.
struct Does(Box<Run>);

/// What an activity does in a run.
type Run = dyn Fn(&Activity<Does>) + Send + Sync;

impl Work for Does {
    fn run(this: &Activity<Self>) {
        this.0(this);
    }
}

/// An activity in the caller's cluster.
fn activity(run: impl Fn(&Activity<Does>) + Send + Sync + 'static) -> Activity<Does> {
    Activity::new(None, does(run)).unwrap()
}

/// What does this.
fn does(run: impl Fn(&Activity<Does>) + Send + Sync + 'static) -> Does {
    Does(Box::new(run))
}

/// A counter that activities and tests share.
fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

#[test]
fn it_runs_each_time_it_is_scheduled() {
    for_each_cluster(|_| {
        let runs = counter();
        let counted = Arc::clone(&runs);
        let activity = activity(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        assert!(activity.is_idle());
        for turn in 1..=1000 {
            activity.schedule().unwrap();
            eventually(|| runs.load(Ordering::Relaxed) == turn);
            eventually(|| activity.is_idle());
        }
    });
}

#[test]
fn calls_before_a_run_make_one_run() {
    let cluster = any_cluster().processors(1).build().unwrap();
    let inside = cluster.clone();
    let body = move || {
        let runs = counter();
        let counted = Arc::clone(&runs);
        let run = does(move |_: &Activity<Does>| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let activity = Activity::new(Some(&inside), run).unwrap();
        for _ in 0..100 {
            activity.schedule().unwrap();
        }
        eventually(|| activity.is_idle());
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    };
    watched(|| cluster.spawn(body).join().unwrap());
    cluster.stop();
}

#[test]
fn a_call_during_a_run_makes_another_one() {
    for_each_cluster(|_| {
        let runs = counter();
        let counted = Arc::clone(&runs);
        let activity = activity(move |this| {
            if counted.fetch_add(1, Ordering::Relaxed) < 99 {
                this.schedule().unwrap();
                this.schedule().unwrap();
            }
        });
        activity.schedule().unwrap();
        eventually(|| runs.load(Ordering::Relaxed) == 100 && activity.is_idle());
    });
}

/// Posts by fibres and threads are all answered, and no two runs overlap, though they block.
#[test]
fn no_post_is_lost_and_no_runs_overlap() {
    const POSTERS: usize = 6;
    const POSTS: usize = 2000;
    for_each_cluster(|cluster| {
        let (posted, seen, inside) = (counter(), counter(), Arc::new(AtomicBool::new(false)));
        let run = {
            let (posted, seen) = (Arc::clone(&posted), Arc::clone(&seen));
            move |_: &Activity<Does>| {
                assert!(!inside.swap(true, Ordering::Relaxed), "two runs overlap");
                let now = posted.load(Ordering::Relaxed);
                match now % 7 {
                    0 => fibre::yield_now(),
                    1 if now % 21 == 1 => fibre::sleep(Duration::from_micros(20)),
                    _ => {}
                }
                seen.store(now, Ordering::Relaxed);
                inside.store(false, Ordering::Relaxed);
            }
        };
        let activity = Activity::new(Some(cluster), does(run)).unwrap();
        let post = |posted: &AtomicUsize| {
            let mut random = Random::new(Random::seed());
            for _ in 0..POSTS {
                posted.fetch_add(1, Ordering::Relaxed);
                activity.schedule().unwrap();
                if random.below(8) == 0 {
                    fibre::yield_now();
                }
            }
        };
        thread::scope(|threads| {
            fibre::scope(|fibres| {
                for poster in 0..POSTERS {
                    if poster == 0 {
                        threads.spawn(|| post(&posted));
                    } else {
                        fibres.spawn(|| post(&posted));
                    }
                }
            });
            // The scope of threads blocks the processor, so its thread ends by itself before.
            eventually(|| posted.load(Ordering::Relaxed) == POSTERS * POSTS);
        });
        eventually(|| activity.is_idle());
        assert_eq!(seen.load(Ordering::Relaxed), POSTERS * POSTS);
    });
}

/// A run that waits holds up neither its processor nor other activities.
#[test]
fn a_run_may_block() {
    for_each_cluster(|_| {
        let (entered, leave) = (Arc::new(Semaphore::new(0)), Arc::new(Event::new()));
        let waiting: Vec<_> = (0..50)
            .map(|_| {
                let (entered, leave) = (Arc::clone(&entered), Arc::clone(&leave));
                let activity = activity(move |_| {
                    entered.release();
                    leave.wait();
                });
                activity.schedule().unwrap();
                activity
            })
            .collect();
        (0..50).for_each(|_| entered.acquire());
        assert!(waiting.iter().all(|one| !one.is_idle()));
        let other = activity(|_| {});
        other.schedule().unwrap();
        eventually(|| other.is_idle());
        leave.set();
        eventually(|| waiting.iter().all(Activity::is_idle));
    });
}

#[test]
fn a_panic_ends_the_run_only() {
    for_each_cluster(|_| {
        let runs = counter();
        let counted = Arc::clone(&runs);
        let activity = activity(move |_| {
            let run = counted.fetch_add(1, Ordering::Relaxed);
            assert!(run % 2 == 1, "every other run fails");
        });
        for turn in 1..=4 {
            activity.schedule().unwrap();
            eventually(|| activity.is_idle());
            assert_eq!(runs.load(Ordering::Relaxed), turn);
        }
    });
}

/// The value goes with the last handle or the last run, whichever comes later, and once.
#[test]
fn the_value_is_dropped_once() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let guard = drops.value();
        let idle = activity(move |_| {
            let _ = &guard;
        });
        let twin = idle.clone();
        drop(idle);
        assert_eq!(drops.count(), 0);
        drop(twin);
        assert_eq!(drops.count(), 1);

        let drops = Drops::new();
        let (guard, leave) = (drops.value(), Arc::new(Event::new()));
        let may_leave = Arc::clone(&leave);
        let running = activity(move |_| {
            let _ = &guard;
            may_leave.wait();
        });
        running.schedule().unwrap();
        drop(running);
        fibre::sleep(Duration::from_millis(2));
        assert_eq!(drops.count(), 0);
        leave.set();
        eventually(|| drops.count() == 1);
    });
}

/// A destructor may block: it runs on a fibre's stack, also if the last handle goes during a run or
/// just then.
#[test]
fn a_destructor_may_block() {
    /// Says whether it was dropped by a fibre, and has the others run meanwhile.
    struct Blocks(Arc<AtomicUsize>);
    impl Drop for Blocks {
        fn drop(&mut self) {
            assert!(fibre::in_fibre());
            fibre::sleep(Duration::from_micros(100));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for_each_cluster(|_| {
        const COUNT: usize = 2000;
        let drops = counter();
        for round in 0..COUNT {
            let value = Blocks(Arc::clone(&drops));
            let one = activity(move |_| {
                let _ = &value;
                if round % 3 == 0 {
                    fibre::yield_now();
                }
            });
            one.schedule().unwrap();
            if round % 2 == 0 {
                fibre::yield_now();
            }
            if round % 5 == 0 {
                eventually(|| one.is_idle());
            }
            drop(one);
        }
        eventually(|| drops.load(Ordering::Relaxed) == COUNT);
    });
}

/// An activity does not wait for the fibre that has scheduled it, if another processor has nothing
/// to do.
#[test]
fn others_take_what_a_busy_processor_keeps() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let inside = cluster.clone();
        let busy = cluster.spawn(move || {
            let ran = Arc::new(AtomicBool::new(false));
            let noted = Arc::clone(&ran);
            let run = does(move |_| noted.store(true, Ordering::Relaxed));
            let activity = Activity::new(Some(&inside), run).unwrap();
            activity.schedule().unwrap();
            let began = Instant::now();
            while !ran.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(20) {
                std::hint::spin_loop();
            }
            ran.load(Ordering::Relaxed)
        });
        assert!(busy.join().unwrap());
        cluster.stop();
    });
}

/// A run that migrates ends in the other cluster; the activity is at home in its own.
#[test]
fn a_run_may_migrate() {
    watched(|| {
        // SAFETY: the fibres below keep nothing across a wait that belongs to a kernel thread.
        let [home, abroad] = [1, 4].map(|count| unsafe {
            let builder = Cluster::builder().processors(count).move_started_fibres();
            builder.stack_size(count << 16).build().unwrap()
        });
        let (runs, there) = (counter(), abroad.clone());
        let counted = Arc::clone(&runs);
        let run = does(move |this| {
            if counted.fetch_add(1, Ordering::Relaxed) % 2 == 0 {
                this.schedule().unwrap();
            }
            fibre::migrate_to(&there).unwrap();
        });
        let activity = Activity::new(Some(&home), run).unwrap();
        for turn in 1..=100 {
            activity.schedule().unwrap();
            eventually(|| activity.is_idle());
            assert_eq!(runs.load(Ordering::Relaxed), 2 * turn);
        }
        let witnesses = [home.clone(), abroad.clone()];
        home.stop();
        assert_eq!(activity.schedule(), Err(Stopped));
        abroad.stop();
        assert_eq!(witnesses.map(|one| one.live()), [0, 0]);
    });
}

/// A run that schedules the activity once more needs no other handle for that.
#[test]
fn it_goes_on_without_a_handle() {
    for_each_cluster(|_| {
        let (runs, drops) = (counter(), Drops::new());
        let (counted, value) = (Arc::clone(&runs), drops.value());
        let one = activity(move |this| {
            let _ = &value;
            if counted.fetch_add(1, Ordering::Relaxed) < 999 {
                this.schedule().unwrap();
            }
        });
        one.schedule().unwrap();
        drop(one);
        eventually(|| drops.count() == 1);
        assert_eq!(runs.load(Ordering::Relaxed), 1000);
    });
}

/// What a run leaves in fibre-local values is not there in the next one.
#[test]
fn fibre_locals_end_with_the_run() {
    fibre::fibre_local! {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
    }
    for_each_cluster(|_| {
        let most = counter();
        let noted = Arc::clone(&most);
        let activity = activity(move |_| {
            let count = COUNT.with(|count| count.fetch_add(1, Ordering::Relaxed));
            noted.fetch_max(count, Ordering::Relaxed);
        });
        for _ in 0..10 {
            activity.schedule().unwrap();
            eventually(|| activity.is_idle());
        }
        assert_eq!(most.load(Ordering::Relaxed), 0);
    });
}

/// A cluster stops with idle activities, and refuses them from then on; those that are ready run
/// before.
#[test]
fn a_stopped_cluster_refuses() {
    watched(|| {
        for processors in [1, 2, 4] {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let runs = counter();
            let make = || {
                let counted = Arc::clone(&runs);
                Activity::new(
                    Some(&cluster),
                    does(move |_: &Activity<Does>| {
                        fibre::sleep(Duration::from_millis(1));
                        counted.fetch_add(1, Ordering::Relaxed);
                    }),
                )
                .unwrap()
            };
            let idle = make();
            let ready: Vec<_> = (0..20).map(|_| make()).collect();
            ready.iter().for_each(|one| one.schedule().unwrap());
            cluster.stop();
            assert_eq!(runs.load(Ordering::Relaxed), 20);
            assert_eq!(idle.schedule(), Err(Stopped));
            assert_eq!(ready[0].schedule(), Err(Stopped));
            assert_eq!(runs.load(Ordering::Relaxed), 20);
        }
    });
}

/// A cluster that does not wait leaves an activity where it is.
#[test]
fn a_run_without_end_is_left_behind() {
    watched(|| {
        let cluster = any_cluster().processors(2).build().unwrap();
        let forever = Activity::new(
            Some(&cluster),
            does(|_: &Activity<Does>| Event::new().wait()),
        )
        .unwrap();
        forever.schedule().unwrap();
        thread::sleep(Duration::from_millis(20));
        let error = cluster
            .stop_within(Duration::from_millis(10), Duration::from_millis(10))
            .unwrap_err();
        assert_eq!(error.left.len(), 1);
        assert_eq!(error.left[0].id, forever.id());
        assert_eq!(forever.schedule(), Err(Stopped));
    });
}

#[test]
fn a_cancelled_one_ends_its_waits() {
    for_each_cluster(|_| {
        let ends = counter();
        let counted = Arc::clone(&ends);
        let activity = activity(move |_| {
            if fibre::sleep_within(Duration::MAX).is_err() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        activity.schedule().unwrap();
        eventually(|| !activity.is_idle());
        activity.cancel();
        eventually(|| activity.is_idle());
        // For good.
        activity.schedule().unwrap();
        eventually(|| activity.is_idle());
        assert_eq!(ends.load(Ordering::Relaxed), 2);
    });
}

/// Names, priorities, stacks of other sizes and processors of their own.
#[test]
fn a_builders_choices_count() {
    for_each_cluster(|cluster| {
        let last = cluster.processors() - 1;
        let pinned = Builder::new().on_processor(last).name("pinned");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let run = does(move |_: &Activity<Does>| {
            noted.lock().push((fibre::processor(), fibre::name()));
        });
        let activity = pinned.activity(None, run).unwrap();
        for _ in 0..20 {
            activity.schedule().unwrap();
            eventually(|| activity.is_idle());
        }
        assert_eq!(seen.lock().len(), 20);
        for (processor, name) in &*seen.lock() {
            assert_eq!((*processor, name.as_deref()), (Some(last), Some("pinned")));
        }
        let deep = Builder::new().stack_size(1 << 20).priority(Priority::High);
        let run = does(|_: &Activity<Does>| {
            let large = std::hint::black_box([1_u8; 300 << 10]);
            assert_eq!(large[large.len() - 1], 1);
        });
        let activity = deep.activity(None, run).unwrap();
        for _ in 0..3 {
            activity.schedule().unwrap();
            eventually(|| activity.is_idle());
        }
        assert!(
            Builder::new()
                .on_processor(last + 1)
                .activity(None, does(|_: &Activity<Does>| {}))
                .is_err()
        );
    });
}

/// Where an activity goes again is the cluster's choice.
#[test]
fn revival_is_the_clusters() {
    watched(|| {
        for revival in [Revival::Local, Revival::Affine] {
            let cluster = Cluster::builder()
                .processors(2)
                .revival(revival)
                .sharing(false)
                .steal_order(fibre::StealOrder::Never)
                .build()
                .unwrap();
            let places = Arc::new(Mutex::new(Vec::new()));
            let noted = Arc::clone(&places);
            let run =
                does(move |_: &Activity<Does>| noted.lock().push(fibre::processor().unwrap()));
            let activity = Activity::new(Some(&cluster), run).unwrap();
            activity.schedule_on(1).unwrap();
            eventually(|| activity.is_idle());
            let twin = activity.clone();
            let waker = Builder::new().on_processor(0);
            let waker = waker.spawn_in(&cluster, move || {
                for _ in 0..10 {
                    twin.schedule().unwrap();
                    eventually(|| twin.is_idle());
                }
            });
            waker.unwrap().join().unwrap();
            let expected = match revival {
                Revival::Affine => 1,
                _ => 0,
            };
            assert_eq!(places.lock()[0], 1);
            assert_eq!(places.lock()[1..], [expected; 10], "{revival}");
            cluster.stop();
        }
    });
}

/// A hundred thousand of them, idle and then ready at once, share a few stacks.
#[test]
fn many_share_few_stacks() {
    const COUNT: usize = 100_000;
    for_each_cluster(|_| {
        let runs = counter();
        let before = stacks();
        let all: Vec<_> = (0..COUNT)
            .map(|_| {
                let counted = Arc::clone(&runs);
                activity(move |_| {
                    counted.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        all.iter().for_each(|one| one.schedule().unwrap());
        eventually(|| runs.load(Ordering::Relaxed) == COUNT);
        eventually(|| all.iter().all(Activity::is_idle));
        let more = stacks().saturating_sub(before);
        assert!(more < 1000, "{more} more stacks");
    });
}

/// How many stacks there are.
fn stacks() -> usize {
    let classes = fibre::stack_statistics();
    classes.iter().map(|class| class.existing).sum()
}

/// An idle activity is a control block with a word and two places beside it.
#[test]
fn a_block_is_small() {
    struct Nothing;
    impl Work for Nothing {
        fn run(_: &Activity<Self>) {}
    }
    let bytes = Activity::<Nothing>::footprint();
    assert!(bytes <= 192, "{bytes}");
}

/// The value's name is the value's: nobody asks for it once the destructor has begun.
#[test]
fn a_dropped_value_is_not_asked_for_its_name() {
    /// Says whether it is asked too late.
    struct Named {
        dropped: Arc<AtomicBool>,
        asked_late: Arc<AtomicBool>,
        _last: Lingers,
    }

    /// Waits in its destructor.
    struct Lingers(Arc<Event>);

    impl Drop for Lingers {
        fn drop(&mut self) {
            self.0.wait();
        }
    }

    impl Drop for Named {
        fn drop(&mut self) {
            self.dropped.store(true, Ordering::SeqCst);
        }
    }

    impl Work for Named {
        fn run(_: &Activity<Self>) {}

        fn name(&self) -> Option<&str> {
            if self.dropped.load(Ordering::SeqCst) {
                self.asked_late.store(true, Ordering::SeqCst);
            }
            Some("named")
        }
    }

    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let [dropped, asked_late] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let end = Arc::new(Event::new());
        let activity = Builder::new().name("given").activity(
            Some(&cluster),
            Named {
                dropped: Arc::clone(&dropped),
                asked_late: Arc::clone(&asked_late),
                _last: Lingers(Arc::clone(&end)),
            },
        );
        let activity = activity.unwrap();
        activity.schedule().unwrap();
        drop(activity);
        eventually(|| dropped.load(Ordering::SeqCst));
        let name = || {
            let all = fibre::waits().into_iter();
            let mut ours = all.filter(|waiting| waiting.awaited.kind() == fibre::WaitKind::Event);
            ours.find_map(|waiting| waiting.name)
        };
        eventually(|| name().is_some());
        assert_eq!(name().as_deref(), Some("given"));
        assert!(!asked_late.load(Ordering::SeqCst), "it was dropped before");
        end.set();
        cluster.stop();
    });
}

/// Runs are not among the fibres that a cluster may have, so one that leaves makes no room.
#[test]
fn a_run_that_migrates_makes_no_room() {
    watched(|| {
        // SAFETY: the fibres below keep nothing across a wait that belongs to a kernel thread.
        let [home, abroad] = [(); 2].map(|()| unsafe {
            let builder = Cluster::builder().processors(1).move_started_fibres();
            builder.max_fibres(2).build().unwrap()
        });
        let (here, there, turns) = (home.clone(), abroad.clone(), counter());
        let run = does(move |_: &Activity<Does>| {
            fibre::migrate_to(&there).unwrap();
            if turns.fetch_add(1, Ordering::Relaxed) % 2 == 0 {
                fibre::migrate_to(&here).unwrap();
            }
        });
        let activity = Activity::new(Some(&home), run).unwrap();
        for _ in 0..6 {
            activity.schedule().unwrap();
            eventually(|| activity.is_idle());
        }
        drop(activity);
        eventually(|| home.live() == 0 && abroad.live() == 0);
        for cluster in [&home, &abroad] {
            let end = Arc::new(Event::new());
            let wait = || {
                let end = Arc::clone(&end);
                Builder::new().spawn_in(cluster, move || end.wait())
            };
            let (all, third) = ([wait(), wait()], wait());
            end.set();
            assert!(all.iter().all(Result::is_ok), "there is room: {all:?}");
            assert!(third.is_err(), "there is no room");
            all.map(|one| one.unwrap().join().unwrap());
        }
        home.stop();
        abroad.stop();
    });
}

/// Others that are idle take an activity from a processor that is kept, also if it was to go there.
#[test]
fn others_take_what_was_to_go_to_a_busy_processor() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let [ran, begun] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (noted, seen, says) = (Arc::clone(&ran), Arc::clone(&ran), Arc::clone(&begun));
        let run = does(move |_: &Activity<Does>| noted.store(true, Ordering::Relaxed));
        let activity = Activity::new(Some(&cluster), run).unwrap();
        let busy = Builder::new().on_processor(0).spawn_in(&cluster, move || {
            says.store(true, Ordering::Relaxed);
            let began = Instant::now();
            while !seen.load(Ordering::Relaxed) && began.elapsed() < Duration::from_secs(10) {
                std::hint::spin_loop();
            }
            seen.load(Ordering::Relaxed)
        });
        eventually(|| begun.load(Ordering::Relaxed));
        // The other processor goes to sleep.
        thread::sleep(Duration::from_millis(100));
        activity.schedule_on(0).unwrap();
        assert!(busy.unwrap().join().unwrap(), "it has waited for 10 s");
        cluster.stop();
    });
}

/// The same for an activity that is to run once more, behind a fibre that computes.
#[test]
fn others_take_what_is_to_run_again_at_a_busy_processor() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let (runs, late) = (counter(), Arc::new(AtomicBool::new(false)));
        let (counted, noted, inside) = (Arc::clone(&runs), Arc::clone(&late), cluster.clone());
        let run = does(move |this: &Activity<Does>| {
            if counted.fetch_add(1, Ordering::SeqCst) > 0 {
                return;
            }
            this.schedule().unwrap();
            let (runs, late) = (Arc::clone(&counted), Arc::clone(&noted));
            let here = fibre::processor().unwrap();
            let busy = Builder::new().on_processor(here);
            let busy = busy.spawn_in(&inside, move || {
                let began = Instant::now();
                while runs.load(Ordering::SeqCst) < 2 {
                    std::hint::spin_loop();
                    if began.elapsed() > Duration::from_secs(10) {
                        late.store(true, Ordering::SeqCst);
                        return;
                    }
                }
            });
            drop(busy.unwrap());
            // The other processor goes to sleep.
            thread::sleep(Duration::from_millis(100));
        });
        let activity = Activity::new(Some(&cluster), run).unwrap();
        activity.schedule().unwrap();
        eventually(|| runs.load(Ordering::SeqCst) == 2);
        assert!(!late.load(Ordering::SeqCst), "it has waited for 10 s");
        cluster.stop();
    });
}
