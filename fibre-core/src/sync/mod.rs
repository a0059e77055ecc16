//! Atomics, locks and the futex, real or loom's; and what is built from these alone.
//!
//! * `atomic`: the facade that models replace;
//! * `short_lock`: a lock for a few instructions;
//! * `asymmetric`: access to what its owner may take away, at the visitor's cost;
//! * `readers`: reads of data that a processor changes between two fibres;
//! * `thread_mutex`: a lock that blocks the kernel thread, whatever the program's names do;
//! * `segmented`: a table that grows and never moves;
//! * `faults`: names of the faults that models plant;
//! * `unwind_guard`: keeps destructors' panics from going on where they must not;
//! * `twins`: macros for code that differs in models;
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
pub mod thread_mutex;
#[cfg_attr(loom, path = "model/twins.rs")]
mod twins;
pub mod unwind_guard;

pub use atomic::*;
