//! The default lock, but an unlock never switches to another fibre.

use crate::lock::queued::policy;

policy!(
    /// A [`Hybrid`](super::super::Hybrid) with an unlock that never lets others run: it frees the
    /// lock however long turns are, unless the first waiter has waited for long.
    Settled,
    SettledPolicy,
    "settled",
    true,
    Late
);
