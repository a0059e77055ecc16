//! Time-outs around calls, and groups of fibres.
//!
//! | file     | what it is about                                                       |
//! |----------|------------------------------------------------------------------------|
//! | `table`  | every call that waits, in a time-out: which end it, and how            |
//! | `scopes` | nesting, shields, destructors, what stays behind                       |
//! | `unwinding` | destructors that wait, and what goes on beside them                 |
//! | `random` | time-outs and cancellation at random moments: nothing is lost          |
//! | `groups` | groups of fibres                                                       |
//! | `gathering` | the first results of a group, and what there is in time             |
//! | `restarts`    | what fails is run again                                         |
//! | `supervisors` | groups that keep going, and fibres that become ready            |
//! | `aborting` | a program that is built with `panic = "abort"`                        |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod aborting;
mod gathering;
mod groups;
mod random;
mod restarts;
mod scopes;
mod supervisors;
mod table;
mod unwinding;
