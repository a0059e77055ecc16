//! Clocks and what is made of their readings.

mod clock;
mod series;

pub(crate) use clock::{CpuClock, Stopwatch};
pub(crate) use series::{Sample, Series};
