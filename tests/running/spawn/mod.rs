//! Beginning and end of fibres.
//!
//! | file       | what it is about                                             |
//! |------------|--------------------------------------------------------------|
//! | `join`     | results, time-outs, who may join from where                  |
//! | `joining`  | the forms of joining; one's own handle; several clusters       |
//! | `limits`   | how many fibres a cluster may have                           |
//! | `many`     | large numbers of fibres                                      |
//! | `results`  | results and closures are dropped once, in every order        |
//! | `stacks`   | names, numbers, stack sizes                                  |
//! | `big_stack`| calls on another stack                                       |
//! | `scope`    | fibres that borrow                                           |
//! | `blocking` | calls that block a kernel thread                             |
//! | `cluster`  | start and stop of clusters                                   |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod big_stack;
mod blocking;
mod cluster;
mod join;
mod joining;
mod limits;
mod many;
mod results;
mod scope;
mod stacks;
