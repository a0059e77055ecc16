//! Suites about what fibres wait for: locks, channels, selection, limits, pools, in one program.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "async_stream.rs"]
mod suite_async_stream;
#[path = "compute/mod.rs"]
mod suite_compute;
#[path = "ends/mod.rs"]
mod suite_ends;
#[path = "limits/mod.rs"]
mod suite_limits;
#[path = "pool.rs"]
mod suite_pool;
#[path = "select/mod.rs"]
mod suite_select;
#[path = "structured/mod.rs"]
mod suite_structured;
#[path = "sync/mod.rs"]
mod suite_sync;
