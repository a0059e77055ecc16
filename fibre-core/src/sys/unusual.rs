//! Whether anything in this process makes the ends of fibres unusual: one flag for all such causes,
//! so that the usual end costs one look.
//!
//! # Memory ordering
//!
//! Relaxed. The flag is set before a cluster starts that needs it, or in a process of one thread.

use std::sync::atomic::{AtomicBool, Ordering};

static UNUSUAL: AtomicBool = AtomicBool::new(false);

/// Notes that there is a cause. Async-signal-safe.
pub(crate) fn note() {
    UNUSUAL.store(true, Ordering::Relaxed);
}

/// Whether there is one.
#[inline(always)]
pub(crate) fn is() -> bool {
    UNUSUAL.load(Ordering::Relaxed)
}
