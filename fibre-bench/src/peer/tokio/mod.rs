//! tokio: tasks that are futures, so the workloads once more in async form.
//!
//! Each does step by step what its blocking form does: the same fibres, here
//! tasks, the same waits, the clock at the same place. Where tokio lacks a
//! primitive the nearest one stands for it, and the file says so.
//!
//! tokio has two schedulers. One processor gets the single-threaded one, which is
//! the cheaper of the two there, and several get the work-stealing one; or
//! every number of processors gets the work-stealing one ([`WorkStealing`]).

mod actors;
mod blocked;
mod contend;
mod pingpong;
mod skynet;
mod sleep;
mod spawning;
mod stream;
mod wait;
mod yielding;

use std::io;

use ::tokio::runtime::{Builder, Runtime};

use super::protocol::Workload;
use super::workloads::unit;

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

/// What this peer is measured with.
pub fn workloads<C: Choice>() -> Vec<Workload> {
    vec![
        Workload::new("yield", yielding::tasks::<C>),
        Workload::new("spawn", spawning::tasks::<C>),
        Workload::new("semaphore", pingpong::permits::<C>),
        Workload::new("condvar", pingpong::turns::<C>),
        Workload::new("channel", pingpong::channels::<C>),
        Workload::new("stream", stream::tasks::<C>),
        Workload::new("pipe", pingpong::pipes::<C>),
        Workload::new("mutex", contend::alone::<C>).variant("try_lock", contend::tries::<C>),
        Workload::new("contend", contend::tasks::<C>),
        Workload::new("wait", wait::tasks::<C>),
        Workload::new("work", unit::plain),
        Workload::new("blocked", blocked::tasks::<C>),
        Workload::new("skynet", skynet::tasks::<C>),
        Workload::new("sleep", sleep::task::<C>),
        Workload::new("big", actors::big::<C>),
        Workload::new("bang", actors::bang::<C>),
        Workload::new("logm", actors::logm::<C>),
    ]
}

/// Runs `body` as a task.
fn run<T: Send + 'static>(
    runtime: &Runtime,
    body: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    runtime.block_on(runtime.spawn(body))?
}
