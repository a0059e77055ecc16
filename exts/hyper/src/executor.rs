//! Running what hyper spawns.

use fibre_sync::block_on;
use hyper::rt::Executor;
use std::future::Future;

/// Runs each future that hyper spawns in a fibre of its own: the streams of an HTTP/2 connection,
/// say. The fibre belongs to the cluster of the fibre that spawns, or else to the default cluster.
///
/// A panic ends the fibre, and is told on standard error, as that of any fibre.
///
/// ```
/// use fibre_hyper::FibreExecutor;
/// use hyper::rt::Executor;
///
/// let (sender, receiver) = fibre::channel::oneshot();
/// FibreExecutor::new().execute(async { drop(sender.send(fibre::in_fibre())) });
/// assert_eq!(receiver.recv(), Ok(true));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct FibreExecutor;

impl FibreExecutor {
    /// The executor.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl<F> Executor<F> for FibreExecutor
where
    F: Future + Send + 'static,
{
    /// # Panics
    ///
    /// If no fibre can be spawned.
    fn execute(&self, future: F) {
        // Its end is the future's own matter.
        drop(fibre_core::spawn(move || drop(block_on(future))));
    }
}
