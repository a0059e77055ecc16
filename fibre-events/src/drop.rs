//! Ends of a program's values, which may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops a value whose destructor may panic. Not under a lock: the destructor may do anything.
pub(crate) fn drop_safely<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The payload's own destructor may panic, too.
        std::mem::forget(payload);
    }
}
