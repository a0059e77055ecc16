//! The example `webserver` as its clients see it.
//!
//! Each test starts the example as a process of its own on a free port of the
//! loopback interface and talks to it over plain sockets. All sockets have
//! time-outs and all loops bounds, so that a server that hangs fails its test
//! and nothing else.
//!
//! | file       | what it is about                                              |
//! |------------|---------------------------------------------------------------|
//! | `server`   | the process under test                                        |
//! | `client`   | a client that reads answers                                   |
//! | `protocol` | requests that are answered                                    |
//! | `refusals` | requests that are refused                                     |
//! | `files`    | the files of a directory, and nothing beyond it               |
//! | `hostile`  | clients that are slow, rude or mad                            |
//! | `capacity` | more clients than the server has room for                     |
//! | `drain`    | stopping                                                      |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of a test fail it by panicking, as the tests do"
)]

mod capacity;
mod client;
mod drain;
mod files;
#[path = "../../support/heard.rs"]
mod heard;
mod hostile;
mod protocol;
mod refusals;
mod server;
