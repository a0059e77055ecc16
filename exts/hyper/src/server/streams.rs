//! The fibres of a connection's streams.

use fibre_core::{Builder, CancelToken, Cancelled, cancellable, graceful};
use fibre_sync::{WaitGroup, block_on};
use hyper::rt::Executor;
use std::future::Future;
use std::sync::Arc;

/// The fibres of one connection of HTTP/2.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Ends them.
    token: CancelToken,
    /// How many there are.
    running: WaitGroup,
}

impl Streams {
    /// Waits until all have ended, and ends them first if they `must` not go on. Blocks the fibre.
    pub(super) fn end(&self, must: bool) {
        if must {
            self.token.cancel();
        }
        self.running.wait();
    }
}

/// Runs each stream of a connection in a fibre.
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor(pub(super) Arc<Streams>);

/// One of the fibres, while it lives.
struct Running(Arc<Streams>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.done();
    }
}

impl<F: Future + Send + 'static> Executor<F> for StreamExecutor {
    /// # Panics
    ///
    /// If no fibre can be spawned.
    fn execute(&self, future: F) {
        self.0.running.add(1);
        let running = Running(Arc::clone(&self.0));
        let run = move || {
            let _running = running;
            let _ = to_the_end(|| block_on(future));
        };
        let spawned = Builder::new().cancel_token(&self.0.token).spawn(run);
        if let Err(error) = spawned {
            panic!("no fibre for a stream of HTTP/2: {error}");
        }
    }
}

/// Calls `f`, which a cancellation ends only after the time that it grants.
///
/// # Errors
///
/// [`Cancelled`], if that has ended it.
pub(super) fn to_the_end<T>(f: impl FnOnce() -> T) -> Result<T, Cancelled> {
    if cfg!(panic = "unwind") {
        graceful(|| cancellable(f))?
    } else {
        graceful(f)
    }
}
