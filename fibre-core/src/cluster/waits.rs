//! What all fibres wait for, seen from outside.
//!
//! Each fibre notes in its block what it waits for (see `fibre/errand.rs`). Those who look let one
//! cluster after the other stand still for a moment: a processor that does so runs none of its fibres, so its roster
//! may be read by others, and what its fibres wait for is still there. It stays so for as
//! long as somebody wants a standstill, whatever the other processors do, and by the lock of
//! the rosters if the cluster is about to end; so what is known of a cluster
//! does not depend on the one processor in it that computes for ever.

use super::handle::Cluster;
use super::pause::Paused;
use super::register;
use super::running::Running;
use super::thread;
use crate::awaited::{Awaited, WaitKind};
use crate::fibre::{ControlBlock, Roster};
use crate::fork::is_forked_child;
use crate::orders::Standing;
use crate::park::running;
use crate::wait_times;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long processors have to finish what they run.
const PATIENCE: Duration = Duration::from_millis(20);

/// A fibre that waits. See [`waits`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Its number.
    pub id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The name of its cluster.
    pub cluster: String,
    /// What it waits for. It may have been let go on, and not have run since.
    pub awaited: Awaited,
    /// Since when, to the millisecond: in builds with debug assertions, or with `FIBRE_WAIT_TIMES=1`.
    pub since: Option<Instant>,
    /// The number of the fibre or thread ([`caller_id`](crate::caller_id)) that has what it waits for,
    /// and so will have to let it go on: for mutexes, in builds with debug assertions; for joins, the fibre
    /// that is joined. `None` if that is not known.
    pub owner: Option<u64>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fibre {}", self.id)?;
        if let Some(name) = &self.name {
            write!(f, " ({name:?})")?;
        }
        write!(
            f,
            " of cluster {:?} waits for {}",
            self.cluster, self.awaited
        )?;
        if let Some(since) = self.since {
            write!(f, ", for {:.3} s", since.elapsed().as_secs_f64())?;
        }
        match self.owner {
            Some(owner) => write!(f, ", up to {owner}"),
            None => Ok(()),
        }
    }
}

/// All fibres of the process that wait, of all clusters, and what for: to find out why a program does not
/// go on. One cluster after the other stands still for it, for some tens of microseconds, or for 20 ms if some fibre
/// in it does not switch; then those that have started on its processor are not among the fibres. Neither are
/// the caller, plain threads that wait, and fibres of clusters whose last handle has been dropped.
///
/// Blocks the fibre, or the thread if the caller is not a fibre. Where no thread can be started to look for a
/// fibre, and in a forked child, nobody is seen.
///
/// ```
/// use fibre_core::{JoinHandle, WaitKind, spawn, sleep, waits};
/// use std::time::Duration;
///
/// let sleeper = spawn(|| sleep(Duration::from_secs(3600)));
/// let number = spawn(move || sleeper.join());
/// while waits().iter().all(|waiting| waiting.awaited.kind() != WaitKind::Join) {
///     sleep(Duration::from_millis(1));
/// }
/// for waiting in waits() {
///     println!("{waiting}"); // fibre 2 of cluster "fibre" waits for the end of the fibre at 0x…, up to 1
/// }
/// ```
#[must_use]
pub fn waits() -> Vec<Waiting> {
    if is_forked_child() {
        return Vec::new();
    }
    let Some(caller) = running() else {
        return collect();
    };
    // SAFETY: the running fibre's own block.
    let caller = unsafe { caller.as_ref() }.id();
    // A fibre cannot let its own processor stand still, so a thread looks while it waits.
    let found = thread::aside("fibre-waits", Awaited::placeless(WaitKind::Other), collect);
    let mut found = found.unwrap_or_default();
    found.retain(|waiting| waiting.id != caller);
    found
}

/// [`waits`] on a thread that is no fibre.
fn collect() -> Vec<Waiting> {
    /// Held by who looks: those who look again and again, in several threads, would else let
    /// clusters stand still all the time.
    static LOOKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = LOOKING.lock();
    let mut found = Vec::new();
    // One after the other: none stands still because another one does not.
    for running in register::all() {
        let _paused = Paused::begin(Cluster(Arc::clone(&running)));
        let deadline = Instant::now() + PATIENCE;
        let all = running.wait_for(Standing::Still, Some(deadline));
        running.look(all, &mut found);
    }
    found
}

impl Running {
    /// Adds those of its fibres that wait, while somebody wants it to stand still; `all` of
    /// its processors do.
    fn look(&self, all: bool, found: &mut Vec<Waiting>) {
        let domain = &self.domain;
        let rosters = domain.rosters.lock();
        let moving = domain.orders.not_at(Standing::Still);
        for (processor, roster) in rosters.iter() {
            if !moving.contains(processor) {
                // SAFETY: the processor stands still, and takes its roster out of here before
                // it ends.
                self.read(unsafe { roster.get() }, true, found);
            }
        }
        drop(rosters);
        if let Some(shared) = &domain.roster {
            self.read(&shared.lock(), all && moving.is_empty(), found);
        }
    }

    /// Adds those in a roster that wait. If none of them runs meanwhile (`still`), their owners are
    /// known, too.
    fn read(&self, roster: &Roster, still: bool, found: &mut Vec<Waiting>) {
        roster.for_each(|hook| {
            // SAFETY: fibres in the roster have their runtime's reference.
            let block = unsafe { ControlBlock::from_hook(hook).as_ref() };
            let Some(awaited) = block.errand.awaited() else {
                return;
            };
            let owner = awaited.owner().filter(|_| still).map(|number| {
                // SAFETY: the fibre is in its wait and does not run, so its object is there, and
                // the number is what `Awaited::owned` asks for.
                unsafe { AtomicU64::from_ptr(number.cast_mut()) }.load(Ordering::Relaxed)
            });
            found.push(Waiting {
                id: block.id(),
                name: block.attributes.name().map(str::to_owned),
                cluster: self.domain.settings.name.clone(),
                awaited,
                since: wait_times::moment(block.state.since()),
                owner: owner.filter(|number| *number != 0),
            });
        });
    }
}
