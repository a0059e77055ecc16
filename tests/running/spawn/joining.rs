//! The forms of joining, and who may join or drop what from where.

use crate::support::drops::OnDrop;
use crate::support::{Drops, Latch, eventually, for_each_cluster, let_others_block, watched};
use fibre::sync::Mutex;
use fibre::{Builder, Cluster, JoinHandle, JoinOnDrop, Limit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// A long time.
const LONG: Duration = Duration::from_secs(3600);

/// A join with a time gives the handle back, or the result; no time is too long.
#[test]
fn join_timeout() {
    for_each_cluster(|_| {
        let latch = Latch::new();
        let waiting = Arc::clone(&latch);
        let mut handle = fibre::spawn(move || waiting.wait());
        for timeout in [Duration::ZERO, Duration::from_millis(2)] {
            let before = Instant::now();
            handle = handle.join_timeout(timeout).expect_err("it waits");
            assert!(before.elapsed() >= timeout);
        }
        latch.open();
        handle.join_timeout(Duration::MAX).unwrap().unwrap();
        let ended = fibre::spawn(|| 4);
        eventually(|| ended.is_finished());
        assert_eq!(ended.join_timeout(Duration::ZERO).unwrap().unwrap(), 4);
    });
}

/// Scoped handles have the same forms, and their builder.
#[test]
fn scoped_handles() {
    for_each_cluster(|_| {
        let latch = Latch::new();
        let text = "borrowed".to_owned();
        fibre::scope(|scope| {
            let builder = Builder::new().name("scoped");
            let waiting = builder.spawn_scoped(scope, || {
                latch.wait();
                (text.len(), fibre::name())
            });
            let waiting = waiting.unwrap();
            let soon = Instant::now() + Duration::from_millis(1);
            let waiting = waiting.join_within(soon).expect_err("it waits");
            let waiting = waiting.join_timeout(Duration::ZERO).expect_err("it waits");
            latch.open();
            let joined = waiting.join_within(Limit::Cancellation).unwrap().unwrap();
            assert_eq!(joined, (8, Some("scoped".to_owned())));
            let sleeper = scope.spawn(|| fibre::sleep_within(LONG).is_err());
            sleeper.cancel();
            assert!(sleeper.join_timeout(LONG).unwrap().unwrap());
        });
    });
}

/// A join may be cancelled, and the handle is as good as before.
#[test]
fn a_join_is_cancelled() {
    for_each_cluster(|_| {
        let latch = Latch::new();
        let waiting = Arc::clone(&latch);
        let inner = fibre::spawn(move || {
            waiting.wait();
            3
        });
        let joiner = fibre::spawn(move || inner.join_within(Limit::Cancellation));
        let_others_block();
        joiner.cancel();
        let inner = joiner.join().unwrap().expect_err("it was cancelled");
        latch.open();
        assert_eq!(inner.join_within(Limit::Cancellation).unwrap().unwrap(), 3);
    });
}

/// Dropping such a handle waits, whatever the fibre ends by; also while unwinding.
#[test]
fn join_on_drop_waits() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let behind = |gate: Option<&Arc<Latch>>, panics: bool| {
            let (value, gate) = (drops.value(), gate.map(Arc::clone));
            fibre::spawn(move || {
                match gate {
                    Some(gate) => gate.wait(),
                    None => fibre::sleep(Duration::from_millis(1)),
                }
                if panics {
                    resume_unwind(Box::new(value));
                }
                value
            })
        };
        let slow = |panics| behind(None, panics);
        drop(slow(false).join_on_drop());
        assert_eq!(drops.count(), 1);
        drop(slow(true).join_on_drop());
        assert_eq!(drops.count(), 2);
        let guard = slow(false).join_on_drop();
        let unwound = catch_unwind(AssertUnwindSafe(move || {
            let _guard = guard;
            resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        assert_eq!(drops.count(), 3);
        let gate = Latch::new();
        let guard = behind(Some(&gate), false).join_on_drop();
        assert!(!guard.is_finished(), "it is a handle");
        gate.open();
        drop(guard.join().unwrap());
        let gate = Latch::new();
        drop(behind(Some(&gate), true).join_on_drop().into_handle());
        assert_eq!(drops.count(), 4, "that one is detached");
        gate.open();
        eventually(|| drops.count() == 5);
    });
}

/// A result whose destructor panics harms nobody who joins by dropping.
#[test]
fn join_on_drop_survives_destructors() {
    for_each_cluster(|_| {
        let guard = fibre::spawn(|| OnDrop(|| resume_unwind(Box::new("in a drop")))).join_on_drop();
        drop(guard);
        let guard = fibre::spawn(|| {
            let payload = OnDrop(|| resume_unwind(Box::new("in a payload's drop")));
            resume_unwind(Box::new(payload));
        });
        drop(guard.join_on_drop());
    });
}

/// A fibre with the handle of itself: every form of joining is refused, and dropping it, of
/// either kind, detaches.
#[test]
fn ones_own_handle() {
    fn with_itself<R: Send + 'static>(f: impl FnOnce(JoinHandle<()>) -> R + Send + 'static) -> R {
        let (give, take) = channel::<JoinHandle<()>>();
        let (tell, told) = channel();
        let latch = Latch::new();
        let given = Arc::clone(&latch);
        let fibre = fibre::spawn(move || {
            given.wait();
            tell.send(f(take.recv().unwrap())).unwrap();
        });
        give.send(fibre).unwrap();
        latch.open();
        let told = Mutex::new(told);
        let result = Mutex::new(None);
        eventually(|| {
            let mut result = result.lock();
            *result = result.take().or_else(|| told.lock().try_recv().ok());
            result.is_some()
        });
        result.into_inner().unwrap()
    }

    for_each_cluster(|cluster| {
        let refused = |joins: fn(JoinHandle<()>)| {
            with_itself(move |own| catch_unwind(AssertUnwindSafe(|| joins(own))).is_err())
        };
        assert!(refused(|own| drop(own.join())));
        assert!(refused(|own| drop(own.join_within(Instant::now()))));
        assert!(refused(|own| drop(own.join_timeout(LONG))));
        assert!(refused(|own| drop(own.join_within(Limit::Cancellation))));
        assert!(refused(|own| drop(own.join_on_drop().join())));
        with_itself(drop);
        with_itself(|own| drop(own.join_on_drop()));
        eventually(|| cluster.live() == 1);
    });
}

/// Handles are passed on and joined in other clusters, and by threads.
#[test]
fn joined_from_several_clusters() {
    watched(|| {
        let clusters = [1, 2, 1].map(|count| Cluster::builder().processors(count).build().unwrap());
        for round in 0..50_u64 {
            let [first, second, third] = &clusters;
            let inner = first.spawn(move || {
                fibre::sleep(Duration::from_micros(round * 3));
                round
            });
            let middle = second.spawn(move || inner.join().unwrap() + 1);
            let outer = third.spawn(move || {
                let mut middle = middle;
                loop {
                    match middle.join_timeout(Duration::from_micros(20)) {
                        Ok(result) => return result.unwrap() + 1,
                        Err(handle) => middle = handle,
                    }
                }
            });
            let thread = thread::spawn(move || outer.join().unwrap());
            assert_eq!(thread.join().unwrap(), round + 2);
        }
        clusters.into_iter().for_each(Cluster::stop);
    });
}

/// A cluster may be gone by the time that its fibres' handles are used.
#[test]
fn handles_outlive_clusters() {
    watched(|| {
        let drops = Drops::new();
        for processors in [1, 2] {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let spawn = || {
                let value = drops.value();
                cluster.spawn(move || value)
            };
            let (joined, dropped, waited) = (spawn(), spawn(), spawn().join_on_drop());
            let cancelled = spawn();
            cluster.stop();
            drop(joined.join().unwrap());
            drop::<JoinHandle<_>>(dropped);
            drop::<JoinOnDrop<_>>(waited);
            cancelled.cancel();
            drop(cancelled.join_timeout(Duration::ZERO).unwrap());
        }
        assert_eq!(drops.count(), 8);
    });
}

/// The destructor of what a fibre captured may join another fibre, and drop handles, while it
/// unwinds.
#[test]
fn destructors_join() {
    for_each_cluster(|_| {
        let joined = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&joined);
        let outer = fibre::spawn(move || {
            let mut inner = Some(fibre::spawn(|| fibre::sleep(Duration::from_millis(1))));
            let mut detached = Some(fibre::spawn(|| ()));
            let _joins = OnDrop(move || {
                drop(detached.take());
                let ended = inner.take().map(JoinHandle::join);
                assert!(matches!(ended, Some(Ok(()))));
                count.fetch_add(1, Ordering::SeqCst);
            });
            resume_unwind(Box::new(()));
        });
        assert!(outer.join().is_err());
        assert_eq!(joined.load(Ordering::SeqCst), 1);
    });
}
