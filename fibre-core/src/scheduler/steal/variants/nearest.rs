//! The nearest processor: by shared caches, then by memory node.
//!
//! `Topology::victims` has the order.

use super::ring;
use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use crate::scheduler::steal::{StealMode, Thief};

/// Takes from the nearest processor that has something to steal; processors of unknown distance are
/// tried in a ring.
pub(in crate::scheduler::steal) fn steal(
    thief: &Thief,
    domain: &Domain,
    mode: StealMode,
) -> Option<Runnable> {
    let known = domain.settings.neighbours.as_deref();
    let nearest = known.and_then(|known| known.get(thief.index));
    let there = |victim: &usize| *victim < domain.processors();
    let mut nearest = nearest.into_iter().flatten().copied().filter(there);
    nearest
        .find_map(|victim| thief.try_victim(domain, mode, victim))
        .or_else(|| ring::steal(thief, domain, mode))
}
