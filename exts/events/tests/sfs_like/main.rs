//! The example `sfs_like` in this process: calls, hostile clients, its end.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../examples/sfs_like/client.rs"]
mod client;
#[path = "../../examples/front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
#[path = "../../examples/sfs_like/seal.rs"]
mod seal;
#[path = "../../examples/sfs_like/service.rs"]
mod service;
#[path = "../support/serving.rs"]
mod serving;
#[path = "../../examples/sfs_like/store.rs"]
mod store;
#[path = "../../examples/sfs_like/wire.rs"]
mod wire;

mod calls;
mod hostile;
mod stopping;
mod support;
