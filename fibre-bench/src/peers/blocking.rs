//! What a runtime in blocking style offers.

/// A runtime whose fibres block.
pub(crate) trait Blocking: 'static {
    /// What `spawn` returns.
    type Join: Send + 'static;
    /// Its counting semaphore.
    type Semaphore: Semaphore;
    /// Its mutex and condition variable.
    type Turns: Turns;

    /// Starts the runtime with one processor and runs `body` as a fibre there.
    fn enter<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T>;
    /// Starts a fibre.
    fn spawn(body: impl FnOnce() + Send + 'static) -> Self::Join;
    /// Waits for the end of a fibre; its panic goes on in the caller.
    fn join(join: Self::Join);
    /// Lets the others run.
    fn yield_now();
}

/// A counting semaphore.
pub(crate) trait Semaphore: Send + Sync + 'static {
    /// One without permits.
    fn empty() -> Self;
    /// Takes a permit, blocking until there is one.
    fn acquire(&self);
    /// Adds a permit.
    fn release(&self);
}

/// A flag under a mutex, with a condition variable on which two players wait
/// for their turn.
pub(crate) trait Turns: Send + Sync + 'static {
    /// With the turn at player `false`.
    fn first() -> Self;
    /// Blocks until it is `player`'s turn and hands the turn over.
    fn take(&self, player: bool);
}
