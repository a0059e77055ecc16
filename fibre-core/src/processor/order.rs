//! Whether a processor goes on, as the cluster's handles have it.

/// What the orders of the cluster's handles say to a processor.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// It goes on.
    GoOn,
    /// It goes on, and runs a fibre next that it rouses, if there is one.
    Rouse,
    /// It leaves its loop, whatever fibres there are.
    End,
}
