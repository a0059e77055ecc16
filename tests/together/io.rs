//! Those suites of I/O that make fibres wait for each other at descriptors, and go on elsewhere.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../io/accept.rs"]
mod accept;
#[path = "../io/close.rs"]
mod close;
#[path = "../io/connect.rs"]
mod connect;
#[path = "../io/deadlines.rs"]
mod deadlines;
#[path = "../io/poll.rs"]
mod poll;
#[path = "../io/pollers.rs"]
mod pollers;
#[path = "../io/sharing.rs"]
mod sharing;
#[path = "../io/stream.rs"]
mod stream;
