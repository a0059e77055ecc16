//! What stays of a processor's thread and memory when the processor ends.

/// What a processor leaves behind when it ends, and what has to stay for it.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitState {
    /// Nothing: all of it may go.
    Nothing,
    /// Fibres that have not begun: the processor itself stays where it is in memory, as wakers may
    /// touch it.
    Unstarted,
    /// Fibres that have begun here, or may have: the processor's thread stays, too. Such a fibre
    /// may have lent a thread-local value to another thread, or a place in it to the kernel; it
    /// would end with the thread.
    Started,
}
