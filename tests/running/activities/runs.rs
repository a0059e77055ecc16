//! Runs: how many, one at a time, and what they may do.

use super::support::{Drops, Random, any_cluster, eventually, for_each_cluster, watched};
use super::{Does, activity, counter, does};
use fibre::activity::{Activity, Work};
use fibre::sync::{Event, Mutex, Semaphore};
use fibre::{Builder, Priority};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

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
    // The sanitizer notes one word more of each context.
    let most = 192 + if cfg!(feature = "sanitizer") { 8 } else { 0 };
    assert!(bytes <= most, "{bytes}");
}
