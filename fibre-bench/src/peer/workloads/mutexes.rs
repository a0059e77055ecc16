//! The workloads about mutexes, for every kind of mutex that a runtime has: the
//! usual one, and its kinds as variants.

use super::contend::{self, Contention};
use super::lock::{self, Alone};
use super::wait::{self, Waits};
use crate::measure::Sample;
use crate::peer::blocking::{Blocking, Lock};
use crate::peer::protocol::Workload;

/// A kind of mutex, and what can be measured of it.
pub(crate) struct Kind {
    /// What the variant is called.
    name: &'static str,
    /// Locking it alone.
    alone: fn(Alone) -> anyhow::Result<Sample>,
    /// Contending for it.
    contend: fn(Contention) -> anyhow::Result<Sample>,
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
            wait: wait::blocking::<B, L>,
        }
    }
}

/// The workloads of the runtime `B` with its usual mutex `L` and with these kinds.
pub(crate) fn workloads<B: Blocking, L: Lock>(kinds: &[Kind]) -> [Workload; 3] {
    let usual = [
        Workload::new("mutex", lock::blocking::<B, L>),
        Workload::new("contend", contend::blocking::<B, L>),
        Workload::new("wait", wait::blocking::<B, L>),
    ];
    kinds.iter().fold(usual, |[alone, contend, wait], kind| {
        [
            alone.variant(kind.name, kind.alone),
            contend.variant(kind.name, kind.contend),
            wait.variant(kind.name, kind.wait),
        ]
    })
}
