//! The programs of this package as their peers see them: clients and servers over plain sockets of
//! std, and curl.
//!
//! | file | what it is about |
//! |---|---|
//! | `program` | a process under test |
//! | `https` | TLS clients that behave, and such that do not |
//! | `stopping` | what clients see when a server stops |
//! | `chat` | WebSocket clients, many and rude ones |
//! | `fetch` | the HTTP client, in this process, and as a program |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it by panicking, as the tests do"
)]

mod chat;
mod fetch;
mod https;
mod program;
mod stopping;
mod tls;
