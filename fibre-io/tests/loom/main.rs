//! Models of gates, owners of descriptors, pollers and the ring, over all interleavings.
//!
//! One program, which `cargo xtask loom` builds with `--cfg loom`; without that there is nothing in
//! it.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

mod gate;
mod gates;
mod ownership;
mod pollers;
mod ring;
mod seen;
mod task;
mod users;
