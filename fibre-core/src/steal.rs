//! Whom an idle processor helps.
//!
//! Victims are the busy processors only, the one that has been busy for the longest
//! time first (thesis section 3.2.2): it is the likeliest to have a backlog, and
//! an idle one has none. One that is just being woken has: what it is woken for. A thief
//! that took that would draw all fibres which are spawned at about the same time to its
//! own processor, where they then stay; so it leaves it alone, unless the owner is so
//! long in coming that the thief has lost its patience. Only fibres that have not
//! started are taken; they stay with the processor that starts them.

use crate::domain::Domain;
use crate::fibre::{ControlBlock, FibreRef};
use crate::queue::Popped;

/// Takes one fibre from another processor; an `impatient` thief also from one that is
/// being woken.
pub fn steal(domain: &Domain, thief: usize, impatient: bool) -> Option<FibreRef> {
    let mut tried = None;
    // At most one attempt per victim, in the order of their busy times.
    for _ in 1..domain.processors() {
        let (since, victim) = longest_busy_after(domain, thief, impatient, tried)?;
        if let Popped::Node(node) = domain.queues()[victim].steal() {
            // SAFETY: ready queues hold fibres only.
            return Some(unsafe { ControlBlock::from_node(node) });
        }
        tried = Some((since, victim));
    }
    None
}

/// Whether another processor has a fibre that `thief` could take.
pub fn has_victim(domain: &Domain, thief: usize) -> bool {
    (0..domain.processors()).any(|index| index != thief && domain.queues()[index].has_fresh())
}

/// The victim that follows `tried` in the order of (busy since, index), among those
/// that have something.
fn longest_busy_after(
    domain: &Domain,
    thief: usize,
    impatient: bool,
    tried: Option<(u64, usize)>,
) -> Option<(u64, usize)> {
    let waking = impatient.then_some(u64::MAX);
    (0..domain.processors())
        .filter(|&index| index != thief && domain.queues()[index].has_fresh())
        .filter_map(|index| Some((domain.tally(index).busy_since().or(waking)?, index)))
        .filter(|candidate| tried.is_none_or(|tried| *candidate > tried))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Link;
    use crate::settings::Settings;
    use std::ptr::NonNull;

    /// Three processors, of which the second and the third have a fibre each.
    fn domain(second: &Link, third: &Link) -> Domain {
        let domain = Domain::new(3, Settings::from_environment());
        for (queue, link) in domain.queues()[1..].iter().zip([second, third]) {
            // SAFETY: the link is in no queue, and is taken out before it goes.
            unsafe { queue.push_fresh(NonNull::from(link)) };
        }
        domain
    }

    /// What the first processor takes.
    fn taken(domain: &Domain, impatient: bool) -> Option<NonNull<Link>> {
        steal(domain, 0, impatient).map(ControlBlock::node)
    }

    #[test]
    fn the_longest_busy_is_helped_first() {
        let (second, third) = (Link::new(), Link::new());
        let domain = domain(&second, &third);
        domain.tally(1).set_busy_since(20);
        domain.tally(2).set_busy_since(10);
        assert_eq!(taken(&domain, false), Some(NonNull::from(&third)));
        assert_eq!(taken(&domain, false), Some(NonNull::from(&second)));
        assert_eq!(taken(&domain, true), None);
    }

    #[test]
    fn who_is_being_woken_keeps_its_work() {
        let (second, third) = (Link::new(), Link::new());
        let domain = domain(&second, &third);
        domain.tally(1).set_busy_since(20);
        assert_eq!(taken(&domain, false), Some(NonNull::from(&second)));
        assert_eq!(taken(&domain, false), None, "the third is not awake yet");
        assert_eq!(taken(&domain, true), Some(NonNull::from(&third)));
    }
}
