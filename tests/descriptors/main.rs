//! Suites about waits for descriptors, in one program: every poller has to pass them.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "io/mod.rs"]
mod suite_io;
