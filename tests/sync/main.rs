//! Mutex, condition variable, semaphore: fibres and threads mixed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod condvar;
mod mutex;
mod once;
mod semaphore;

#[path = "../support/mod.rs"]
mod support;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

/// Runs `body` in so many fibres and so many threads at once; waits for all, as a fibre.
pub fn crowd(fibres: usize, threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let threads: Vec<_> = (0..threads)
        .map(|i| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(fibres + i))
        })
        .collect();
    let fibres: Vec<_> = (0..fibres)
        .map(|i| {
            let body = Arc::clone(&body);
            fibre::spawn(move || body(i))
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    for thread in threads {
        fibre::blocking(|| thread.join()).unwrap();
    }
}

/// The payload of the panic of `f`, if it panics.
pub fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(f))
}
