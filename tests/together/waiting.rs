//! Suites about how fibres wait, in one program.
//!
//! An optimised program takes longer to build than to run, and a good part of it is the same in
//! all. So `cargo xtask lto` builds this one, and others beside it, instead of theirs, and runs
//! each suite in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "../cancel/main.rs"]
mod suite_cancel;
#[path = "../futures/main.rs"]
mod suite_futures;
#[path = "io.rs"]
mod suite_io;
#[path = "../lifecycle/main.rs"]
mod suite_lifecycle;
#[path = "../sync_stress/main.rs"]
mod suite_sync_stress;
#[path = "../time/main.rs"]
mod suite_time;
