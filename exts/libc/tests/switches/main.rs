//! Nothing switches unless the call would block: each name that may wait is called where it need
//! not, and stays on its stack, and where it has to, and leaves it. The names are called as C does.
//!
//! On one processor a fibre that is always ready tells of switches. One test has them all, as some
//! of the calls wait for any child of the process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bytes;
mod places;
mod processes;
mod sockets;
#[path = "../support/mod.rs"]
mod support;
mod times;

use places::Call;
use support::names::WAITING;
use support::{Rider, on_one};

#[test]
fn each_name_leaves_its_stack_only_if_it_would_block() {
    let calls = [
        &bytes::CALLS[..],
        &sockets::CALLS,
        &times::CALLS,
        &processes::CALLS,
    ];
    let calls: Vec<Call> = calls.concat();
    let mut names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, WAITING);
    on_one(move || {
        let rider = Rider::begin();
        for (name, call) in calls {
            println!("{name}");
            call(&rider);
        }
    });
}
