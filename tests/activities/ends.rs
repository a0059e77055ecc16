//! Cancellation, and the end of the cluster.

use super::support::{any_cluster, eventually, for_each_cluster, watched};
use super::{Does, activity, counter, does};
use fibre::activity::{Activity, Stopped};
use fibre::sync::Event;
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
