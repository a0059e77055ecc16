//! Which fibres run, where, and that none is forgotten.
//!
//! | file        | what it is about                                              |
//! |-------------|---------------------------------------------------------------|
//! | `fairness`  | fibres that yield starve nobody                               |
//! | `moving`    | started fibres that move                                      |
//! | `placement` | which processor runs a fibre                                  |
//! | `policies`  | what each policy promises                                     |
//! | `visits`    | started fibres that go where they may block a thread          |
//! | `waking`    | idle processors sleep, and no wake-up is lost                 |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod fairness;
mod moving;
mod placement;
mod policies;
mod visits;
mod waking;
