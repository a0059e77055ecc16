//! `watch` and `broadcast`: what some send concerns all that follow.
//!
//! In `watch`, senders count a number up, and give way after each change; an operation is a
//! change. A round ends when all followers have seen the last one. In `broadcast`, one sends as
//! many values as there is room for, again and again, when all followers have had those before;
//! an operation is a value that one follower has received. tokio's channels of these names do
//! the same.

use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// How many values a follower of `broadcast` may be behind.
pub(crate) const ROOM: u64 = 16;

/// What the workloads can be told.
#[derive(Clone, Copy)]
pub(crate) struct Fanout {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// Fibres that receive.
    pub(crate) followers: u64,
    /// Fibres that change what `watch` has.
    pub(crate) senders: u64,
}

impl Parameters for Fanout {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            followers: arguments.count("followers", 100)?,
            senders: arguments.count("senders", 1)?,
        })
    }
}
