//! The example `http_cache` in this process: files, caches, hostile clients, its end.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../examples/http_cache/files.rs"]
mod files;
#[path = "../../examples/front/mod.rs"]
#[allow(dead_code, reason = "a part is used")]
mod front;
#[path = "../../examples/http_cache/handles.rs"]
mod handles;
#[path = "../support/http.rs"]
#[allow(dead_code, reason = "a part is used")]
mod http;
#[path = "../../examples/http_cache/key.rs"]
mod key;
#[path = "../../examples/http_cache/page_cache.rs"]
mod page_cache;
#[path = "../support/serving.rs"]
mod serving;
#[path = "../../examples/http_cache/site.rs"]
mod site;
#[path = "../../examples/http_cache/specweb.rs"]
#[allow(dead_code, reason = "a part is used")]
mod specweb;

mod caches;
mod hostile;
mod mix;
mod requests;
mod stopping;
mod support;
