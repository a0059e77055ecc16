//! TLS between fibres, threads, and peers that behave badly, with certificates made up here.
//!
//! | file         | what it is about                                           |
//! |--------------|------------------------------------------------------------|
//! | `handshakes` | clients and servers that come to terms, and in which time  |
//! | `transfers`  | large texts in both directions, at once, in small pieces   |
//! | `ends`       | farewells, cuts, time-outs in the middle                   |
//! | `hostile`    | peers that send what is no TLS, or nothing                 |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod ends;
mod handshakes;
mod hostile;
mod peers;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod transfers;
