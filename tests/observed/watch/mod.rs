//! The watch: what `FIBRE_MONITOR` and `FIBRE_DEADLOCK` tell names the fibre and the place where
//! a program hangs, and of a correct program they tell nothing. Each case is a process of its own.
//!
//! Nothing is asserted about times: a test waits for what is told, however long that takes.
//!
//! With the feature `sanitizer` there are none, as dumps have no stacks then.

#![cfg(not(feature = "sanitizer"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod correct;
mod deadlocks;
mod hogs;
mod notice;
