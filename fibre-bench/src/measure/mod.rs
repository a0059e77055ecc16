//! Clocks, memory, and what is read from them.

mod clock;
mod memory;
mod sample;
mod threads;

pub use clock::{CpuClock, Stopwatch};
pub use memory::{Memory, kernel_memory, resident};
pub use sample::Sample;
pub use threads::Threads;
