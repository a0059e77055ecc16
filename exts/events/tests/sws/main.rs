//! The example `sws` in this process: requests, pipelines, hostile clients, its end.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../examples/front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
#[path = "../../examples/sws/pages.rs"]
mod pages;

#[path = "../support/http.rs"]
#[allow(dead_code, reason = "a part is used")]
mod http;
#[path = "../support/serving.rs"]
mod serving;

mod client;
mod hostile;
mod requests;
mod stopping;
