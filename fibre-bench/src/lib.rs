//! What the server binaries of the benchmark harness share: the request
//! scanner with its one answer ([`http`]), and how a server meets the harness
//! ([`serving`]).
//!
//! Every server answers the same bytes to the same scan, so that a difference
//! between two of them is a difference between their runtimes.

pub mod http;
pub mod serving;
