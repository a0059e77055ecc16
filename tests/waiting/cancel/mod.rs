//! Cancellation.
//!
//! | file     | what it is about                                                    |
//! |----------|---------------------------------------------------------------------|
//! | `points` | which calls notice, and what they then say                          |
//! | `tokens` | who is cancelled together                                           |
//! | `races`  | cancellation against wakers and deadlines: nothing is lost          |
//! | `io`     | sockets                                                             |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod io;
mod points;
mod races;
mod tokens;

use fibre::{Builder, CancelToken};
use std::time::{Duration, Instant};

/// A deadline that is never reached.
pub fn never() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

/// Runs `body` as a fibre that has been cancelled.
pub fn as_cancelled<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let token = CancelToken::new();
    token.cancel();
    let fibre = Builder::new().cancel_token(&token).spawn(body).unwrap();
    fibre.join().unwrap()
}
