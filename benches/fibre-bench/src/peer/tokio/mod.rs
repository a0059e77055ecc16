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
mod beside;
mod blocked;
mod contend;
mod fanout;
mod pingpong;
mod scheduler;
mod served;
mod skynet;
mod sleep;
mod spawning;
mod stream;
mod tasks;
mod wait;
mod yielding;

use std::io;

use ::tokio::runtime::Runtime;

use super::protocol::Workload;
use super::workloads::unit;
use scheduler::run;
pub use scheduler::{Choice, Fitting, WorkStealing};

/// Starts the scheduler that fits so many processors, for libraries over tokio.
///
/// # Errors
///
/// When a thread or the poller cannot be had.
pub fn start(processors: usize) -> io::Result<Runtime> {
    Fitting::start(processors)
}

/// What this peer is measured with.
pub fn workloads<C: Choice>() -> Vec<Workload> {
    let by_hand = vec![
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
        Workload::new("shared", fanout::shares::<C>),
        Workload::new("watch", fanout::watched::<C>),
        Workload::new("broadcast", fanout::broadcasts::<C>),
        Workload::new("work", unit::plain),
        Workload::new("blocked", blocked::tasks::<C>),
        Workload::new("skynet", skynet::tasks::<C>),
        Workload::new("sleep", sleep::task::<C>),
        Workload::new("beside", beside::plain::<C>).variant("blocking", beside::blocking::<C>),
        Workload::new("big", actors::big::<C>),
        Workload::new("bang", actors::bang::<C>),
        Workload::new("echoing", served::echoing::<C>),
        Workload::new("counting", served::counting::<C>),
    ];
    // The programs over actors that are not written by hand.
    let others = tasks::workloads::<C>().into_iter();
    let others = others.filter(|other| by_hand.iter().all(|own| own.name() != other.name()));
    let others: Vec<_> = others.collect();
    by_hand.into_iter().chain(others).collect()
}
