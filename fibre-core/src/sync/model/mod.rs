//! Running models, planting faults in shipped code, and objects for models to use.
//!
//! A model that cannot fail proves nothing. So each property has a twin with a planted bug, which
//! the model must find. If the bug is in the model's own code, [`finds_bug`] runs it. If it is in
//! shipped code, that code asks [`planted`], with the fault's name, whether to go wrong here, and
//! [`finds_planted`] runs the model with that fault:
//!
//! ```text
//!   if !planted(faults::semaphore::WAKES_NOBODY) {         // shipped code
//!       first.resume();
//!   }
//!
//!   /// Planted: who waits sleeps for ever.                // the model
//!   #[test]
//!   fn planted_forgotten_waiter_is_found() {
//!       finds_planted(faults::semaphore::WAKES_NOBODY, || acquire_and_release());
//!   }
//! ```
//!
//! All threads of one model run on one kernel thread, so a fault is planted for a kernel thread,
//! and concurrent models do not notice.
//!
//! Files:
//!
//! * `memory`: loom's atomics and cells, when they end, and how long others may reach them;
//! * `short_lock`: the short lock of models: loom's own, which blocks.

pub mod memory;
pub mod short_lock;

use loom::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

pub use crate::sync::model::memory::{Shared, expecting_panics};

/// Checks `model` under every schedule within the bound of preemptions
/// (`LOOM_MAX_PREEMPTIONS`, two by default).
pub fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(model);
}

/// Checks that `model`, which has a bug, fails under some schedule.
///
/// # Panics
///
/// If it does not.
pub fn finds_bug(model: impl Fn() + Send + Sync + 'static) {
    let found = catch_unwind(AssertUnwindSafe(|| check(model)));
    assert!(found.is_err(), "the planted bug was not found");
}

/// Checks that `model` fails under some schedule if the shipped code has `fault`.
///
/// # Panics
///
/// If it does not, or if no code has asked for that fault.
pub fn finds_planted(fault: &'static str, model: impl Fn() + Send + Sync + 'static) {
    finds_planted_with(&[], fault, model);
}

/// [`finds_planted`], with variants of shipped code as in [`check_with`].
///
/// # Panics
///
/// As [`finds_planted`].
pub fn finds_planted_with(
    variants: &[&'static str],
    fault: &'static str,
    model: impl Fn() + Send + Sync + 'static,
) {
    let asked: Vec<_> = variants.iter().copied().chain([fault]).collect();
    let found = with_planted(&asked, || check(model));
    assert!(found.is_err(), "the planted fault was not found: {fault}");
}

/// [`check`], with shipped code that does something in another way, which is right as well: the
/// code asks for these variants as it does for faults.
///
/// # Panics
///
/// If the model fails, or no code has asked for a variant.
pub fn check_with(variants: &[&'static str], model: impl Fn() + Send + Sync + 'static) {
    if let Err(failure) = with_planted(variants, || check(model)) {
        resume_unwind(failure);
    }
}

/// Runs a model with these faults or variants planted.
fn with_planted(names: &[&'static str], model: impl FnOnce()) -> thread::Result<()> {
    let here = thread::current().id();
    let planted = names.iter().map(|&name| Fault {
        name,
        thread: here,
        met: false,
    });
    faults().extend(planted);
    let result = catch_unwind(AssertUnwindSafe(model));
    let missed: Vec<_> = faults()
        .extract_if(.., |fault| fault.thread == here)
        .filter_map(|fault| (!fault.met).then_some(fault.name))
        .collect();
    assert!(
        missed.is_empty(),
        "the model does not come to where this could be: {missed:?}"
    );
    result
}

/// Whether the calling model has planted this fault.
pub fn planted(name: &'static str) -> bool {
    let here = thread::current().id();
    let mut faults = faults();
    let fault = faults
        .iter_mut()
        .find(|fault| fault.thread == here && fault.name == name);
    fault.map(|fault| fault.met = true).is_some()
}

/// A fault that some model has planted.
#[derive(Debug)]
struct Fault {
    /// The name that shipped code asks for it by.
    name: &'static str,
    /// The kernel thread that the model runs on.
    thread: ThreadId,
    /// Whether any code has asked for it.
    met: bool,
}

/// All planted faults.
fn faults() -> MutexGuard<'static, Vec<Fault>> {
    static FAULTS: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number that loom watches for races: what a lock is to guard.
#[derive(Debug)]
pub struct Watched(UnsafeCell<u32>);

// SAFETY: loom checks that accesses do not overlap.
unsafe impl Sync for Watched {}
// SAFETY: loom checks that accesses do not overlap.
unsafe impl Send for Watched {}

impl Default for Watched {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Watched {
    /// Makes a guarded number.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self(UnsafeCell::new(number))
    }

    /// Replaces the number.
    pub fn set(&self, number: u32) {
        // SAFETY: loom checks it.
        self.0.with_mut(|old| unsafe { *old = number });
    }

    /// Adds one to the number.
    pub fn count(&self) {
        // SAFETY: loom checks it.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    /// Reads the number.
    #[must_use]
    pub fn get(&self) -> u32 {
        // SAFETY: loom checks it.
        self.0.with(|number| unsafe { *number })
    }
}
