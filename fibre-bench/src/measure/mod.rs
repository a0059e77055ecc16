//! Clocks, and what is read from them.

mod clock;
mod sample;

pub use clock::{CpuClock, Stopwatch};
pub use sample::Sample;
