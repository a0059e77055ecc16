//! Whether a processor goes on, as the cluster's handles have it.

use std::cell::Cell;

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

/// Which orders a processor has obeyed.
#[derive(Default)]
pub(super) struct OrderState {
    /// Whether it has cancelled its fibres.
    pub(super) cancelled: Cell<bool>,
    /// Whether it has also cancelled those that were spared.
    pub(super) spared_nobody: Cell<bool>,
    /// Whether it has begun to rouse its fibres.
    pub(super) unwound: Cell<bool>,
    /// Whether there may be fibres left that it has to rouse.
    pub(super) rousing: Cell<bool>,
    /// Whether it has been told to end, whatever it leaves.
    pub(super) leaving: Cell<bool>,
    /// Whether its frames have a fibre that is to run, when it stands still.
    pub(super) holding: Cell<bool>,
}
