//! The workloads about mutexes, for every kind of mutex that a runtime has: the
//! usual one, and its kinds as variants.

use super::contend::{self, Contention};
use super::lock;
use crate::measure::Sample;
use crate::peer::blocking::{Blocking, Lock};
use crate::peer::protocol::{Basic, Workload};

/// A kind of mutex, and what can be measured of it.
pub(crate) struct Kind {
    /// What the variant is called.
    name: &'static str,
    /// Locking it alone.
    alone: fn(Basic) -> anyhow::Result<Sample>,
    /// Contending for it.
    contend: fn(Contention) -> anyhow::Result<Sample>,
}

impl Kind {
    /// The mutex `L` of the runtime `B`.
    pub(crate) const fn of<B: Blocking, L: Lock>(name: &'static str) -> Self {
        Self {
            name,
            alone: lock::blocking::<B, L>,
            contend: contend::blocking::<B, L>,
        }
    }
}

/// The workloads of the runtime `B` with its usual mutex `L` and with these kinds.
pub(crate) fn workloads<B: Blocking, L: Lock>(kinds: &[Kind]) -> [Workload; 2] {
    let alone = Workload::new("mutex", lock::blocking::<B, L>);
    let contend = Workload::new("contend", contend::blocking::<B, L>);
    kinds
        .iter()
        .fold([alone, contend], |[alone, contend], kind| {
            [
                alone.variant(kind.name, kind.alone),
                contend.variant(kind.name, kind.contend),
            ]
        })
}
