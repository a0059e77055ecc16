//! Handing over: first come, first served.

use crate::lock::queued::policy;

policy!(
    /// Baton passing: an unlock hands the lock to the waiter that has waited longest. Fair, and
    /// slow when contended: the lock is unused while that waiter wakes up.
    Baton,
    BatonPolicy,
    "baton",
    false,
    Always
);
