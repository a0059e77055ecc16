//! Where a fibre goes if its spawner names no cluster.

use super::handle::Cluster;
use crate::config::environment;
use crate::processor::Processor;
use crate::spawn::task::SpawnTarget;
use std::io;

/// Runs `f` with the caller's cluster, if the caller is a fibre, or else with the
/// default one.
pub(crate) fn caller_place<R>(f: impl FnOnce(&SpawnTarget<'_>) -> R) -> R {
    match try_caller_place(f) {
        Ok(value) => value,
        Err(error) => {
            environment::end_on_nonsense(&error);
            panic!("cannot start the default cluster: {error}")
        }
    }
}

/// [`caller_place`] for callers that can report an error.
#[inline]
pub(crate) fn try_caller_place<R>(f: impl FnOnce(&SpawnTarget<'_>) -> R) -> io::Result<R> {
    let processor = Processor::current();
    // SAFETY: this thread is that processor, if it is one. `f` may drop what blocks, but does not
    // use the processor after that.
    match unsafe { processor.as_ref() } {
        Some(here) => Ok(f(&SpawnTarget::Here(here))),
        None => Ok(f(&SpawnTarget::There(
            &Cluster::default_cluster()?.0.domain,
        ))),
    }
}
