//! What programs that measure have in common, so that their figures mean the same.
//!
//! What is read: the CPU clock ([`CpuClock`], [`Stopwatch`]), [`Memory`] and [`Threads`] of a
//! process, and a [`Sample`] of a workload. What is made of it: a [`Series`] of readings, figures
//! in [`format`](mod@format), SVG in [`plot`]. Where it was read: the [`Machine`], and what each of
//! its [`Cores`] is for. And what clients need: a [`duration()`] from their command line, addresses
//! in [`Turns`], and [`raise_file_limit`].

#![deny(unreachable_pub, unnameable_types)]

mod clock;
mod cores;
mod duration;
mod file_limit;
pub mod format;
mod machine;
mod memory;
pub mod plot;
mod sample;
mod series;
mod threads;
mod turns;

pub use clock::{CpuClock, Stopwatch};
pub use cores::{Cores, Pinned};
pub use duration::duration;
pub use file_limit::raise_file_limit;
pub use machine::Machine;
pub use memory::{Memory, kernel_memory, peak_resident, resident};
pub use sample::Sample;
pub use series::Series;
pub use threads::Threads;
pub use turns::Turns;
