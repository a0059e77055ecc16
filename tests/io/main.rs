//! Sockets, pipes, files and all other descriptors.
//!
//! | file          | what it is about                                            |
//! |---------------|-------------------------------------------------------------|
//! | `accept`      | listeners, several acceptors, bursts                        |
//! | `connect`     | connections that are refused or never answered              |
//! | `stream`      | bytes: all of them, in order, in every kind of call         |
//! | `timeouts`    | reads and writes that give up                               |
//! | `ends`        | half-close, end of file, resets                             |
//! | `sharing`     | several fibres on one connection, clones                    |
//! | `hints`       | when what is known about readiness misleads                 |
//! | `close`       | closing what others wait for; numbers that are used again   |
//! | `pollers`     | what each poller promises                                   |
//! | `pipe`        | pipes: bytes, ends, closing, plain threads at the other end   |
//! | `pollable`    | timers, counters, terminals, children's ends, watches of files |
//! | `poll`        | waiting for several descriptors                              |
//! | `files`       | files, many at once, in place and elsewhere                  |
//! | `names`       | what connections are made to: addresses and names           |
//! | `conversions` | from and to std, options, plain threads, several clusters   |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod accept;
mod close;
mod connect;
mod conversions;
mod ends;
mod files;
mod hints;
mod names;
mod pipe;
mod poll;
mod pollable;
mod pollers;
mod sharing;
mod stream;
mod timeouts;

#[path = "../support/mod.rs"]
mod support;
