//! Kernel threads for calls that block: the runtime's disk cluster (thesis, section 3.4.1).
//!
//! `jobs` is the protocol between callers that bring jobs and the threads that do them; `pool` has
//! the threads. They run no fibres: a call needs no stack of its own, and may block its thread. See
//! docs/decisions/0022. `visit` is for clusters that move fibres: there the fibre itself goes to
//! the disk cluster's processors.

pub mod jobs;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod visit;

#[cfg(not(loom))]
pub use pool::{
    BlockingMetrics, BlockingPool, BlockingPoolBuilder, blocking, blocking_defaults,
    blocking_lookup, blocking_metrics,
};
#[cfg(not(loom))]
pub use visit::blocking_visit;
