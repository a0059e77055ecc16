//! Whom an idle processor helps.
//!
//! Victims are the busy processors only, the one that has been busy for the longest
//! time first (thesis section 3.2.2): it is the likeliest to have a backlog, and
//! an idle one has none. Only fibres that have not started are taken; they stay
//! with the processor that starts them.

use crate::domain::Domain;
use crate::fibre::{ControlBlock, FibreRef};
use crate::queue::Popped;

/// Takes one fibre from another processor.
pub fn steal(domain: &Domain, thief: usize) -> Option<FibreRef> {
    let mut tried = None;
    // At most one attempt per victim, in the order of their busy times.
    for _ in 1..domain.queues.len() {
        let (since, victim) = longest_busy_after(domain, thief, tried)?;
        if let Popped::Node(node) = domain.queues[victim].steal() {
            // SAFETY: ready queues hold fibres only.
            return Some(unsafe { ControlBlock::from_node(node) });
        }
        tried = Some((since, victim));
    }
    None
}

/// Whether another processor has a fibre that `thief` could take.
pub fn has_victim(domain: &Domain, thief: usize) -> bool {
    (0..domain.queues.len()).any(|index| index != thief && domain.queues[index].has_fresh())
}

/// The victim that follows `tried` in the order of (busy since, index), among those
/// that have something.
fn longest_busy_after(
    domain: &Domain,
    thief: usize,
    tried: Option<(u64, usize)>,
) -> Option<(u64, usize)> {
    (0..domain.queues.len())
        .filter(|&index| index != thief && domain.queues[index].has_fresh())
        .map(|index| (domain.tallies[index].busy_since(), index))
        .filter(|candidate| tried.is_none_or(|tried| *candidate > tried))
        .min()
}
