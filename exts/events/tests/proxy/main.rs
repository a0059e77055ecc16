//! The example `proxy` in this process: requests and what servers get of them, hostile clients and
//! servers, its end.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../examples/proxy/exchange.rs"]
mod exchange;
#[path = "../../examples/front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
#[path = "../../examples/proxy/service.rs"]
mod service;
#[path = "../support/serving.rs"]
#[allow(dead_code, reason = "a part is used")]
mod serving;
#[path = "../../examples/proxy/target.rs"]
mod target;

mod hostile;
mod requests;
mod stopping;
mod support;
mod targets;
