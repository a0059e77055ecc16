//! Looking at all started fibres of a cluster from outside.
//!
//! The looker makes the cluster stand still for a moment. A processor that stands still runs none
//! of its fibres, so others may read its fibre list, and what its fibres wait for still exists. It
//! stays still as long as a caller wants a standstill, whatever the other processors do; if the
//! cluster is about to end, the lock of the fibre lists keeps it. So one processor that computes
//! for ever does not hide the others of its cluster.
//!
//! The looker sees the fibres of such a processor without its help ([`crate::sync::readers`]): its
//! fibre may switch at any time, and others may run meanwhile. None of them is freed meanwhile. But
//! what they wait for may be, so the looker does not ask for its owner.

use super::handle::Cluster;
use super::pause::Paused;
use super::running::Running;
use super::stop::StuckProcessor;
use crate::fibre::{ControlBlock, FibreList, FibreListRef, FibreRef};
use crate::scheduler::control::ProcessorPhase;
use crate::sync::pause;
use crate::sync::readers::Readers;
use crate::sync::thread_mutex::{Mutex, MutexGuard};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long processors have to finish what they run; and, unless the looker has a limit, how long
/// it keeps trying to look at those that do not.
const TIMEOUT: Duration = Duration::from_millis(20);

/// The sleep between two such looks.
const BETWEEN: Duration = Duration::from_micros(50);

/// Held by the looker: several threads that look again and again would else let clusters stand
/// still all the time.
pub(super) static LOOKING: Mutex<()> = Mutex::new(());

/// What a looker sees.
#[derive(Debug, Clone, Copy)]
pub(super) enum LookResult<'a> {
    /// A fibre that has started, and has not ended.
    Fibre {
        /// The fibre's block.
        block: &'a ControlBlock,
        /// How far the looker may rely on what it sees there.
        phase: FibrePhase,
    },
    /// A processor that runs a fibre, which is not known.
    Unseen(StuckProcessor),
    /// A processor that runs none, and yet was not reached: its thread has not been on a CPU. Its
    /// fibres are not shown.
    Missed,
}

/// How far a looker may rely on what it sees of a fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FibrePhase {
    /// It does not run, and does not begin to during the look.
    Still,
    /// It may begin to run at any time: it moves, and some processor of its cluster goes on.
    Loose,
    /// It runs on a processor that does not switch, or did a moment ago.
    Runs(StuckProcessor),
    /// It stays on a processor that does not switch.
    Behind {
        /// The processor.
        stuck: StuckProcessor,
        /// The number of the fibre that runs there.
        keeper: u64,
    },
}

impl FibrePhase {
    /// The fibre's name, the current one if it does not run.
    pub(super) fn name_of(self, block: &ControlBlock) -> Option<String> {
        match self {
            // SAFETY: it is in its wait and does not run, so it does not end.
            Self::Still => unsafe { block.current_name() },
            _ => block.attributes.name().map(str::to_owned),
        }
    }

    /// The number of the fibre or thread that has what the fibre waits for, or keeps its processor.
    pub(super) fn owner_of(self, block: &ControlBlock) -> Option<u64> {
        let awaited = block.wait_slot.awaited();
        match self {
            Self::Still => {
                let place = awaited?.owner()?;
                // SAFETY: the fibre is in its wait and does not run, so its object is there, and
                // the number is what `WaitObject::owned` asks for.
                let owner = unsafe { AtomicU64::from_ptr(place.cast_mut()) };
                Some(owner.load(Ordering::Relaxed)).filter(|number| *number != 0)
            }
            Self::Behind { keeper, .. } => awaited.is_none().then_some(keeper),
            Self::Loose | Self::Runs(_) => None,
        }
    }
}

/// The address of a fibre, and the processor that does not switch, where the fibre runs.
type Runs = (*const ControlBlock, StuckProcessor);

/// The fibre lists of a cluster's processors. No processor ends while they are locked.
type FibreLists<'a> = MutexGuard<'a, Vec<(usize, FibreListRef)>>;

impl Running {
    /// Makes the cluster stand still, shows the fibres of all processors to `visit`, and lets them
    /// go on. `false`: nothing was seen, as the list of the fibre lists was locked for so long;
    /// without a `limit` this waits for it. Blocks the thread.
    pub(super) fn stand_and_look(
        self: &Arc<Self>,
        limit: Option<Duration>,
        mut visit: impl FnMut(LookResult<'_>),
    ) -> bool {
        let _paused = Paused::begin(Cluster(Arc::clone(self)));
        let deadline = Instant::now() + TIMEOUT;
        let all = self.wait_for(ProcessorPhase::Still, Some(deadline));
        // Processors do not end meanwhile.
        let fibre_lists = &self.domain.fibre_lists.own;
        let Some(fibre_lists) = limit.map_or_else(
            || Some(fibre_lists.lock()),
            |limit| fibre_lists.try_lock_for(limit),
        ) else {
            return false;
        };
        self.look(all, limit.unwrap_or(TIMEOUT), &fibre_lists, &mut visit);
        true
    }

    /// Shows the fibres of the cluster, while a caller wants it to stand still; `all`: all of its
    /// processors stand still. Tries for so long to reach those that neither do nor run a fibre.
    fn look(
        &self,
        all: bool,
        timeout: Duration,
        fibre_lists: &FibreLists<'_>,
        visit: &mut impl FnMut(LookResult<'_>),
    ) {
        let domain = &self.domain;
        let timeout = Instant::now() + timeout;
        for (processor, fibre_list) in fibre_lists.iter() {
            while !self.look_at(*processor, fibre_list, Instant::now() >= timeout, visit) {
                pause(BETWEEN);
            }
        }
        if let Some(shared) = &domain.fibre_lists.shared {
            let fibre_list = shared.lock();
            let moving = domain.control.not_at(ProcessorPhase::Still);
            let stuck = fibre_lists
                .iter()
                .filter(|(processor, _)| moving.contains(processor));
            let mut stuck: Vec<_> = stuck
                .map(|(processor, fibre_list)| (fibre_list.last(), self.stuck(*processor)))
                .collect();
            stuck.retain(|(running, _)| !running.is_null());
            Self::read(&fibre_list, all && moving.is_empty(), &stuck, visit);
        }
    }

    /// Shows the fibres of one processor. `false`: the processor is between two fibres, and will
    /// soon stand still or run the next one; unless this is the `last` look.
    fn look_at(
        &self,
        processor: usize,
        fibre_list: &FibreListRef,
        last: bool,
        visit: &mut impl FnMut(LookResult<'_>),
    ) -> bool {
        let domain = &self.domain;
        if !domain
            .control
            .not_at(ProcessorPhase::Still)
            .contains(&processor)
        {
            // SAFETY: the processor stands still.
            Self::read(unsafe { fibre_list.get() }, true, &[], visit);
            return true;
        }
        let between = fibre_list.last().is_null();
        let stuck = self.stuck(processor);
        if domain.fibre_lists.shared.is_some() && !between {
            // Found with the fibres of the fibre list that all processors share.
            return true;
        }
        let look = |running: FibreRef| {
            // SAFETY: the processor changes nothing during a look.
            Self::read_stuck(unsafe { fibre_list.get() }, running, stuck, visit);
        };
        if domain.fibre_lists.shared.is_none() && fibre_list.look(look).is_some() {
            return true;
        }
        let can_look = domain.fibre_lists.shared.is_some() || Readers::can_look();
        let over = last || !can_look;
        if over && domain.stats(processor).works_since().is_some() {
            visit(LookResult::Unseen(stuck));
        } else if over && domain.fibre_lists.shared.is_none() {
            visit(LookResult::Missed);
        }
        over
    }

    /// Describes a processor that does not stand still.
    pub(super) fn stuck(&self, index: usize) -> StuckProcessor {
        let thread = self.domain.stats(index).thread().unwrap_or_default();
        StuckProcessor { index, thread }
    }

    /// Shows the fibres in a fibre list, and which of them run on `stuck` processors, or did a
    /// moment ago. `still`: none of them runs meanwhile.
    fn read(
        fibre_list: &FibreList,
        still: bool,
        stuck: &[Runs],
        visit: &mut impl FnMut(LookResult<'_>),
    ) {
        fibre_list.for_each_fibre(|_, block| {
            let runs = stuck.iter().find(|(running, _)| ptr::eq(block, *running));
            let phase = match runs {
                Some((_, stuck)) => FibrePhase::Runs(*stuck),
                None if still => FibrePhase::Still,
                None => FibrePhase::Loose,
            };
            visit(LookResult::Fibre { block, phase });
        });
    }

    /// Shows all in the fibre list of a processor that does not switch, where `running` runs, or
    /// has run a moment ago.
    fn read_stuck(
        fibre_list: &FibreList,
        running: FibreRef,
        stuck: StuckProcessor,
        visit: &mut impl FnMut(LookResult<'_>),
    ) {
        // SAFETY: in the fibre list, too, as it has started and not been buried.
        let keeper = unsafe { running.as_ref() }.id();
        fibre_list.for_each_fibre(|_, block| {
            let phase = if ptr::eq(block, running.as_ptr()) {
                FibrePhase::Runs(stuck)
            } else {
                FibrePhase::Behind { stuck, keeper }
            };
            visit(LookResult::Fibre { block, phase });
        });
    }
}
