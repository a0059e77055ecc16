//! What all fibres wait for, seen from outside.
//!
//! Each fibre notes in its block what it waits for (see `fibre/wait_slot.rs`). The reporter makes
//! one cluster after the other stand still for a moment, and looks at its fibres (see `look`).

use super::look::{self, FibrePhase, LookResult};
use super::register;
use super::running::Running;
use super::stop::StuckProcessor;
use super::thread;
use crate::fibre::ControlBlock;
use crate::processor::with_running;
use crate::sys::fork::is_forked_child;
use crate::wait::since;
use crate::wait::wait_object::{WaitKind, WaitObject};
use std::fmt;
use std::time::Instant;

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

impl Waiting {
    /// A fibre that waits; what else there is to say of it is not known. For layers above.
    #[doc(hidden)]
    #[must_use]
    pub fn new(id: u64, cluster: String, awaited: WaitObject) -> Self {
        Self {
            id,
            name: None,
            cluster,
            awaited,
            since: None,
            owner: None,
            stuck: None,
        }
    }
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
/// plain threads that wait, nor the caller, nor fibres of clusters without a handle.
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
#[doc(alias("jstack", "deadlock"))]
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
    let _one_at_a_time = look::LOOKING.lock();
    let mut found = Vec::new();
    // One after the other: no cluster stands still because another one does not.
    for running in register::all() {
        running.stand_and_look(None, |look_result| {
            found.extend(running.waiting(look_result))
        });
    }
    found
}

impl Running {
    /// Describes what was seen, if it waits or does not switch.
    fn waiting(&self, look_result: LookResult<'_>) -> Option<Waiting> {
        let (block, phase) = match look_result {
            LookResult::Fibre { block, phase } => (block, phase),
            LookResult::Unseen(stuck) => return Some(self.unseen(stuck)),
            LookResult::Missed => return None,
        };
        let awaited = block.wait_slot.awaited();
        let place =
            |stuck: StuckProcessor| WaitObject::numbered(WaitKind::Processor, stuck.index as u32);
        let since = since::moment(block.state.since()).filter(|_| awaited.is_some());
        let (awaited, since, stuck) = match phase {
            FibrePhase::Still | FibrePhase::Loose => (awaited?, since, None),
            FibrePhase::Runs(stuck) => {
                let running = WaitObject::placeless(WaitKind::Running);
                (running, None, Some(stuck))
            }
            FibrePhase::Behind { stuck, .. } => {
                (awaited.unwrap_or(place(stuck)), since, Some(stuck))
            }
        };
        Some(Waiting {
            id: block.id(),
            name: phase.name_of(block),
            cluster: self.domain.settings.name.clone(),
            awaited,
            since,
            owner: phase.owner_of(block),
            stuck,
        })
    }

    /// Describes a processor that runs a fibre that is not known.
    fn unseen(&self, stuck: StuckProcessor) -> Waiting {
        Waiting {
            id: 0,
            name: None,
            cluster: self.domain.settings.name.clone(),
            awaited: WaitObject::placeless(WaitKind::Running),
            since: None,
            owner: None,
            stuck: Some(stuck),
        }
    }
}
