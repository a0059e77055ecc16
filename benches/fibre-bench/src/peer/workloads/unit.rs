//! `work`: what a unit of work costs in this program. It needs no runtime.

use std::hint::black_box;

use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::{Arguments, Parameters, Refusal};
use crate::peer::work::work;

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Units {
    /// CPU time of the last round.
    seconds: f64,
    /// Units in a piece of work.
    units: u64,
}

impl Parameters for Units {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            seconds: arguments.seconds(0.1),
            units: arguments.count("units", 1000)?,
        })
    }
}

/// Pieces of work one after the other.
pub(crate) fn plain(asked: Units) -> anyhow::Result<Sample> {
    let mut x = 0;
    calibrate(asked.seconds, 10 * asked.units, |operations| {
        let pieces = operations.div_ceil(asked.units);
        let watch = Stopwatch::start()?;
        x = black_box((0..pieces).fold(x, |x, _| work(asked.units, x)));
        Ok(watch.stop(pieces * asked.units)?)
    })
}
