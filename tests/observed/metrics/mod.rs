//! Metrics: what is counted agrees with what a program did, and what the environment asks for is
//! told, whatever listens. Each case is a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[cfg(feature = "browser")]
mod browser;
mod counts;
mod helped;
mod lines;
mod openmetrics;
mod page;
mod pages;
mod serving;
mod settings;
use crate::support;

use support::process::{end_after, errors, plays, spawn_child};

/// The longest that a process of these tests may take.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Runs `program` in a process of its own; returns what that has written to standard error, once it
/// has ended well. In that process it returns `None`.
fn alone(environment: &[(&str, &str)], program: impl FnOnce()) -> Option<String> {
    if plays("alone") {
        end_after(LIMIT);
        program();
        return None;
    }
    let output = spawn_child("alone", environment);
    let errors = errors(&output);
    assert!(output.status.success(), "{}: {errors}", output.status);
    Some(errors)
}
