//! Models of lines of tasks, over all interleavings.
//!
//! One program, which `cargo xtask loom` builds with `--cfg loom`; without that there is nothing in
//! it.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

mod lines;
