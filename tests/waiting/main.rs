//! Suites about how fibres wait, in one program.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "cancel/mod.rs"]
mod suite_cancel;
#[path = "futures/mod.rs"]
mod suite_futures;
#[path = "lifecycle/mod.rs"]
mod suite_lifecycle;
#[path = "sync_stress/mod.rs"]
mod suite_sync_stress;
#[path = "time/mod.rs"]
mod suite_time;
