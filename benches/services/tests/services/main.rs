//! Each service on fibres and on tokio, by the same tests: load, faults, limits, and signals under
//! load.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod crawler;
mod length;
mod orders;
mod pipeline;
mod program;
mod proxy;
mod redis;
#[path = "../../../../tests/support/redis.rs"]
mod redis_commands;
mod simulated;
mod udp;
