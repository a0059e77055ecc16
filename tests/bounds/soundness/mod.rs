//! What programs without `unsafe` must not be able to bring about: that a value is used after it
//! has ended. Each test is such a program, hence the attribute; a value tells when it ends, and
//! whoever has borrowed it looks.

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod abandoned;
mod counting;
mod exiting;
mod initialising;
mod witness;
