//! The ready queue of a processor, and the access to it.
//!
//! * `queue`: the ready queue: local, inbox, shared;
//! * `enqueue`: its pushes and pops if fibres have priorities or move;
//! * `recording`: the event trace of what is made ready;
//! * `rescue`: how another processor takes fibres that a stuck one keeps;
//! * `owner_gate`: access to data that belongs to one processor.

mod enqueue;
pub mod owner_gate;
mod queue;
mod recording;
mod rescue;

pub(crate) use queue::{Owner, ReadyQueue};
pub(crate) use recording::{record_here, record_mark_here, record_ready_here};
