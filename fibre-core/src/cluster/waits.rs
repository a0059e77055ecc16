//! What all fibres wait for, seen from outside.
//!
//! Each fibre notes in its block what it waits for (see `fibre/wait_slot.rs`). A reporter lets one
//! cluster after the other stand still for a moment. A processor that stands still runs none of its
//! fibres, so others may read its roster, and what its fibres wait for still exists. It stays so
//! for as long as a caller wants a standstill, whatever the other processors do, and by the lock of
//! the rosters if the cluster is about to end. So what is known of a cluster does not depend on the
//! one processor in it that computes for ever.
//!
//! The fibres of that one are looked at without its help, see [`crate::sync::glances`]: its fibre
//! may switch at any time, and others run while they are looked at. None of them is freed
//! meanwhile; but what they wait for may be, so the reporter does not ask for its owner.

use super::handle::Cluster;
use super::pause::Paused;
use super::register;
use super::running::Running;
use super::stop::StuckProcessor;
use super::thread;
use crate::fibre::{ControlBlock, FibreRef, Roster, RosterRef};
use crate::processor::with_running;
use crate::scheduler::control::ProcessorPhase;
use crate::sync::glances::Glances;
use crate::sys::fork::is_forked_child;
use crate::wait::since;
use crate::wait::wait_object::{WaitKind, WaitObject};
use parking_lot::Mutex;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long processors have to finish what they run; and how long the reporter tries in vain to
/// look at those that do not.
const PATIENCE: Duration = Duration::from_millis(20);

/// The sleep between two such looks.
const BETWEEN: Duration = Duration::from_micros(50);

/// A fibre that waits, or does not switch. See [`waits`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Its number. Zero: it is not known which fibre it is, nor whether there is one; but the
    /// processor is [`stuck`](Self::stuck).
    pub id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The name of its cluster.
    pub cluster: String,
    /// What it waits for. It may have been resumed, and not have run since.
    pub awaited: WaitObject,
    /// Since when it waits, to the millisecond: in builds with debug assertions, or with
    /// `FIBRE_WAIT_TIMES=1`.
    pub since: Option<Instant>,
    /// The number of the fibre or thread ([`caller_id`](crate::internal::caller_id)) that has what
    /// it waits for, and so will have to let it go on: for mutexes, in builds with debug
    /// assertions; for joins, the fibre that is joined; for a [processor](WaitKind::Processor), the
    /// fibre that runs there. `None` if that is not known.
    pub owner: Option<u64>,
    /// Its processor, if that has run the same fibre while [`waits`] waited for it: 20 ms or more.
    /// So nothing else happens there: fibres that have been resumed do not run, and limits of waits
    /// do not end them. If this fibre is the one that runs, what it waits for is of the kind
    /// [`Running`](WaitKind::Running).
    pub stuck: Option<StuckProcessor>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.id == 0 {
            f.write_str("something")?;
        } else {
            write!(f, "fibre {}", self.id)?;
        }
        if let Some(name) = &self.name {
            write!(f, " ({name:?})")?;
        }
        write!(f, " of cluster {:?} ", self.cluster)?;
        match (self.stuck, self.awaited.kind()) {
            (Some(stuck), WaitKind::Running) => write!(f, "does not let go of {stuck}")?,
            (Some(stuck), WaitKind::Processor) => write!(f, "waits for {stuck}")?,
            (Some(stuck), _) => write!(f, "waits for {}, and then for {stuck}", self.awaited)?,
            (None, _) => write!(f, "waits for {}", self.awaited)?,
        }
        if let Some(since) = self.since {
            write!(f, ", for {:.3} s", since.elapsed().as_secs_f64())?;
        }
        match self.owner {
            Some(owner) if self.awaited.kind() == WaitKind::Join => write!(f, ", which is {owner}"),
            Some(owner) => write!(f, ", held by {owner}"),
            None => Ok(()),
        }
    }
}

/// All fibres of the process that wait, of all clusters, and what they wait for: to find out why a
/// program does not go on. One cluster after the other stands still for it, for some tens of
/// microseconds, or for 20 ms, rarely 40, if some fibre in it does not switch. The list has no
/// plain threads that wait, nor the caller, nor fibres of clusters whose last handle has been
/// dropped.
///
/// A fibre that does not switch is in the list, though it does not wait for anything that fibre
/// knows of: it computes, or blocks the thread of its processor, in a system call or by a
/// `std::sync::Mutex` that another fibre of the same processor holds. So are all fibres that have
/// started on its processor, unless the cluster's started fibres move. They have
/// [`Waiting::stuck`], which others have not. Such a processor may only have been kept from its CPU
/// for so long. On kernels without `membarrier` the list has such a processor, but not its fibres.
///
/// Blocks the fibre, or the thread if the caller is not a fibre. The list is empty in a forked
/// child, and where no thread can be started to look for a fibre.
///
/// ```
/// use fibre::{JoinHandle, WaitKind, spawn, sleep, waits};
/// use std::time::Duration;
///
/// let sleeper = spawn(|| sleep(Duration::from_secs(3600)));
/// let number = spawn(move || sleeper.join());
/// while waits().iter().all(|waiting| waiting.awaited.kind() != WaitKind::Join) {
///     sleep(Duration::from_millis(1));
/// }
/// for waiting in waits() {
///     // fibre 2 of cluster "fibre" waits for the end of the fibre at 0x…, which is 1
///     println!("{waiting}");
/// }
/// ```
#[must_use]
pub fn waits() -> Vec<Waiting> {
    if is_forked_child() {
        return Vec::new();
    }
    let Some(caller) = with_running(ControlBlock::id) else {
        return collect();
    };
    // A fibre cannot let its own processor stand still, so a thread looks while it waits.
    let found = thread::aside(
        "fibre-waits",
        WaitObject::placeless(WaitKind::Other),
        collect,
    );
    let mut found = found.unwrap_or_default();
    found.retain(|waiting| waiting.id != caller);
    found
}

/// [`waits`] on a thread that is no fibre.
fn collect() -> Vec<Waiting> {
    /// Held by the reporter: several threads that look again and again would else let clusters
    /// stand still all the time.
    static LOOKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = LOOKING.lock();
    let mut found = Vec::new();
    // One after the other: no cluster stands still because another one does not.
    for running in register::all() {
        let _paused = Paused::begin(Cluster(Arc::clone(&running)));
        let deadline = Instant::now() + PATIENCE;
        let all = running.wait_for(ProcessorPhase::Still, Some(deadline));
        running.look(all, &mut found);
    }
    found
}

/// The address of a fibre, and the processor that does not switch, where the fibre runs.
type Runs = (*const ControlBlock, StuckProcessor);

impl Running {
    /// Adds the fibres of the cluster that wait, while a caller wants it to stand still, and those
    /// that do not switch; `all`: all of its processors stand still.
    fn look(&self, all: bool, found: &mut Vec<Waiting>) {
        let domain = &self.domain;
        let patience = Instant::now() + PATIENCE;
        // Processors do not end meanwhile.
        let rosters = domain.rosters.lock();
        for (processor, roster) in rosters.iter() {
            while !self.look_at(*processor, roster, Instant::now() >= patience, found) {
                std::thread::sleep(BETWEEN);
            }
        }
        if let Some(shared) = &domain.roster {
            let roster = shared.lock();
            let moving = domain.orders.not_at(ProcessorPhase::Still);
            let stuck = rosters
                .iter()
                .filter(|(processor, _)| moving.contains(processor));
            let mut stuck: Vec<_> = stuck
                .map(|(processor, roster)| (roster.last(), self.stuck(*processor)))
                .collect();
            stuck.retain(|(running, _)| !running.is_null());
            self.read(&roster, all && moving.is_empty(), &stuck, found);
        }
    }

    /// Adds the fibres of one processor. `false`: the processor is between two fibres, and will
    /// soon stand still or run the next one; unless this is the `last` look.
    fn look_at(
        &self,
        processor: usize,
        roster: &RosterRef,
        last: bool,
        found: &mut Vec<Waiting>,
    ) -> bool {
        let domain = &self.domain;
        if !domain
            .orders
            .not_at(ProcessorPhase::Still)
            .contains(&processor)
        {
            // SAFETY: the processor stands still.
            self.read(unsafe { roster.get() }, true, &[], found);
            return true;
        }
        let between = roster.last().is_null();
        let stuck = self.stuck(processor);
        if domain.roster.is_some() && !between {
            // Found with the fibres of the roster that all processors share.
            return true;
        }
        let look = |running: FibreRef| {
            // SAFETY: the processor changes nothing during a look.
            self.read_stuck(unsafe { roster.get() }, running, stuck, found);
        };
        if domain.roster.is_none() && roster.look(look).is_some() {
            return true;
        }
        let can_look = domain.roster.is_some() || Glances::can_look();
        let over = last || !can_look;
        if over && domain.tally(processor).works_since().is_some() {
            found.push(Waiting {
                id: 0,
                name: None,
                cluster: domain.settings.name.clone(),
                awaited: WaitObject::placeless(WaitKind::Running),
                since: None,
                owner: None,
                stuck: Some(stuck),
            });
        }
        over
    }

    /// Describes a processor that does not stand still.
    fn stuck(&self, index: usize) -> StuckProcessor {
        let thread = self.domain.tally(index).thread().unwrap_or_default();
        StuckProcessor { index, thread }
    }

    /// Adds the fibres in a roster that wait, and those that run on `stuck` processors, or did a
    /// moment ago. If none of them runs meanwhile (`still`), their owners are known, too.
    fn read(&self, roster: &Roster, still: bool, stuck: &[Runs], found: &mut Vec<Waiting>) {
        roster.for_each_fibre(|_, block| {
            if let Some((_, stuck)) = stuck.iter().find(|(running, _)| ptr::eq(block, *running)) {
                found.push(self.runs(block, *stuck));
                return;
            }
            let Some(awaited) = block.errand.awaited() else {
                return;
            };
            let owner = awaited.owner().filter(|_| still).map(|number| {
                // SAFETY: the fibre is in its wait and does not run, so its object is there, and
                // the number is what `WaitObject::owned` asks for.
                unsafe { AtomicU64::from_ptr(number.cast_mut()) }.load(Ordering::Relaxed)
            });
            let name = if still {
                // SAFETY: it is in its wait and does not run, so it does not end.
                unsafe { block.current_name() }
            } else {
                block.attributes.name().map(str::to_owned)
            };
            found.push(Waiting {
                name,
                owner: owner.filter(|number| *number != 0),
                ..self.waiting(block, awaited)
            });
        });
    }

    /// Adds all in the roster of a processor that does not switch, where `running` runs, or has run
    /// a moment ago.
    fn read_stuck(
        &self,
        roster: &Roster,
        running: FibreRef,
        stuck: StuckProcessor,
        found: &mut Vec<Waiting>,
    ) {
        let place = WaitObject::numbered(WaitKind::Processor, stuck.index as u32);
        roster.for_each_fibre(|_, block| {
            if ptr::eq(block, running.as_ptr()) {
                found.push(self.runs(block, stuck));
                return;
            }
            let awaited = block.errand.awaited();
            let waiting = self.waiting(block, awaited.unwrap_or(place));
            // SAFETY: in the roster, too, as it has started and not been buried.
            let keeper = unsafe { running.as_ref() }.id();
            found.push(Waiting {
                since: waiting.since.filter(|_| awaited.is_some()),
                owner: awaited.is_none().then_some(keeper),
                stuck: Some(stuck),
                ..waiting
            });
        });
    }

    /// Describes a fibre that runs on a processor that does not switch, or did a moment ago.
    fn runs(&self, block: &ControlBlock, stuck: StuckProcessor) -> Waiting {
        Waiting {
            since: None,
            stuck: Some(stuck),
            ..self.waiting(block, WaitObject::placeless(WaitKind::Running))
        }
    }

    /// Describes a fibre that waits for this.
    fn waiting(&self, block: &ControlBlock, awaited: WaitObject) -> Waiting {
        Waiting {
            id: block.id(),
            name: block.attributes.name().map(str::to_owned),
            cluster: self.domain.settings.name.clone(),
            awaited,
            since: since::moment(block.state.since()),
            owner: None,
            stuck: None,
        }
    }
}
