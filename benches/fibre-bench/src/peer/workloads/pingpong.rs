//! `semaphore`, `condvar`, `channel`: two fibres which wake each other in turn.
//!
//! With semaphores each release hands one permit over. With a mutex and a
//! condition variable the two take turns on a flag, as a program would. Over
//! channels a number goes there and comes back. One operation is a round trip:
//! two wakes, two blocks.

use std::sync::Arc;

use anyhow::ensure;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::{Blocking, Line, Semaphore as _, Turns};
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::Basic;

/// Operations of the first round.
pub(crate) const FEWEST: u64 = 1000;

/// Round trips over two semaphores.
pub(crate) fn semaphores<B: Blocking>(asked: Basic) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, FEWEST, |operations| {
            let pair = Arc::new((B::Semaphore::empty(), B::Semaphore::empty()));
            let partner = Arc::clone(&pair);
            let join = B::spawn(move || {
                for _ in 0..=operations {
                    partner.0.acquire();
                    partner.1.release();
                }
            });
            let round_trip = || {
                pair.0.release();
                pair.1.acquire();
            };
            round_trip(); // the partner has started
            let watch = Stopwatch::start()?;
            (0..operations).for_each(|_| round_trip());
            let sample = watch.stop(operations)?;
            B::join(join);
            Ok(sample)
        })
    })
}

/// Round trips over a mutex and a condition variable.
pub(crate) fn turns<B: Blocking, T: Turns>(asked: Basic) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, FEWEST, |operations| {
            let turns = Arc::new(T::first());
            let partner = Arc::clone(&turns);
            let join = B::spawn(move || (0..operations + 2).for_each(|_| partner.take(true)));
            turns.take(false); // the partner has started after the second turn
            turns.take(false);
            let watch = Stopwatch::start()?;
            (0..operations).for_each(|_| turns.take(false));
            let sample = watch.stop(operations)?;
            B::join(join);
            Ok(sample)
        })
    })
}

/// Round trips over two channels.
pub(crate) fn lines<B: Blocking, L: Line>(asked: Basic) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, FEWEST, |operations| {
            let (near, far) = L::ends();
            let join =
                B::spawn(move || (0..=operations).try_for_each(|_| far.send(far.receive()? + 1)));
            near.send(0)?;
            let mut number = near.receive()?; // the partner has started
            let watch = Stopwatch::start()?;
            for _ in 0..operations {
                near.send(number)?;
                number = near.receive()?;
            }
            let sample = watch.stop(operations)?;
            B::join(join)?;
            ensure!(number == operations + 1, "a number came back wrong");
            Ok(sample)
        })
    })
}
