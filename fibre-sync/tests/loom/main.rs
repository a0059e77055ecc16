//! Models of locks, channels and what else fibres wait for, over all interleavings.
//!
//! One program, which `cargo xtask loom` builds with `--cfg loom`; without that there is nothing in
//! it.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

mod barrier;
mod channel;
mod condvar;
mod event;
mod futex;
mod members;
mod mutex;
mod news;
mod notify;
mod once;
mod raw;
mod roused;
mod rw_lock;
mod scopes;
mod select;
mod semaphore;
mod task;
mod wait_group;
mod wait_list;
