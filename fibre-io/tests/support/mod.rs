//! Running models, and making sure that they can fail.
#![allow(dead_code, reason = "each test binary uses some of it")]

/// Checks `model` under every schedule within the bound of preemptions
/// (`LOOM_MAX_PREEMPTIONS`, two by default).
pub fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(model);
}

/// Checks that `model`, which has a bug, fails under some schedule.
pub fn finds_bug(model: impl Fn() + Send + Sync + 'static) {
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(model)));
    assert!(found.is_err(), "the planted bug was not found");
}
