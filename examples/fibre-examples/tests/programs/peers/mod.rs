//! The programs of this package as their peers see them: clients and servers over plain sockets of
//! std, and curl.
//!
//! | file | what it is about |
//! |---|---|
//! | `program`, `tls` | a process under test, and those who talk TLS with it |
//! | `https` | TLS clients that behave, and such that do not |
//! | `stopping` | what clients see when a server stops |
//! | `chat` | WebSocket clients, many and rude ones |
//! | `broker`, `redis` | several servers with a Redis between them, actors of several processes, a balancer |
//! | `cost` | the comparison runs |
//! | `fetch` | the HTTP client, in this process, and as a program |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it by panicking, as the tests do"
)]

mod broker;
mod chat;
mod cost;
mod fetch;
#[path = "../../../../../tests/support/heard.rs"]
mod heard;
mod https;
mod program;
mod redis;
#[path = "../../../../../tests/support/redis.rs"]
mod redis_commands;
mod stopping;
mod tls;
