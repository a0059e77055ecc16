//! Any processor, and the first one after it that has something to steal: what schedulers of actors
//! and of tasks do. Source: Blumofe, Leiserson, "Scheduling multithreaded computations by work
//! stealing" (1999).

use super::ring;
use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use crate::scheduler::steal::{StealMode, Thief};

/// Takes from a random processor, or the first one after it that has something to steal.
pub(in crate::scheduler::steal) fn steal(
    thief: &Thief,
    domain: &Domain,
    mode: StealMode,
) -> Option<Runnable> {
    ring::steal_from(thief, domain, mode, thief.next_random())
}
