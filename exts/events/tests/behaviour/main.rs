//! What events do, through the public API.
#![cfg(not(loom))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod blocking;
mod colours;
mod endings;
mod outside;
mod panics;
mod stopping;
mod stress;
mod support;
mod timers;
