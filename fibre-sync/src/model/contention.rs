//! The profile in models: there is none.

/// How a call ended that found its lock taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It found the lock free in the end.
    Taken,
    /// The lock was handed over to it.
    HandedOver,
    /// Its limit came first.
    GaveUp,
}

/// A call that has found its lock taken.
#[derive(Debug)]
#[must_use = "it is counted when it ends"]
pub(crate) struct Contended;

impl Contended {
    /// The call has begun.
    pub(crate) fn begin() -> Self {
        Self
    }

    /// The call has ended.
    pub(crate) fn end(self, _how: Ending) {}
}
