//! What tasks do, through the public interface: with one, two and four processors, and with both
//! ways of coming by permissions where it does not matter which.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod emitters;
mod ending;
mod events;
mod finishing;
mod mistakes;
mod order;
mod panics;
mod permissions;
mod scheduling;
mod sockets;
mod stress;
mod support;
