//! Dumps: what `kill -QUIT` writes names the fibre and the place that a program hangs in, whatever
//! hangs, and the program goes on. Each case is a process of its own.
//!
//! With the feature `sanitizer` there are none: AddressSanitizer has locals elsewhere and calls of
//! its own at each switch, so the place where a parked fibre's registers lie is not where the
//! unwinder looks, and dumps have no stacks.

#![cfg(not(feature = "sanitizer"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod guilty;
mod shortage;
mod tree;
mod victim;
mod write;
