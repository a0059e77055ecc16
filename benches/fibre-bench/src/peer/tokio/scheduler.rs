//! How tokio's scheduler is chosen and started.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// How a scheduler is chosen.
pub trait Choice: 'static {
    /// Starts one for so many processors.
    ///
    /// # Errors
    ///
    /// When a thread or the poller cannot be had.
    fn start(processors: usize) -> io::Result<Runtime>;
}

/// The single-threaded scheduler for one processor, else the work-stealing one.
pub struct Fitting;

/// The work-stealing scheduler for any number of processors.
pub struct WorkStealing;

impl Choice for Fitting {
    fn start(processors: usize) -> io::Result<Runtime> {
        match processors {
            1 => Builder::new_current_thread().enable_all().build(),
            _ => WorkStealing::start(processors),
        }
    }
}

impl Choice for WorkStealing {
    fn start(processors: usize) -> io::Result<Runtime> {
        Builder::new_multi_thread()
            .worker_threads(processors)
            .enable_all()
            .build()
    }
}

/// Runs `body` as a task.
pub(super) fn run<T: Send + 'static>(
    runtime: &Runtime,
    body: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    runtime.block_on(runtime.spawn(body))?
}
