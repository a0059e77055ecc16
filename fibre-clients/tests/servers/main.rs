//! Clients that know nothing of fibres, on fibres and within `fibre::blocking`, against Debian's
//! servers: for `cargo xtask clients`, as these have to be installed.
//!
//! Each server is started once, and ends with its test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod faults;
mod loads;
#[path = "../clients/program.rs"]
mod program;
mod programs;
