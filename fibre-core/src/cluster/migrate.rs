//! Moving the calling fibre to another cluster.
//!
//! The fibre is counted into its new cluster while it still runs in the old one, so neither can end
//! in between. It leaves its stack, and only then does the old processor put it into the new
//! cluster's staging queue. The processor that takes it out becomes its home.
//!
//! A *visit* is a move with a guaranteed way back: the fibre's own cluster keeps counting it, so
//! that the cluster does not end meanwhile, and takes it back even when it is closed to others.

use super::handle::Cluster;
use crate::park;
use crate::processor::{Processor, with_running};
use crate::scheduler::activity::ActivityBlock;
use crate::scheduler::domain::Domain;
use crate::spawn::task::SpawnError;
use crate::stack::context::Action;
use crate::sys::current::panicking;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Moves the calling fibre to `cluster`, where it goes on; it keeps its name and number.
/// Blocks the fibre until a processor there takes it. Does nothing if it is there already.
///
/// Source: thesis, section 3.1.
///
/// ```
/// // SAFETY: the fibre below keeps nothing that belongs to a kernel thread.
/// let [here, there] = [0, 1].map(|_| unsafe {
///     fibre::Cluster::builder().processors(1).move_started_fibres().build().unwrap()
/// });
/// let destination = there.clone();
/// let fibre = here.spawn(move || fibre::migrate_to(&destination).is_ok());
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
    if Arc::ptr_eq(&own_cluster()?, target) {
        return Ok(());
    }
    may_travel(target)?;
    admit(target)?;
    travel(target, false);
    Ok(())
}

/// Takes the calling fibre to `cluster`, unless it is there already, calls `f` there, and takes it
/// back, whatever has become of its own cluster, which goes on counting it. `arriving` is called
/// before it leaves, when it has been counted there.
///
/// # Errors
///
/// As [`migrate_to`], with `f` not called.
pub(crate) fn visit<R>(
    cluster: &Cluster,
    arriving: impl FnOnce(),
    f: impl FnOnce() -> R,
) -> io::Result<R> {
    let (home, target) = (own_cluster()?, &cluster.0.domain);
    if Arc::ptr_eq(&home, target) {
        return Ok(f());
    }
    may_travel(target)?;
    admit(target)?;
    arriving();
    travel(target, true);
    let result = catch_unwind(AssertUnwindSafe(f));
    while may_travel(&home).is_err() {
        // Another fibre unwinds on this thread: the caller asks on another thread, or later.
        park::sleep(Duration::from_micros(50));
    }
    travel(&home, false);
    result.or_else(|payload| resume_unwind(payload))
}

/// The calling fibre's cluster.
fn own_cluster() -> io::Result<Arc<Domain>> {
    let domain = Processor::here(|here| here.running().map(|_| Arc::clone(here.domain())));
    let none = || refused("only a fibre can move to another cluster");
    domain.flatten().ok_or_else(none)
}

/// Whether the calling fibre may leave for another cluster.
fn may_travel(target: &Domain) -> io::Result<()> {
    let own = |here: &Processor| {
        let settings = &here.domain().settings;
        (settings.moves_started, settings.own_thread_locals)
    };
    let (moves, is_thread) = Processor::here(own).unwrap_or_default();
    if is_thread != target.settings.own_thread_locals {
        return Err(refused(
            "one of the clusters gives fibres thread-locals of their own, and the other does not",
        ));
    }
    if !(moves && target.settings.moves_started) {
        return Err(refused("both clusters must move started fibres"));
    }
    if with_running(|fibre| fibre.link().may_move()) != Some(true) || panicking() {
        return Err(refused("the fibre must stay on its processor"));
    }
    Ok(())
}

/// Sends the calling fibre to another cluster, which counts it, and which it may leave for.
/// `stays_counted`: its own cluster goes on counting it, as it will come back.
fn travel(target: &Arc<Domain>, stays_counted: bool) {
    let left = park::leave_if(|here, _| {
        here.set_destination(Arc::clone(target), stays_counted);
        Some(Action::Migrate)
    });
    debug_assert!(left.is_some(), "only a fibre can move");
}

/// Counts a fibre that comes from another cluster.
fn admit(target: &Domain) -> io::Result<()> {
    let comes_home = with_running(|fibre| ActivityBlock::is_at_home(fibre, target));
    let limit = target.limit.as_ref().filter(|_| comes_home != Some(true));
    if let Some(limit) = limit {
        limit.admit().map_err(SpawnError::TooManyFibres)?;
    }
    if target.count_foreign() {
        return Ok(());
    }
    if let Some(limit) = limit {
        limit.leave();
    }
    Err(SpawnError::Stopped.into())
}

/// The error of a fibre that may not move.
fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}
