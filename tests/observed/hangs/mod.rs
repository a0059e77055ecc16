//! Ten ways to hang, and what each tool says of them: the dump that `kill -QUIT` asks for, the
//! monitor (`FIBRE_MONITOR`) and the report of deadlocks (`FIBRE_DEADLOCK`). Each names the guilty
//! fibre and the place in the program, or says nothing. Each case is a process of its own, which
//! goes on after all of that.
//!
//! `fibre-capi/tests/hangs` has the same ten in C. With `--nocapture` the tests print what was
//! said; docs/INSIDE.md has that in a table.
//!
//! With the feature `sanitizer` there are none, as dumps have no stacks then.

#![cfg(not(feature = "sanitizer"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod told;
mod ways;
