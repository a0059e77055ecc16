//! Cancellation, and the end of the cluster.

use super::support::{any_cluster, eventually, for_each_cluster, watched};
use super::{Does, activity, counter, does};
use fibre::activity::{Activity, Stopped, Work};
use fibre::sync::Event;
use fibre::{Cluster, channel};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

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
            does(|_: &Activity<Does>| fibre::shield(|| Event::new().wait())),
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

/// A cluster that is being stopped turns others away, and that changes nothing for its own fibres.
#[test]
fn others_are_turned_away_and_fibres_are_not() {
    watched(|| {
        for processors in [1, 2, 4] {
            let cluster = any_cluster().processors(processors).build().unwrap();
            let (runs, others_gone) = (counter(), Arc::new(Event::new()));
            let counted = Arc::clone(&runs);
            let run = does(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
            });
            let activity = Activity::new(Some(&cluster), run).unwrap();
            let (inside, gone, runs) = (activity.clone(), Arc::clone(&others_gone), runs);
            let fibre = cluster.spawn(move || {
                gone.wait();
                let before = runs.load(Ordering::Relaxed);
                inside.schedule().unwrap();
                eventually(|| runs.load(Ordering::Relaxed) == before + 1);
            });
            let stopper = thread::spawn(move || cluster.stop());
            eventually(|| activity.schedule().is_err() && activity.is_idle());
            others_gone.set();
            fibre.join().unwrap();
            stopper.join().unwrap();
            assert_eq!(activity.schedule(), Err(Stopped));
        }
    });
}

/// What a cluster leaves behind hears of it, once: in the middle of a run, and before one. What is
/// idle does not.
#[test]
fn the_abandoned_hear_of_it() {
    /// Waits for ever, and tells of its abandonment.
    struct Stuck(channel::Sender<u32>, u32);
    impl Work for Stuck {
        fn run(this: &Activity<Self>) {
            this.0.send(0).unwrap();
            Event::new().wait();
        }
        fn abandoned(&self) {
            self.0.send(self.1).unwrap();
            panic!("planned");
        }
    }
    for moves in [false, true] {
        watched(|| {
            for processors in [1, 2] {
                let mut builder = Cluster::builder().processors(processors);
                if moves {
                    // SAFETY: these fibres keep nothing of a thread.
                    builder = unsafe { builder.move_started_fibres() };
                }
                let cluster = builder.build().unwrap();
                let (tell, told) = channel::unbounded();
                let stuck = |number| Activity::new(Some(&cluster), Stuck(tell.clone(), number));
                let (began, idle, due) = (stuck(1).unwrap(), stuck(2).unwrap(), stuck(3).unwrap());
                began.schedule().unwrap();
                assert_eq!(told.recv(), Ok(0));
                let halt = Arc::new(Event::new());
                let spinners: Vec<_> = (0..processors)
                    .map(|_| {
                        let (halt, tell) = (Arc::clone(&halt), tell.clone());
                        cluster.spawn(move || {
                            tell.send(0).unwrap();
                            while !halt.is_set() {
                                std::hint::spin_loop();
                            }
                        })
                    })
                    .collect();
                (0..processors).for_each(|_| assert_eq!(told.recv(), Ok(0)));
                due.schedule().unwrap();
                let stopper = {
                    let cluster = cluster.clone();
                    thread::spawn(move || cluster.stop_within(Duration::ZERO, Duration::ZERO))
                };
                thread::sleep(Duration::from_millis(30));
                halt.set();
                let error = stopper.join().unwrap().unwrap_err();
                assert_eq!(error.left.len(), 2, "{error}");
                drop(spinners);
                // If the stop was slow, the one that was due has begun.
                let mut heard: Vec<_> = told.iter().filter(|number| *number != 0).take(2).collect();
                heard.sort_unstable();
                assert_eq!(heard, [1, 3]);
                assert!(told.try_recv().is_err());
                assert_eq!(idle.schedule(), Err(Stopped));
            }
        });
    }
}
