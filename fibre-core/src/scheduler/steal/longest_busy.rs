//! The default order: the processor that has been busy for the longest time comes first.
//!
//! Source: thesis, section 3.2.2.

use super::{StealMode, Thief, busy_since};
use crate::queue::Runnable;
use crate::scheduler::domain::Domain;

/// Takes from the processors with something to steal, in the order of their busy times.
#[inline]
pub(super) fn steal(thief: &Thief, domain: &Domain, mode: StealMode) -> Option<Runnable> {
    let mut tried = None;
    for _ in 1..domain.processors() {
        let (since, victim) = longest_busy_after(thief, domain, mode, tried)?;
        let stolen = thief.take_from(domain, victim);
        if stolen.is_some() {
            return stolen;
        }
        tried = Some((since, victim));
    }
    None
}

/// The victim that follows `tried` in the order of (busy since, index), among those that have
/// something to steal.
fn longest_busy_after(
    thief: &Thief,
    domain: &Domain,
    mode: StealMode,
    tried: Option<(u64, usize)>,
) -> Option<(u64, usize)> {
    (0..domain.processors())
        .filter(|&index| index != thief.index && domain.queues()[index].has_shared())
        .filter_map(|index| Some((busy_since(domain, index, mode)?, index)))
        .filter(|candidate| tried.is_none_or(|tried| *candidate > tried))
        .min()
}
