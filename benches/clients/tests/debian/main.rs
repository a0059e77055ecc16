//! Clients that know nothing of fibres, on fibres by fibre-libc, against Debian's servers: for
//! `cargo xtask clients`, as these have to be installed.
//!
//! Each server is started once, and ends with its test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod faults;
#[path = "../clients/http_server.rs"]
mod http_server;
mod loads;
#[path = "../clients/meeting.rs"]
mod meeting;
#[path = "../clients/program.rs"]
mod program;
mod programs;

use std::sync::Once;

/// Installs fibre-libc, once.
fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: no fibre of these tests holds what belongs to its kernel thread over a call that
    // blocks.
    ONCE.call_once(|| unsafe { fibre_libc::install() });
}
