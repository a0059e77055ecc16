//! Cancellation.
//!
//! | file     | what it is about                                                    |
//! |----------|---------------------------------------------------------------------|
//! | `points` | which calls notice, and what they then say                          |
//! | `tokens` | who is cancelled together                                           |
//! | `races`  | cancellation against wakers and deadlines: nothing is lost          |
//! | `grace`  | stretches that are spared until a limit                             |
//! | `grace_stop` | the same at the end of a cluster                               |
//!
//! Calls on descriptors that are cancelled are in `tests/descriptors/io/cancel.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod grace;
mod grace_stop;
mod points;
mod races;
mod tokens;

use std::time::{Duration, Instant};

/// A deadline that is never reached.
pub fn never() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}
