//! crossbeam: kernel threads once more, where crossbeam has something of its own
//! to offer: channels, a parker, scoped threads.

use anyhow::anyhow;
use crossbeam_utils::sync::{Parker, Unparker};
use crossbeam_utils::thread::{self, Scope, ScopedJoinHandle};

use super::blocking::Blocking as _;
use super::calibrate::calibrate;
use super::protocol::{Basic, Workload};
use super::thread::{STACK, Thread};
use super::wires::{CrossbeamWire, WireLine};
use super::workloads::{pingpong, spawning::Spawns, stream, unit};
use crate::measure::{Sample, Stopwatch};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("spawn", spawns),
        Workload::new("semaphore", parkers),
        Workload::new(
            "channel",
            pingpong::lines::<Thread, WireLine<CrossbeamWire>>,
        ),
        Workload::new("stream", stream::blocking::<Thread, CrossbeamWire>),
        Workload::new("work", unit::plain),
    ]
}

/// Spawning and joining scoped threads that do nothing.
fn spawns(asked: Spawns) -> anyhow::Result<Sample> {
    let scoped = thread::scope(|scope| {
        let mut joins = Vec::with_capacity(asked.batch as usize);
        calibrate(asked.seconds, asked.fewest(), |operations| {
            let rounds = asked.rounds(operations);
            let watch = Stopwatch::start()?;
            for _ in 0..rounds {
                for _ in 0..asked.batch {
                    joins.push(start(scope)?);
                }
                for join in joins.drain(..) {
                    join.join().map_err(|_| anyhow!("a thread panicked"))?;
                }
            }
            Ok(watch.stop(rounds * asked.batch)?)
        })
    });
    scoped.map_err(|_| anyhow!("a thread panicked"))?
}

/// A thread that does nothing.
fn start<'scope>(scope: &'scope Scope<'_>) -> anyhow::Result<ScopedJoinHandle<'scope, ()>> {
    Ok(scope.builder().stack_size(STACK).spawn(|_| ())?)
}

/// Round trips over two parkers. Each is a semaphore of one permit that one thread alone may take.
fn parkers(asked: Basic) -> anyhow::Result<Sample> {
    calibrate(asked.seconds, pingpong::FEWEST, |operations| {
        let (here, there) = (Parker::new(), Parker::new());
        let (wake_here, wake_there) = (here.unparker().clone(), there.unparker().clone());
        let partner = Thread::spawn(move || {
            (0..=operations).for_each(|_| acquire_release(&there, &wake_here));
        });
        let round_trip = || {
            wake_there.unpark();
            here.park();
        };
        round_trip(); // the partner has started
        let watch = Stopwatch::start()?;
        (0..operations).for_each(|_| round_trip());
        let sample = watch.stop(operations)?;
        Thread::join(partner);
        Ok(sample)
    })
}

/// The partner's half of a round trip.
fn acquire_release(here: &Parker, wake_there: &Unparker) {
    here.park();
    wake_there.unpark();
}
