//! Why a fibre leaves its stack, as hooks and directors are told.

/// Why a fibre has left its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwitchReason {
    /// It lets others run.
    Yields,
    /// It waits, and others run meanwhile; in the panic hook it waits without that.
    Waits,
    /// It goes on in another cluster.
    Moves,
    /// It has ended, or an activity has ended a run. Its fibre-local values are gone.
    Ends,
}
