//! Suites about what is told of a program: dumps, hangs, metrics, traces, in one program.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "dump/mod.rs"]
mod suite_dump;
#[path = "hangs/mod.rs"]
mod suite_hangs;
#[path = "metrics/mod.rs"]
mod suite_metrics;
#[path = "stuck/mod.rs"]
mod suite_stuck;
#[path = "trace/mod.rs"]
mod suite_trace;
#[path = "tracing/mod.rs"]
mod suite_tracing;
#[path = "watch/mod.rs"]
mod suite_watch;
