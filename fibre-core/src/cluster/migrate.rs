//! Moving the calling fibre to another cluster.
//!
//! The fibre is counted into its new cluster while it still runs in the old one, so neither
//! can end in between; it leaves its stack, and only then the old processor puts it into the
//! new cluster's staging queue. Whoever takes it out makes it at home there.

use super::handle::Cluster;
use crate::context::Action;
use crate::park;
use crate::processor::Processor;
use crate::spawn::SpawnError;
use std::io;
use std::sync::Arc;

/// Moves the calling fibre to `cluster`, where it goes on; it keeps its name and number.
/// Blocks the fibre until a processor there takes it. Does nothing if it is there already.
///
/// Source: thesis, section 3.1.
///
/// ```
/// // SAFETY: the fibre below keeps nothing that belongs to a kernel thread.
/// let [here, there] = [0, 1].map(|_| unsafe {
///     fibre_core::Cluster::builder().processors(1).move_started_fibres().build().unwrap()
/// });
/// let destination = there.clone();
/// let fibre = here.spawn(move || fibre_core::migrate_to(&destination).is_ok());
/// assert!(fibre.join().unwrap());
/// here.stop();
/// there.stop();
/// ```
///
/// # Errors
///
/// [`Unsupported`](io::ErrorKind::Unsupported) if the caller is no fibre, or may not move:
/// both clusters must have been built with
/// [`move_started_fibres`](crate::ClusterBuilder::move_started_fibres), the fibre must not have
/// been told to stay on a processor, and nothing on its kernel thread may be unwinding. Also if
/// `cluster` has been stopped, or has as many fibres as it may have.
pub fn migrate_to(cluster: &Cluster) -> io::Result<()> {
    let target = &cluster.0.domain;
    // SAFETY: not null means that this thread is that processor.
    let Some(here) = (unsafe { Processor::current().as_ref() }) else {
        return Err(refused("only a fibre can move to another cluster"));
    };
    let Some(fibre) = here.running() else {
        return Err(refused("only a fibre can move to another cluster"));
    };
    if Arc::ptr_eq(here.domain(), target) {
        return Ok(());
    }
    if !(here.domain().settings.moves_started && target.settings.moves_started) {
        return Err(refused("both clusters must move started fibres"));
    }
    // SAFETY: the running fibre's own block.
    let block = unsafe { fibre.as_ref() };
    if !block.link().may_move() || crate::current::panicking() {
        return Err(refused("the fibre must stay on its processor"));
    }
    if let Some(limit) = &target.limit {
        limit.admit().map_err(SpawnError::TooManyFibres)?;
    }
    if target.register_foreign().is_none() {
        if let Some(limit) = &target.limit {
            limit.leave();
        }
        return Err(SpawnError::Stopped.into());
    }
    here.set_destination(Arc::clone(target));
    park::suspend(block, Action::Migrate);
    Ok(())
}

/// The error of a fibre that may not move.
fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}
