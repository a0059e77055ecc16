//! Time.
//!
//! | file       | what it is about                                              |
//! |------------|---------------------------------------------------------------|
//! | `sleeping` | sleeping, deadlines of waits, ticks                           |
//! | `crowds`   | many deadlines that pass at once, and others that want to run |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod crowds;
mod sleeping;
