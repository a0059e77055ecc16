//! The event trace: what processors did is in the file, in order and with the right partners,
//! whatever becomes of the program meanwhile. Each case is a process of its own.
//!
//! The files are read by a reader that knows their form only, and nothing of their writer. Nothing
//! is asserted about times: a test waits for what is to come, however long that takes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod events;
mod reader;
#[cfg(not(feature = "sanitizer"))]
mod thread_blocks;
mod writing;
