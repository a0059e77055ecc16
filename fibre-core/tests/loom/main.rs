//! Models of the words, queues and slots of the scheduler, over all interleavings.
//!
//! One program, which `cargo xtask loom` builds with `--cfg loom`; without that there is nothing in
//! it.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

mod activity;
mod at_home;
mod cancel;
mod consumer;
mod control;
mod fibre;
mod idle;
mod jobs;
mod queue;
mod queue_counts;
mod readers;
mod rousing;
mod short_lock;
mod spare;
mod task;
mod trace;
mod visits;
