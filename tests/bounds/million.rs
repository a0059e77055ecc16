//! The example `million` with fewer fibres: all blocked at once, and reports that name the right
//! ones. Each run is a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "../../examples/million.rs"]
#[allow(dead_code, reason = "its `main`")]
mod million;
use crate::support;

use million::Harm;
use std::os::unix::process::ExitStatusExt;
use support::process::{errors, no_core_file, plays, spawn_child};
use support::watched;

/// Fibres of each run.
const FIBRES: usize = 20_000;

/// Runs the example in a process of its own, and returns what it printed and its signal.
fn outcome(harm: Option<Harm>) -> Option<(String, String, Option<i32>)> {
    if plays("million") {
        no_core_file();
        watched(|| million::run(FIBRES, harm)).unwrap();
        return None;
    }
    let output = spawn_child("million", &[("FIBRE_STACK_SIZE", "65536")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((said, errors(&output), output.status.signal()))
}

/// All block, all are woken, with few mappings.
#[test]
fn all_are_blocked_at_once() {
    let Some((said, errors, signal)) = outcome(None) else {
        return;
    };
    assert_eq!(signal, None, "{errors}");
    assert!(said.contains("20000 in use"), "{said}");
    assert!(said.contains("woken and joined"), "{said}{errors}");
    let mappings = said
        .lines()
        .find_map(|line| line.strip_prefix("mappings: "));
    let mappings: usize = mappings.unwrap().parse().unwrap();
    assert!(mappings < FIBRES / 4, "{mappings} mappings");
}

/// Its own overflow names the culprit.
#[test]
fn an_overflow_names_the_culprit() {
    if let Some((_, errors, signal)) = outcome(Some(Harm::Own)) {
        assert_eq!(signal, Some(libc::SIGABRT), "{errors}");
        assert!(
            errors.contains("stack overflow in fibre 'culprit'"),
            "{errors}"
        );
    }
}

/// A write below another's stack names both.
#[test]
fn a_write_below_another_names_both() {
    if let Some((_, errors, signal)) = outcome(Some(Harm::Other)) {
        assert_eq!(signal, Some(libc::SIGABRT), "{errors}");
        assert!(errors.contains("fibre 'culprit'"), "{errors}");
        assert!(errors.contains("that of fibre 'fibre "), "{errors}");
    }
}
