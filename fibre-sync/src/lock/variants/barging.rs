//! Blocking with barging: the plainest lock with a list.

use crate::lock::queued::policy;

policy!(
    /// Blocking with barging: a caller that finds the lock taken blocks; an unlock frees the lock
    /// and wakes one waiter.
    Barging,
    BargingPolicy,
    "barging",
    false,
    Never
);
