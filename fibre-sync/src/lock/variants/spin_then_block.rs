//! Barging after a short spin.

use crate::lock::queued::policy;

policy!(
    /// [`Barging`](super::Barging), but a caller tries for a moment before it blocks.
    SpinThenBlock,
    SpinThenBlockPolicy,
    "spin-block",
    true,
    Never
);
