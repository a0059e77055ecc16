//! Kernel threads for calls that block: the runtime's disk cluster (thesis, section 3.4.1).
//!
//! `jobs` is the protocol between those who have something to be done and the threads that do it;
//! `pool` has the threads. There are no fibres on them: a call needs no stack of its own, and what it
//! waits for may block its thread. See docs/decisions/0022. `visit` is for those whose fibres move: there the fibre
//! itself goes, to processors.

mod jobs;
mod pool;
mod visit;

pub use pool::{BlockingPool, BlockingPoolBuilder, blocking};
pub use visit::blocking_visit;
