//! Programs that others have written for structured concurrency, in the terms of fibre.
//!
//! Each file has those of one source, written anew: what the source shows must hold here, too, or
//! the test says how fibre differs.
//!
//! | file         | the programs are of                                                   |
//! |--------------|-----------------------------------------------------------------------|
//! | `trio`       | Trio: nurseries, cancel scopes, shields, `start`                      |
//! | `eyeballs`   | Trio's staggered connects to several addresses, as a whole program    |
//! | `joiners`    | Java's `StructuredTaskScope` and its joiners (JEP 505, JEP 525)       |
//! | `futurelock` | Oxide's RFD 609: who waits for what is not polled                     |
//! | `kotlin`     | Kotlin's `coroutineScope`, `supervisorScope`, `withTimeout`           |
//! | `errgroup`   | Go's `errgroup`                                                       |
//! | `erlang`     | Erlang's supervisors: strategies and intensity                        |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod erlang;
mod errgroup;
mod eyeballs;
mod futurelock;
mod joiners;
mod kotlin;
mod trio;

use crate::support::{for_each_cluster, watched};
use fibre::Group;
use std::time::Duration;

/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(3);

/// A time that no test waits for.
const LONG: Duration = Duration::from_secs(3600);

/// Runs a body in a fibre of each kind of cluster, and on a plain thread.
fn everywhere(body: fn()) {
    for_each_cluster(move |_| body());
    watched(move || std::thread::spawn(body).join().unwrap());
}

/// Says that the fibres of a group have no results: nothing else does, if all are started by `run`.
fn no_results<E>(_: &Group<'_, '_, (), E>) {}
