//! Atomics, locks and the futex, real or loom's; and what is built from these alone.
//!
//! * `atomic`: the facade that models replace;
//! * `short_lock`: a lock for a few instructions;
//! * `asymmetric`: looking at what its owner may take away, at the looker's cost;
//! * `readers`: looking at what a processor changes between two fibres;
//! * `segmented`: a table that grows and never moves;
//! * `faults`: names of the faults that models plant;
//! * `unwind_guard`: destructors that panic where a panic must not go on;
//! * `twins`: macros for what models have in another form;
//! * `model`: for models only: planted faults, loom's memory and where it ends, a lock that blocks.

pub mod asymmetric;
mod atomic;
mod faults;
#[cfg(loom)]
pub mod model;
pub mod readers;
#[cfg(not(loom))]
pub mod segmented;
pub mod short_lock;
#[cfg_attr(loom, path = "model/twins.rs")]
mod twins;
pub mod unwind_guard;

pub use atomic::*;
