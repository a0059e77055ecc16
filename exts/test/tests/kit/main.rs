//! What the kit promises: by concern.
//!
//! * `time`: the clock of a run;
//! * `ends`: how a run ends, and what is said if it fails;
//! * `schedules`: which schedules find which faults;
//! * `classics`: faults that other tools are shown by;
//! * `objects`: every object of fibre, with time-outs and cancellation at the same moments;
//! * `replays`: one seed, one run;
//! * `entropy`: random bytes, and the order of hash maps;
//! * `invariants`: what holds always, and what happens sometimes;
//! * `attribute`: tests by `#[fibre_test::test]`;
//! * `network`, `network_links`, `network_datagrams`: hosts and what lies between them;
//! * `network_halves`: connections with two sides that know different things, and hosts of another
//!   run;
//! * `network_bank`: a protocol over a bad network, and one that is wrong;
//! * `network_runs`: what schedules, shortening and invariants have to do with a network.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod attribute;
mod classics;
mod ends;
mod entropy;
mod invariants;
mod network;
mod network_bank;
mod network_datagrams;
mod network_halves;
mod network_links;
mod network_runs;
mod objects;
mod replays;
mod schedules;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod time;

use fibre_test::{Builder, Sim};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the panic of a run that fails says.
fn failure(builder: Builder, test: impl Fn(&Sim) + Send + Sync + 'static) -> String {
    let ran = catch_unwind(AssertUnwindSafe(|| builder.run(test)));
    let payload = ran.expect_err("the run does not fail");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .expect("a panic with words")
}

/// Asserts that a text says all of these.
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}
