//! What a runtime in blocking style offers to the workloads.

use std::time::Duration;

/// A runtime with fibres that block.
pub(crate) trait Blocking: 'static {
    /// What `spawn` returns.
    type Join<T: Send + 'static>: Send + 'static;
    /// Its counting semaphore.
    type Semaphore: Semaphore;

    /// Starts the runtime with so many processors and runs `body` as a fibre
    /// there. The runtime is stopped if that went well, and otherwise left as it
    /// is, since fibres may be blocked for ever.
    fn enter<T: Send + 'static>(
        processors: usize,
        body: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T>;
    /// Starts a fibre; panics if there cannot be one more.
    fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> Self::Join<T>;
    /// Starts a fibre that is joined soon, child first where the runtime can do that. Such a child
    /// may not be stolen, so several processors get `spawn`.
    fn fork<T: Send + 'static>(
        _processors: usize,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Self::Join<T> {
        Self::spawn(body)
    }
    /// Waits for the end of a fibre; its panic goes on in the caller.
    fn join<T: Send + 'static>(join: Self::Join<T>) -> T;
    /// Lets the others run.
    fn yield_now();
    /// Blocks the fibre for so long.
    fn sleep(duration: Duration);
}

/// A runtime with fibres that have stacks of a size that can be chosen.
pub(crate) trait Stacked: Blocking {
    /// What `spawn_sized` returns.
    type SizedJoin: Send + 'static;

    /// Starts a fibre with so many bytes of stack, or with the smallest stack that
    /// is sensible for this runtime.
    fn spawn_sized(
        stack: Option<usize>,
        body: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<Self::SizedJoin>;
    /// Waits for the end of such a fibre; its panic goes on in the caller.
    fn join_sized(join: Self::SizedJoin);
}

/// A counting semaphore.
pub(crate) trait Semaphore: Send + Sync + 'static {
    /// A semaphore without permits.
    fn empty() -> Self;
    /// Takes a permit, blocking until there is one.
    fn acquire(&self);
    /// Adds a permit.
    fn release(&self);
}

/// A flag under a mutex, with a condition variable that two players wait on for their turn.
pub(crate) trait Turns: Send + Sync + 'static {
    /// A flag that says it is the turn of player `false`.
    fn first() -> Self;
    /// Blocks until it is `player`'s turn and hands the turn over.
    fn take(&self, player: bool);
}

/// A mutex around nothing.
pub(crate) trait Lock: Send + Sync + 'static {
    /// A mutex that is free.
    fn free() -> Self;
    /// Locks, runs `section`, unlocks.
    fn locked(&self, section: impl FnOnce());
}

/// A read-write lock around nothing.
pub(crate) trait SharedLock: Send + Sync + 'static {
    /// A lock that is free.
    fn free() -> Self;
    /// Runs `section` beside other readers.
    fn reading(&self, section: impl FnOnce());
    /// Runs `section` alone.
    fn writing(&self, section: impl FnOnce());
}

/// One end of a conversation over two channels, one in each direction.
pub(crate) trait Line: Send + Sized + 'static {
    /// Both ends.
    fn ends() -> (Self, Self);
    /// Sends a number to the other end.
    fn send(&self, number: u64) -> anyhow::Result<()>;
    /// Takes the next number, blocking until there is one.
    fn receive(&self) -> anyhow::Result<u64>;
}
