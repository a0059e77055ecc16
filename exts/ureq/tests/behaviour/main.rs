//! ureq against servers of ours, over TCP and TLS, from fibres and threads.
//!
//! | file      | what it is about                                              |
//! |-----------|---------------------------------------------------------------|
//! | `pool`    | connections that are used again, by many fibres at once       |
//! | `answers` | redirects, bodies, large texts both ways, TLS                 |
//! | `ends`    | time-outs, cancellation, servers that break off               |
//! | `partition` | servers that are out of reach for a while, simulated      |
//! | `server`  | the server                                                    |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod answers;
mod ends;
mod partition;
mod pool;
mod server;
#[path = "../../../../tests/support/mod.rs"]
mod support;
