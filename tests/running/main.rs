//! Suites about how and where fibres run, in one program.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "activities/mod.rs"]
mod suite_activities;
#[path = "directed.rs"]
mod suite_directed;
#[path = "local.rs"]
mod suite_local;
#[path = "migration.rs"]
mod suite_migration;
#[path = "panics.rs"]
mod suite_panics;
#[path = "regressions.rs"]
mod suite_regressions;
#[path = "scheduling/mod.rs"]
mod suite_scheduling;
#[path = "scoped/mod.rs"]
mod suite_scoped;
#[path = "spawn/mod.rs"]
mod suite_spawn;
#[path = "stress.rs"]
mod suite_stress;
#[path = "switch_hooks.rs"]
mod suite_switch_hooks;
#[path = "thread_locals/mod.rs"]
mod suite_thread_locals;
