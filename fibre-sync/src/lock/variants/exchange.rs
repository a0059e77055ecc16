//! Handing over the lock, and the processor with it.

use crate::lock::queued::policy;

policy!(
    /// Combine and exchange: an unlock hands the lock over, and lets the next holder run at once on
    /// this processor, if it may; the unlocker is queued. So the lock's data stay in one
    /// processor's caches, and an unlock is a yield.
    Exchange,
    ExchangePolicy,
    "exchange",
    false,
    InPlace
);
