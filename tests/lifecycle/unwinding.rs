//! Fibres that their cluster's end unwinds.

use super::cluster;
use crate::support::{Drops, processor_counts, watched};
use fibre::Interval;
use fibre::sync::{Condvar, Event, Mutex, Semaphore, WaitGroup};
use std::sync::Arc;
use std::time::Duration;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// No time at all.
const NOW: Duration = Duration::ZERO;

/// Fibres in `cancellable` are unwound when their cluster cancels them, whatever they wait in, and
/// their destructors run; nothing is left behind. Those in a shield are.
#[test]
fn who_is_cancellable_is_unwound() {
    /// What a fibre waits in.
    fn waits(kind: usize) {
        let (never, never_set) = (Semaphore::new(0), Event::new());
        let (_sender, receiver) = fibre::channel::bounded::<u32>(1);
        match kind {
            0 => fibre::sleep(LONG),
            1 => drop(receiver.recv()),
            2 => drop(Some(Interval::new(LONG).tick())),
            3 => never.acquire(),
            4 => fibre::select! {
                _ = receiver.recv_arm() => {},
                _ = never_set.wait_arm() => {},
            },
            _ => {
                let (lock, changed) = (Mutex::new(()), Condvar::new());
                changed.wait(&mut lock.lock());
            }
        }
    }

    watched(|| {
        for processors in processor_counts() {
            let cluster = cluster(processors);
            let drops = Drops::new();
            let ends = Arc::new(WaitGroup::new());
            for kind in 0..6 {
                let (value, ends) = (drops.value(), Arc::clone(&ends));
                ends.add(1);
                cluster.spawn(move || {
                    let ended = fibre::cancellable(|| {
                        let _value = value;
                        waits(kind);
                    });
                    assert_eq!(ended, Err(fibre::Cancelled));
                    ends.done();
                });
            }
            cluster.stop_within(NOW, LONG).unwrap();
            assert_eq!(drops.count(), 6);
            ends.wait();
        }
        let cluster = cluster(1);
        cluster.spawn(|| fibre::cancellable(|| fibre::shield(|| fibre::sleep(LONG))));
        assert_eq!(cluster.stop_within(NOW, NOW).unwrap_err().left.len(), 1);
    });
}
