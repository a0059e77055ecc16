//! With thread-locals of its own, a fibre is a thread to std and to
//! crates: what is tied to a thread there, and blocks the processor elsewhere (`as_before`), blocks
//! the fibre. Tests run on one, two and four processors, with moves as they come and with a move at
//! every turn. Where a call blocked its processor, the tests of one processor would hang.
//!
//! * `parking`: what std waits for by the thread's own word;
//! * `locks`: parking_lot, and channels of crossbeam and flume;
//! * `executors`: tokio and rayon;
//! * `values`: thread-locals and `errno` over a wait;
//! * `waits`: `epoll_wait` and its kin, called as C does;
//! * `output`: the standard output and input.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod executors;
mod locks;
mod output;
mod parking;
#[path = "../support/mod.rs"]
mod support;
mod values;
mod waits;

use std::sync::Arc;
use std::time::Duration;

/// A moment.
const SHORT: Duration = Duration::from_millis(5);

/// Spawns so many fibres and joins them.
fn crowd(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let fibres: Vec<_> = (0..count)
        .map(|number| {
            let body = Arc::clone(&body);
            fibre::spawn(move || body(number))
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}
