//! Suites about how and where fibres run, in one program.
//!
//! An optimised program takes longer to build than to run, and a good part of it is the same in
//! all. So `cargo xtask lto` builds this one, and others beside it, instead of theirs, and runs
//! each suite in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "../activities/main.rs"]
mod suite_activities;
#[path = "../local.rs"]
mod suite_local;
#[path = "../migration.rs"]
mod suite_migration;
#[path = "../panics.rs"]
mod suite_panics;
#[path = "../regressions.rs"]
mod suite_regressions;
#[path = "../scheduling/main.rs"]
mod suite_scheduling;
#[path = "../spawn/main.rs"]
mod suite_spawn;
#[path = "../stress.rs"]
mod suite_stress;
#[path = "../switch_hooks.rs"]
mod suite_switch_hooks;
