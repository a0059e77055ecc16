//! A server for a test.

use crate::front::limits::Limits;
use crate::front::server::Server;
use crate::pages::Pages;
use crate::serving;
use fibre_events::{Policy, Report};
use std::sync::Arc;

pub use crate::http::{Answer, Client};
pub use crate::serving::patient;

/// A page that no socket's buffers take whole.
pub const LARGE: usize = 16 << 20;

/// Runs a test on a server, and stops that afterwards. The test has closed all its connections.
pub fn with_server(limits: Limits, test: impl FnOnce(&Arc<Server<Pages>>)) -> Report {
    serving(Policy::TimeLeft, 2, limits, test)
}

/// The same under some policy, with so many processors.
pub fn serving(
    policy: Policy,
    processors: usize,
    limits: Limits,
    test: impl FnOnce(&Arc<Server<Pages>>),
) -> Report {
    let pages = Pages::new().with_files(4, 1024);
    let pages = pages.with("/large", &vec![b'x'; LARGE]);
    let pages = pages.with_answer("/own", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    serving::serving(policy, processors, limits, pages, test)
}

/// The body of a file.
pub fn file(number: usize) -> Vec<u8> {
    let pattern = format!("file {number}\n").into_bytes();
    pattern.into_iter().cycle().take(1024).collect()
}
