//! How processors without work sleep, and how work wakes them.
//!
//! * `parker`: how one processor sleeps, and is woken;
//! * `set`: the processors of a cluster that sleep;
//! * `watchers`: which of them look after the others;
//! * `shared_queues`: the queues that all processors of a cluster take from, and which of them a
//!   push wakes;
//! * `wake_batch`: wake-ups delayed until all fibres of a batch are queued;
//! * `armed`: the steps of going to sleep;
//! * `monitor_call`: how a processor wakes the monitor;
//! * `observer_call`: how the monitor wakes an observer of a layer above.

pub mod armed;
pub mod monitor_call;
#[cfg(not(loom))]
pub(crate) mod observer_call;
pub mod parker;
pub mod set;
pub mod shared_queues;
#[cfg(not(loom))]
pub(crate) mod wake_batch;
pub mod watchers;
