//! What actors do, through the public interface: with one, two and four processors, under each
//! policy, and where every wake lands on another processor.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod asking;
mod befallen;
mod blocking;
mod corners;
mod ending;
mod mailboxes;
mod panics;
mod placement;
mod priorities;
mod sending;
mod stopping;
mod stress;
mod support;
mod timers;
mod topics;
mod weight;
