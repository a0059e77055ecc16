//! `mutex`: locking and unlocking what nobody else wants.

use std::hint::black_box;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::{Blocking, Lock};
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::Basic;

/// Operations of the first round.
pub(crate) const FEWEST: u64 = 10_000;

/// Locks and unlocks of one fibre.
pub(crate) fn blocking<B: Blocking, L: Lock>(asked: Basic) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        let lock = L::free();
        let lock = black_box(&lock);
        calibrate(asked.seconds, FEWEST, |operations| {
            let watch = Stopwatch::start()?;
            (0..operations).for_each(|_| lock.locked(|| ()));
            Ok(watch.stop(operations)?)
        })
    })
}
