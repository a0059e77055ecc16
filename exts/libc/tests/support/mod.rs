//! What the tests share: clusters of some processors, and a fibre that tells of switches.

#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod asking;
pub mod names;

use fibre::Cluster;
use fibre_libc as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// After how many seconds a process that hangs is ended.
const LONG: u32 = 120;

/// What the fibres of a test's cluster have of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locals {
    /// The thread-locals of their kernel thread.
    Shared,
    /// Their own ones.
    Own,
    /// Their own ones, and they move at every turn.
    Moving,
}

/// Runs a body as a fibre of a cluster with so many processors, with names installed.
pub fn on<R: Send + 'static>(processors: usize, body: impl FnOnce() -> R + Send + 'static) -> R {
    on_kind(Locals::Shared, processors, body)
}

/// Runs a body on one, two and four processors, in clusters of each of these kinds.
pub fn on_kinds(kinds: &[Locals], body: impl FnOnce() + Clone + Send + 'static) {
    for &kind in kinds {
        for processors in [1, 2, 4] {
            on_kind(kind, processors, body.clone());
        }
    }
}

/// Runs a body on one processor, in clusters of each kind.
pub fn on_one(body: impl FnOnce() + Clone + Send + 'static) {
    for kind in [Locals::Shared, Locals::Own, Locals::Moving] {
        on_kind(kind, 1, body.clone());
    }
}

/// Runs a body in all clusters that give fibres thread-locals of their own.
pub fn on_own(body: impl FnOnce() + Clone + Send + 'static) {
    on_kinds(&[Locals::Own, Locals::Moving], body);
}

/// Runs a body in a cluster of this kind.
pub fn on_kind<R: Send + 'static>(
    kind: Locals,
    processors: usize,
    body: impl FnOnce() -> R + Send + 'static,
) -> R {
    // SAFETY: `alarm` takes a number; the tests' fibres keep nothing of a thread's.
    unsafe {
        libc::alarm(LONG);
        fibre_libc::install();
    }
    // No spare processor runs others while a fibre blocks its own.
    let builder = Cluster::builder()
        .processors(processors)
        .max_spare_processors(0);
    // SAFETY: the tests' fibres tie no memory to a kernel thread by a system call.
    let builder = unsafe {
        match kind {
            Locals::Shared => builder,
            Locals::Own => builder.own_thread_locals(),
            Locals::Moving => builder.own_thread_locals().force_migration(),
        }
    };
    let cluster = builder.build().unwrap();
    let result = cluster.spawn(body).join().unwrap();
    cluster.stop();
    result
}

/// A fibre that is always ready, and counts how often it runs: on one processor, how often others
/// have left their stacks.
pub struct Rider {
    runs: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Rider {
    /// Begins it on the caller's processor, the only one.
    pub fn begin() -> Self {
        let (runs, over) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let rider = Self {
            runs: Arc::clone(&runs),
            over: Arc::clone(&over),
        };
        fibre::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                runs.fetch_add(1, Ordering::Relaxed);
                fibre::yield_now();
            }
        });
        fibre::yield_now();
        rider
    }

    /// What `call` returns, and whether the caller has left its stack in it.
    pub fn watch<R>(&self, call: impl FnOnce() -> R) -> (R, bool) {
        let before = self.runs.load(Ordering::Relaxed);
        let result = call();
        (result, self.runs.load(Ordering::Relaxed) != before)
    }

    /// What a call returns that does not leave its stack.
    #[track_caller]
    pub fn stays<R>(&self, call: impl FnOnce() -> R) -> R {
        let (result, left) = self.watch(call);
        assert!(!left, "the call has left its stack");
        result
    }

    /// What a call returns that leaves its stack.
    #[track_caller]
    pub fn leaves<R>(&self, call: impl FnOnce() -> R) -> R {
        let (result, left) = self.watch(call);
        assert!(left, "the call has not left its stack");
        result
    }
}

impl Drop for Rider {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
