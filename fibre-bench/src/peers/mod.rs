//! What each runtime calls spawn, join, yield, semaphore, condition variable.
//!
//! Runtimes in blocking style share the traits of [`blocking`], so that a case is
//! written once for all of them and cannot differ by accident. tokio's tasks are
//! futures and corosensei has no scheduler; the cases write those out.

mod blocking;
pub(crate) mod corosensei;
mod fibre;
mod may;
mod thread;
pub(crate) mod tokio;

pub(crate) use blocking::{Blocking, Semaphore, Turns};
pub(crate) use fibre::Fibre;
pub(crate) use may::May;
pub(crate) use thread::Thread;
