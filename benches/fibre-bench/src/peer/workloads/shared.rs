//! `shared`: the contest of `contend` for read-write locks; a share of the turns write.

use super::contend::{self, Contention};
use crate::measure::Sample;
use crate::peer::blocking::{Blocking, SharedLock};
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Shares {
    /// The contest.
    pub(crate) contest: Contention,
    /// How many turns of a hundred write.
    pub(crate) writes: u64,
}

impl Parameters for Shares {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            contest: Contention::read(arguments)?,
            writes: arguments.number("writes", 10)?,
        })
    }
}

/// The contest of fibres.
pub(crate) fn blocking<B: Blocking, L: SharedLock>(asked: Shares) -> anyhow::Result<Sample> {
    contend::fibres::<B, L>(asked.contest, L::free, move |contender, lock| {
        if contender.draws(asked.writes) {
            lock.writing(|| contender.work_held());
        } else {
            lock.reading(|| contender.work_held());
        }
    })
}
