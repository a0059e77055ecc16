//! Work that computes, on the cluster for that.
//!
//! | file      | what it is about                                              |
//! |-----------|---------------------------------------------------------------|
//! | `calls`   | results, borrows, panics, nesting; how many compute at once   |
//! | `limits`  | cancellation and time-outs around a call                      |
//! | `endings` | the end of clusters and processes meanwhile; forks            |
//! | `chosen`  | the settings of that cluster                                  |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod calls;
mod chosen;
mod endings;
mod limits;
