//! Clocks, memory, and what is read from them.

mod clock;
mod memory;
mod sample;

pub use clock::{CpuClock, Stopwatch};
pub use memory::resident;
pub use sample::Sample;
