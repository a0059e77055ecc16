//! Everything a dump can show of fibres and processors.
//!
//! A [`FibreVisitor`] of a layer above sees one cluster after the other, each while it stands
//! still. Meanwhile the visitor must neither wait nor allocate: a thread of the program may hold
//! the allocator's lock for ever, and the cluster would stand still for ever, too. So it takes the
//! memory it needs when it is told of the cluster, which is before.
//!
//! No code here waits for a lock without a limit.

use super::look::{self, FibrePhase, LookResult};
use super::register;
use super::running::Running;
use super::stop::StuckProcessor;
use crate::fibre::labels::LabelLine;
use crate::fibre::{ControlBlock, FibreReport, Hook};
use crate::wait::since;
use crate::wait::wait_object::WaitObject;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A cluster, before it stands still.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ClusterView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its fibres, those included that have not started.
    pub live: usize,
    /// Its processors that are not spare ones.
    pub processors: usize,
    /// Whether a deadline is armed that makes some fibre go on.
    pub timed: bool,
    /// If its fibres have thread-locals of their own: how many thread blocks they have begun with,
    /// and how many of these had been there before.
    pub thread_blocks: Option<[u64; 2]>,
}

/// A processor of a cluster.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ProcessorView {
    /// Its number in its cluster.
    pub index: usize,
    /// The kernel's number of its thread; zero if that is not known.
    pub thread: i32,
    /// Whether it is a spare one.
    pub spare: bool,
    /// Whether it has something to run.
    pub busy: bool,
}

/// A fibre that has started, and has not ended.
#[derive(Debug, Clone, Copy)]
pub struct FibreView<'a> {
    /// The fibre's block.
    block: &'a ControlBlock,
    /// How far the looker may rely on what it sees there.
    phase: FibrePhase,
    /// The processor that it goes to when woken.
    home: Option<usize>,
}

impl<'a> FibreView<'a> {
    /// The view of a fibre in this phase, which goes to the processor `home` when woken.
    pub(super) fn new(block: &'a ControlBlock, phase: FibrePhase, home: Option<usize>) -> Self {
        Self { block, phase, home }
    }
}

impl FibreView<'_> {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.block.id()
    }

    /// Calls `f` with its name. Allocates nothing.
    pub fn with_name(&self, f: &mut dyn FnMut(Option<&str>)) {
        if self.phase != FibrePhase::Still {
            return f(self.block.attributes.name());
        }
        let mut tell = |fibre_report: FibreReport<'_>| f(fibre_report.name);
        // SAFETY: it does not run, so it does not end.
        unsafe { (self.block.body().describe)(NonNull::from(self.block), &mut tell) };
    }

    /// Calls `f` with its labels, unless it has none, or changes them at the moment. Allocates
    /// nothing.
    pub fn with_labels(&self, f: &mut dyn FnMut(LabelLine<'_>)) {
        self.block.attributes.with_labels(f);
    }

    /// The number of the fibre that has spawned it, if one has and that is noted (`FIBRE_PARENTS`).
    #[must_use]
    pub fn parent(&self) -> Option<u64> {
        self.block.attributes.parent()
    }

    /// Calls `f` with the groups that it is cancelled with, the innermost first, until that has
    /// seen enough: with the address of each, and whether it has been cancelled. Allocates nothing.
    pub fn with_cancel_groups(&self, f: &mut dyn FnMut(usize, bool) -> bool) {
        if let Some(group) = self.block.attributes.group() {
            group.show_chain(f);
        }
    }

    /// What it waits for; `None`: it could run.
    #[must_use]
    pub fn awaited(&self) -> Option<WaitObject> {
        self.block.wait_slot.awaited()
    }

    /// The number of the fibre or thread that has what it waits for, or keeps its processor.
    #[must_use]
    pub fn owner(&self) -> Option<u64> {
        self.phase.owner_of(self.block)
    }

    /// Since when it waits, if that is noted.
    #[must_use]
    pub fn since(&self) -> Option<Instant> {
        since::moment(self.block.state.since()).filter(|_| self.awaited().is_some())
    }

    /// A number of the wait: that of another wait of the same fibre differs, if it has begun a
    /// millisecond later. Zero: times are not noted.
    #[must_use]
    pub fn wait_number(&self) -> u32 {
        self.block.state.since()
    }

    /// The processor that it has last begun to run on.
    #[must_use]
    pub fn processor(&self) -> Option<usize> {
        match self.phase {
            FibrePhase::Runs(stuck) | FibrePhase::Behind { stuck, .. } => Some(stuck.index),
            FibrePhase::Still | FibrePhase::Loose => self.home,
        }
    }

    /// The processor that it runs on, without switching.
    #[must_use]
    pub fn runs(&self) -> Option<StuckProcessor> {
        match self.phase {
            FibrePhase::Runs(stuck) => Some(stuck),
            _ => None,
        }
    }

    /// The processor where another fibre runs without switching, and keeps this one waiting.
    #[must_use]
    pub fn behind(&self) -> Option<StuckProcessor> {
        match self.phase {
            FibrePhase::Behind { stuck, .. } => Some(stuck),
            _ => None,
        }
    }

    /// Whether it does not run during the look, so that its stack stays as it is.
    #[must_use]
    pub fn is_still(&self) -> bool {
        self.phase == FibrePhase::Still
    }

    /// Where it has left its stack: the stack pointer, where its registers RBX and RBP lie, and the
    /// address where it goes on. A hint unless it [is still](Self::is_still); `None`: it runs.
    #[must_use]
    pub fn left(&self) -> Option<[usize; 2]> {
        // SAFETY: in a fibre list, and so started; fibres in fibre lists do not end during a look.
        unsafe { self.block.left() }
    }

    /// The address of its control block.
    #[must_use]
    pub fn block(&self) -> usize {
        ptr::from_ref(self.block).addr()
    }

    /// The address in its control block behind the hook of ready queues.
    #[must_use]
    pub fn behind_queue_hook(&self) -> usize {
        self.block() + size_of_val(self.block.link())
    }

    /// Where the two words are that its block hangs in a fibre list by. They name other fibres, and
    /// nobody wakes these by them.
    #[must_use]
    pub fn hook_words(&self) -> [usize; 2] {
        Hook::words(ControlBlock::hook(NonNull::from(self.block)).as_ptr())
    }

    /// Whether it is an activity.
    #[must_use]
    pub fn is_activity(&self) -> bool {
        self.block.body().is_activity
    }

    /// The address where its stack begins, the highest one.
    #[must_use]
    pub fn root(&self) -> usize {
        // SAFETY: as above.
        unsafe { self.block.root() }
    }
}

/// What is shown all fibres.
pub trait FibreVisitor {
    /// A cluster, which is about to stand still. The inspector may allocate.
    fn cluster(&mut self, cluster: ClusterView<'_>);
    /// A processor of the cluster; before it stands still. The inspector may allocate.
    fn processor(&mut self, processor: ProcessorView);
    /// A fibre of the cluster, which stands still.
    fn fibre(&mut self, fibre: FibreView<'_>);
    /// A processor that runs a fibre which is not known, and does not stand still.
    fn unseen(&mut self, processor: StuckProcessor);
    /// The fibres of a processor are not shown, as its thread was not on a CPU for so long.
    fn missed(&mut self);
    /// Something could not be read, because it was locked for too long. The inspector may
    /// allocate.
    fn unread(&mut self, what: &str);
}

/// Shows an inspector all clusters and fibres of the process. Blocks the thread, for as long as
/// `limit` where something is locked that it needs. Not to be called by a fibre, which could not
/// let its own processor stand still.
pub fn inspect(inspector: &mut dyn FibreVisitor, limit: Duration) {
    let Some(_one_at_a_time) = look::LOOKING.try_lock_for(limit) else {
        return inspector.unread("all fibres, as another thread looks at them");
    };
    let Some(all) = register::try_all(limit) else {
        return inspector.unread("the list of all clusters, which is locked");
    };
    for running in all {
        running.show(inspector, limit);
    }
}

impl Running {
    /// Shows an inspector the cluster.
    fn show(self: &Arc<Self>, inspector: &mut dyn FibreVisitor, limit: Duration) {
        let domain = &self.domain;
        let regular = domain.regular();
        inspector.cluster(ClusterView {
            name: &domain.settings.name,
            live: usize::try_from(domain.live()).unwrap_or(usize::MAX),
            processors: regular,
            timed: (0..domain.processors()).any(|index| domain.timers(index).next().is_some()),
            thread_blocks: domain
                .settings
                .own_thread_locals
                .then(|| domain.thread_blocks()),
        });
        for index in 0..domain.processors() {
            let stats = domain.stats(index);
            inspector.processor(ProcessorView {
                index,
                thread: stats.thread().unwrap_or_default(),
                spare: index >= regular,
                busy: stats.works_since().is_some(),
            });
        }
        let seen = self.stand_and_look(Some(limit), |look_result| match look_result {
            LookResult::Fibre { block, phase } => {
                let home = domain.index_of(block.home());
                inspector.fibre(FibreView::new(block, phase, home));
            }
            LookResult::Unseen(stuck) => inspector.unseen(stuck),
            LookResult::Missed => inspector.missed(),
        });
        if !seen {
            inspector.unread("the fibres of a cluster, whose processors come or go");
        }
    }
}
