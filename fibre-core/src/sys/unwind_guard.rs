//! Running users' destructors in places that a panic must not leave.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f`. Its panic has been printed by the panic hook, and ends here.
pub(crate) fn quietly(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload's destructor is not trusted either.
        std::mem::forget(payload);
    }
}

/// Drops a user's value, [`quietly`].
pub(crate) fn drop_quietly<V>(value: V) {
    quietly(|| drop(value));
}
