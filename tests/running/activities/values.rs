//! The owner's value: where and when it is dropped.

use super::support::{Drops, eventually, for_each_cluster, watched};
use super::{activity, counter};
use fibre::activity::{Activity, Work};
use fibre::sync::Event;
use fibre::{Builder, Cluster};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

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

/// The value's name is the value's: nobody asks for it once the destructor has begun.
#[test]
fn a_dropped_value_is_not_asked_for_its_name() {
    /// Says whether it is asked too late.
    struct Named {
        alone: Arc<Event>,
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
        fn run(this: &Activity<Self>) {
            // The handle has gone: the value is dropped here.
            this.alone.wait();
        }

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
        let [alone, end] = [(); 2].map(|()| Arc::new(Event::new()));
        let activity = Builder::new().name("given").activity(
            Some(&cluster),
            Named {
                alone: Arc::clone(&alone),
                dropped: Arc::clone(&dropped),
                asked_late: Arc::clone(&asked_late),
                _last: Lingers(Arc::clone(&end)),
            },
        );
        let activity = activity.unwrap();
        activity.schedule().unwrap();
        drop(activity);
        alone.set();
        eventually(|| dropped.load(Ordering::SeqCst));
        let name = || {
            let all = fibre::waits().into_iter();
            let mut names = all.filter_map(|waiting| waiting.name);
            names.find(|name| name == "given" || name == "named")
        };
        eventually(|| name().is_some());
        assert_eq!(name().as_deref(), Some("given"));
        assert!(!asked_late.load(Ordering::SeqCst), "it was dropped before");
        end.set();
        cluster.stop();
    });
}
