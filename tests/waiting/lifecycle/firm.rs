//! What a stopped cluster does not unwind, since nothing unwinds the caller that waits for it; and
//! loops of short time-outs, which it does unwind.

use super::{cluster, kinds};
use crate::support::drops::OnDrop;
use crate::support::{Drops, watched, were_late};
use fibre::channel::bounded;
use fibre::sync::{Event, LazyLock};
use fibre::{Cancelled, Cluster, GroupError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// The second limit: what waits is unwound after half of it.
const PATIENT: Duration = Duration::from_secs(6);

/// Beyond the moment when what waits is unwound, and before the limit.
const BEYOND: Duration = Duration::from_millis(3600);

/// Stops clusters of each kind and size at the same time. Nothing is left behind.
fn stop_all(body: impl Fn(&Cluster) + Sync) {
    watched(|| {
        std::thread::scope(|scope| {
            for (kind, processors) in kinds() {
                let body = &body;
                scope.spawn(move || {
                    let cluster = kind.cluster(processors);
                    body(&cluster);
                    if let Err(error) = cluster.stop_within(Duration::from_millis(20), PATIENT) {
                        assert!(were_late(&error), "{error}");
                    }
                });
            }
        });
    });
}

/// Waits for fibres of a scope and of a group, in the ways that there are. Takes twice the time.
fn wait_for_children(time: Duration) {
    let value = fibre::scope(|scope| {
        scope.spawn(|| fibre::sleep(time));
        let joined = scope.spawn(|| fibre::scope(|inner| _ = inner.spawn(|| fibre::sleep(time))));
        joined.join().unwrap();
        7
    });
    assert_eq!(value, 7);
    let sum = fibre::group(|group| {
        for number in 1..4 {
            group.spawn(move || {
                fibre::sleep(time);
                Ok::<_, ()>(number)
            });
        }
        let mut sum = 0;
        while let Some(number) = group.next() {
            sum += number;
        }
        Ok(sum)
    });
    assert_eq!(sum, Ok(6));
}

/// A destructor that runs while its stack unwinds waits for fibres of its own.
#[test]
fn destructors_have_scopes() {
    let tidied = Arc::new(AtomicUsize::new(0));
    stop_all(|cluster| {
        let count = Arc::clone(&tidied);
        cluster.spawn(move || {
            let _tidies = OnDrop(|| {
                wait_for_children(Duration::from_millis(10));
                count.fetch_add(1, Ordering::SeqCst);
            });
            fibre::sleep(LONG);
        });
    });
    assert_eq!(tidied.load(Ordering::SeqCst), kinds().len());
}

/// Neither a shield nor an initialiser is cut in two by the end of its children.
#[test]
fn shields_and_initialisers_hold_for_scopes_in_them() {
    let wholes = Arc::new(AtomicUsize::new(0));
    stop_all(|cluster| {
        let count = Arc::clone(&wholes);
        cluster.spawn(move || {
            fibre::shield(|| wait_for_children(BEYOND / 2));
            count.fetch_add(1, Ordering::SeqCst);
        });
        let count = Arc::clone(&wholes);
        cluster.spawn(move || {
            let table = LazyLock::new(|| {
                wait_for_children(BEYOND / 2);
                7
            });
            assert_eq!(*table, 7);
            count.fetch_add(1, Ordering::SeqCst);
        });
    });
    assert_eq!(wholes.load(Ordering::SeqCst), 2 * kinds().len());
}

/// A group says that it was cancelled if its fibres have been unwound; it does not panic.
#[test]
fn a_group_that_waits_for_unwound_fibres_was_cancelled() {
    let ended = Arc::new(AtomicUsize::new(0));
    stop_all(|cluster| {
        let count = Arc::clone(&ended);
        cluster.spawn(move || {
            let ended = fibre::group(|group| {
                group.spawn(|| {
                    fibre::sleep(LONG);
                    Ok::<(), ()>(())
                });
                // Notices nothing until they have been unwound.
                fibre::shield(|| fibre::sleep(BEYOND));
                Ok(())
            });
            assert_eq!(ended, Err(GroupError::Cancelled));
            count.fetch_add(1, Ordering::SeqCst);
        });
    });
    assert_eq!(ended.load(Ordering::SeqCst), kinds().len());
}

/// Computes for longer than the time-outs of the others take, and lets others run.
fn compute() {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1) {
        std::hint::spin_loop();
    }
    fibre::yield_now();
}

/// Waits again and again, each time for a moment that passes before it is its turn.
fn wait_in_short_time_outs() {
    let (_sender, receiver) = bounded::<u32>(1);
    loop {
        let _ = fibre::timeout(Duration::from_micros(200), || receiver.recv());
        let _ = fibre::timeout(Duration::from_micros(200), || fibre::sleep(LONG));
    }
}

/// Loops of short time-outs are unwound like other waits.
#[test]
fn short_time_outs_keep_nobody() {
    /// Fibres of each cluster.
    const LOOPS: usize = 10;

    stop_all(|cluster| {
        let drops = Drops::new();
        for _ in 0..LOOPS {
            let value = drops.value();
            cluster.spawn(move || {
                let _value = value;
                wait_in_short_time_outs();
            });
        }
        cluster.spawn(move || {
            while drops.count() < LOOPS {
                compute();
            }
        });
    });
}

/// So are those that are cancelled in a `cancellable`.
#[test]
fn short_time_outs_are_cancelled() {
    watched(|| {
        let cluster = cluster(1);
        let over = Arc::new(Event::new());
        let until = Arc::clone(&over);
        let busy = cluster.spawn(move || {
            while !until.is_set() {
                compute();
            }
        });
        let fibres =
            [(); 10].map(|()| cluster.spawn(|| fibre::cancellable(wait_in_short_time_outs)));
        std::thread::sleep(Duration::from_millis(20));
        fibres.iter().for_each(fibre::JoinHandle::cancel);
        for fibre in fibres {
            assert_eq!(fibre.join().unwrap(), Err(Cancelled));
        }
        over.set();
        busy.join().unwrap();
        cluster.stop();
    });
}
