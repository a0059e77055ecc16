//! Where activities run.

use super::support::{eventually, watched};
use super::{Does, counter, does};
use fibre::activity::{Activity, Stopped};
use fibre::sync::{Event, Mutex};
use fibre::{Builder, Cluster, Revival};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
            for one in all {
                one.unwrap().join().unwrap();
            }
        }
        home.stop();
        abroad.stop();
    });
}
