//! Suites about processes and their limits, in one program.
//!
//! An optimised program takes longer to build than to run, and a good part of it is the same in
//! all. So `cargo xtask release` builds this one, and others beside it, instead of theirs, and runs
//! each suite in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "../emfile.rs"]
mod suite_emfile;
#[path = "../environment.rs"]
mod suite_environment;
#[path = "../exhaustion.rs"]
mod suite_exhaustion;
#[path = "../extremes.rs"]
mod suite_extremes;
#[path = "../fork.rs"]
mod suite_fork;
#[path = "../lints.rs"]
mod suite_lints;
#[path = "../memory.rs"]
mod suite_memory;
#[path = "../million.rs"]
mod suite_million;
#[path = "../naming.rs"]
mod suite_naming;
#[path = "../overflow.rs"]
mod suite_overflow;
#[path = "../platform.rs"]
mod suite_platform;
#[path = "../privileges.rs"]
mod suite_privileges;
#[path = "../sandbox.rs"]
mod suite_sandbox;
#[path = "../shutdown.rs"]
mod suite_shutdown;
#[path = "../soundness/main.rs"]
mod suite_soundness;
#[path = "../spares/main.rs"]
mod suite_spares;
#[path = "../spreading.rs"]
mod suite_spreading;
#[path = "../threads.rs"]
mod suite_threads;
#[path = "../topology.rs"]
mod suite_topology;
