//! How layers above give the processors of a cluster another way to sleep.

use super::handle::Cluster;
use crate::parker::Halt;
use crate::processor::Processor;
use crate::ready::ReadyQueue;
use std::io;
use std::sync::Arc;

/// The [`Halt`] of the caller's processor; on a thread that is no processor, of one
/// of the default cluster's, chosen by `spread`.
///
/// When the caller's cluster is first asked, all of its processors get one by `make`,
/// because later there may be no descriptors left for it. A processor that got none
/// borrows another's.
///
/// For layers above that want to hear of events: they find their own type behind the
/// trait object by downcasting it to [`std::any::Any`].
///
/// # Errors
///
/// Those of `make`, if no processor got one; and when the default cluster cannot be
/// started.
pub fn halt_of_caller(
    spread: usize,
    make: impl Fn() -> io::Result<Arc<dyn Halt>>,
) -> io::Result<Arc<dyn Halt>> {
    let processor = Processor::current();
    // SAFETY: not null means that this thread is that processor.
    match unsafe { processor.as_ref() } {
        Some(here) => halt_of(here.domain().queues(), here.index(), make),
        None => {
            let queues = Cluster::default_cluster()?.0.domain.queues();
            halt_of(queues, spread % queues.len(), make)
        }
    }
}

/// See [`halt_of_caller`].
fn halt_of(
    queues: &[Arc<ReadyQueue>],
    wanted: usize,
    make: impl Fn() -> io::Result<Arc<dyn Halt>>,
) -> io::Result<Arc<dyn Halt>> {
    let mut error = None;
    if queues[wanted].halt().is_none() {
        for queue in queues.iter().filter(|queue| queue.halt().is_none()) {
            match make() {
                Ok(halt) => {
                    queue.install_halt(halt);
                }
                Err(refused) => error = Some(refused),
            }
        }
    }
    let nearest = queues[wanted..]
        .iter()
        .chain(&queues[..wanted])
        .find_map(|queue| queue.halt());
    match nearest {
        Some(halt) => Ok(Arc::clone(halt)),
        None => Err(error.unwrap_or_else(|| io::Error::other("no processor can sleep"))),
    }
}
