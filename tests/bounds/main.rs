//! Suites about processes, their limits and their ends, in one program.
//!
//! The tasks of `cargo xtask` run each `suite_…` in a process of its own.

#[path = "../support/mod.rs"]
mod support;

#[path = "detached.rs"]
mod suite_detached;
#[path = "emfile.rs"]
mod suite_emfile;
#[path = "environment.rs"]
mod suite_environment;
#[path = "exhaustion.rs"]
mod suite_exhaustion;
#[path = "exit.rs"]
mod suite_exit;
#[path = "extremes.rs"]
mod suite_extremes;
#[path = "fork.rs"]
mod suite_fork;
#[path = "lints.rs"]
mod suite_lints;
#[path = "memory.rs"]
mod suite_memory;
#[path = "million.rs"]
mod suite_million;
#[path = "naming.rs"]
mod suite_naming;
#[path = "overflow.rs"]
mod suite_overflow;
#[path = "panic_hook.rs"]
mod suite_panic_hook;
#[path = "platform.rs"]
mod suite_platform;
#[path = "privileges.rs"]
mod suite_privileges;
#[path = "sandbox.rs"]
mod suite_sandbox;
#[path = "shutdown.rs"]
mod suite_shutdown;
#[path = "soundness/mod.rs"]
mod suite_soundness;
#[path = "spares/mod.rs"]
mod suite_spares;
#[path = "spreading.rs"]
mod suite_spreading;
#[path = "threads.rs"]
mod suite_threads;
#[path = "topology.rs"]
mod suite_topology;
