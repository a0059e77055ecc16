//! Suites about servers under attack, in one program.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "faults/mod.rs"]
mod suite_faults;
#[path = "webserver/mod.rs"]
mod suite_webserver;
