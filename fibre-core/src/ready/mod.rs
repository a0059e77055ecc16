//! The ready queue of a processor, and the access to it.
//!
//! * `queue`: the ready queue: local, inbox, shared;
//! * `enqueue`: its pushes and pops where fibres have priorities or move;
//! * `recording`: the event trace of what is made ready;
//! * `rescue`: how another processor takes what a stuck one keeps;
//! * `owner_gate`: access to what belongs to a processor alone.

mod enqueue;
pub mod owner_gate;
mod queue;
mod recording;
mod rescue;

pub(crate) use queue::{Owner, ReadyQueue};
pub(crate) use recording::{record_mark_here, record_ready_here};
