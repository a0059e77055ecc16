//! Clients that know nothing of fibres, on fibres, by fibre-libc and within `fibre::blocking`,
//! against small servers within this process.
//!
//! *Meetings* show that a call blocks its fibre and nothing else: the server answers none of them
//! before all have asked. Where a call blocked the only processor, the others would never ask. So
//! no test measures time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod fibres;
mod http_server;
mod meeting;

mod postgres;
mod process;
mod program;
mod programs;
mod redis;
#[path = "../../../../tests/support/redis.rs"]
mod redis_commands;
mod redis_server;
mod tiny;
mod ureq;
