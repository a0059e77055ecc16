//! The next processor by number, in a ring that begins behind the thief.

use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use crate::scheduler::steal::{StealMode, Thief};

/// Takes from the next processor that has something to steal.
pub(in crate::scheduler::steal) fn steal(
    thief: &Thief,
    domain: &Domain,
    mode: StealMode,
) -> Option<Runnable> {
    steal_from(thief, domain, mode, thief.index + 1)
}

/// Takes from the processor `start`, counted round, or the first one after it that has something to
/// steal.
pub(super) fn steal_from(
    thief: &Thief,
    domain: &Domain,
    mode: StealMode,
    start: usize,
) -> Option<Runnable> {
    let processors = domain.processors();
    let start = start % processors;
    (start..processors)
        .chain(0..start)
        .find_map(|victim| thief.try_victim(domain, mode, victim))
}
