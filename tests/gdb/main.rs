//! gdb: the commands that a program brings along name the fibre and the place in which it hangs, in
//! the live process and in a core file, and gdb sees the stacks that a dump shows. Each case is a
//! process of its own, which gdb starts: a debugger may not trace every process.
//!
//! They need gdb, so `cargo xtask gdb` runs them, and `cargo test` does not.
//!
//! With the feature `sanitizer` there are none: AddressSanitizer has calls of its own at each
//! switch, and parked fibres' registers lie elsewhere.

#![cfg(not(feature = "sanitizer"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod agreement;
mod debugger;
mod library;
mod program;
#[path = "../support/mod.rs"]
mod support;
mod thread_locals;
