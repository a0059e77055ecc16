//! The workloads about mutexes, for every kind of mutex that a runtime has: the
//! usual one, and its kinds as variants.

use super::contend::{self, Contention};
use super::lock::{self, Alone};
use super::pingpong;
use super::wait::{self, Waits};
use crate::measure::Sample;
use crate::peer::blocking::{Blocking, Lock, Turns};
use crate::peer::protocol::{Basic, Workload};

/// A kind of mutex, and what can be measured of it.
pub(crate) struct Kind {
    /// What the variant is called.
    name: &'static str,
    /// Locking it alone.
    alone: fn(Alone) -> anyhow::Result<Sample>,
    /// Contending for it.
    contend: fn(Contention) -> anyhow::Result<Sample>,
    /// Taking turns over it and a condition variable, if that is measured.
    turns: Option<fn(Basic) -> anyhow::Result<Sample>>,
    /// Waiting for it while others contend.
    wait: fn(Waits) -> anyhow::Result<Sample>,
}

impl Kind {
    /// The mutex `L` of the runtime `B`.
    pub(crate) const fn of<B: Blocking, L: Lock>(name: &'static str) -> Self {
        Self {
            name,
            alone: lock::blocking::<B, L>,
            contend: contend::blocking::<B, L>,
            turns: None,
            wait: wait::blocking::<B, L>,
        }
    }

    /// This kind with turns over it.
    pub(crate) const fn turns<B: Blocking, T: Turns>(self) -> Self {
        Self {
            turns: Some(pingpong::turns::<B, T>),
            ..self
        }
    }
}

/// The workloads of the runtime `B` with its usual mutex `L`, turns over it, and these kinds.
pub(crate) fn workloads<B: Blocking, L: Lock, T: Turns>(kinds: &[Kind]) -> [Workload; 4] {
    let usual = [
        Workload::new("mutex", lock::blocking::<B, L>),
        Workload::new("contend", contend::blocking::<B, L>),
        Workload::new("wait", wait::blocking::<B, L>),
        Workload::new("condvar", pingpong::turns::<B, T>),
    ];
    kinds
        .iter()
        .fold(usual, |[alone, contend, wait, turns], kind| {
            [
                alone.variant(kind.name, kind.alone),
                contend.variant(kind.name, kind.contend),
                wait.variant(kind.name, kind.wait),
                match kind.turns {
                    Some(run) => turns.variant(kind.name, run),
                    None => turns,
                },
            ]
        })
}
