//! What a cluster is to be like.

use super::running::Running;
use crate::policy::StealOrder;
use crate::processor::INFORMANT;
use crate::settings::{Moves, Settings, variable};
use crate::stack::{install_overflow_report, round_size};
use crate::topology::{CpuSet, Pinning, Places, default_processors};
use crate::wait_times;
use std::io;
use std::num::NonZeroUsize;

/// What a cluster is to be like. See [`Cluster::builder`](super::Cluster::builder).
#[derive(Debug, Clone)]
pub struct ClusterBuilder {
    /// How many processors; `None` for as many as the process may use.
    processors: Option<usize>,
    /// Where they run.
    pub(super) pinning: Pinning,
    /// Everything that the processors have to know.
    pub(super) settings: Settings,
}

impl ClusterBuilder {
    /// The defaults, as the environment has them.
    pub(super) fn from_environment() -> Self {
        Self {
            processors: None,
            pinning: variable("FIBRE_PIN", "none, each, or sets of CPUs as in 0-3;4-7")
                .unwrap_or_default(),
            settings: Settings::from_environment(),
        }
    }

    /// How many processors. Default: min(CPUs in the affinity mask, cgroup quota), or
    /// the environment variable `FIBRE_PROCESSORS`. Zero counts as one.
    #[must_use]
    pub fn processors(mut self, count: usize) -> Self {
        self.processors = Some(count.max(1));
        self
    }

    /// How many processors there may be once some have been added to the running cluster.
    /// Default: 64, or the environment variable `FIBRE_MAX_PROCESSORS`; and never less
    /// than the cluster begins with. Each costs about a kilobyte.
    #[must_use]
    pub fn max_processors(mut self, count: usize) -> Self {
        self.settings.max_processors = count;
        self
    }

    /// The name of the processors' threads, which get a number behind it. Default:
    /// "fibre". The kernel shows 15 bytes of it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Bytes reserved for each fibre's stack, unless the fibre says otherwise; memory
    /// is committed as it is touched. Default: 256 KiB, or the environment variable
    /// `FIBRE_STACK_SIZE`. At least 32 KiB, rounded up to a power of two.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = round_size(bytes);
        self
    }

    /// The most fibres that the cluster has at once, blocked ones included; more are refused:
    /// [`Builder::spawn`](crate::Builder::spawn) returns an error of the kind
    /// [`WouldBlock`](std::io::ErrorKind::WouldBlock), and [`spawn`](crate::spawn()) panics.
    /// Protects a server's memory from its clients. Zero counts as one, `usize::MAX` is no limit.
    /// Default: no limit, or the environment variable `FIBRE_MAX_FIBRES`.
    ///
    /// ```
    /// use std::io::ErrorKind;
    ///
    /// let cluster = fibre_core::Cluster::builder().max_fibres(1).build()?;
    /// let only = cluster.spawn(|| fibre_core::Builder::new().spawn(|| ()).map(drop));
    /// let refused = only.join().unwrap().unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn max_fibres(mut self, count: usize) -> Self {
        let limit = NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
        self.settings.max_fibres = Some(limit).filter(|limit| *limit != NonZeroUsize::MAX);
        self
    }

    /// Whether the memory of each stack goes back to the kernel as soon as its fibre has ended,
    /// so that no later fibre can read what it left there, keys and passwords among it. Costs a
    /// system call and page faults for each fibre. Default: no, or the environment variable
    /// `FIBRE_WIPE_STACKS` (0 or 1).
    #[must_use]
    pub fn wipe_stacks(mut self, wipe: bool) -> Self {
        self.settings.wipe_stacks = wipe;
        self
    }

    /// Lets started fibres move between the processors of the cluster, and to other clusters
    /// that allow it: yielding and woken fibres may then be stolen, too, and
    /// [`migrate_to`](crate::migrate_to) works. Default: off; a fibre stays on the kernel
    /// thread on which it has started.
    ///
    /// The environment variable `FIBRE_MOVES` says more about clusters for which this was
    /// called, and about no others: `never` undoes it, `forced` is
    /// [`force_migration`](Self::force_migration). Default: `stolen`.
    ///
    /// # Safety
    ///
    /// No fibre of this cluster keeps a reference to, or a value tied to, a kernel
    /// thread across a call that may block or yield: borrows of `thread_local!`
    /// values, `std::sync` guards, anything that is not `Send`. This binds all
    /// code that runs in it, dependencies included.
    #[must_use]
    pub unsafe fn move_started_fibres(mut self) -> Self {
        let moves = Moves::from_environment();
        self.settings.moves_started = moves != Moves::Never;
        self.settings.force_migration |= moves == Moves::Forced;
        self
    }

    /// Makes every wake-up and yield of a started fibre land on another processor:
    /// the worst case for code that keeps the address of a thread-local.
    ///
    /// # Safety
    ///
    /// As for [`move_started_fibres`](Self::move_started_fibres), which this implies.
    #[must_use]
    pub unsafe fn force_migration(mut self) -> Self {
        self.settings.force_migration = true;
        self.settings.moves_started = true;
        self
    }

    /// Says that fibres block its processors for long, and that others are added to help: so even the only one keeps no fibre
    /// for itself that may move.
    #[must_use]
    pub(crate) fn blocks(mut self) -> Self {
        self.settings.blocks = true;
        self
    }

    /// Changes what a layer above chooses for the cluster, which means nothing here and is
    /// given back by [`choices_above`](crate::choices_above); zero at first. For layers above.
    #[must_use]
    pub fn choices_above(mut self, change: impl FnOnce(u32) -> u32) -> Self {
        self.settings.above = change(self.settings.above);
        self
    }

    /// Starts all processors, or none.
    pub(super) fn start(self) -> io::Result<Running> {
        install_overflow_report(INFORMANT);
        // Whoever waits later must not panic about it.
        wait_times::ask();
        let count = self.processors.unwrap_or_else(default_processors);
        let mut settings = self.settings;
        settings.max_processors = settings.max_processors.max(count);
        let places = Places::new(&self.pinning, CpuSet::of_program)?;
        if settings.steal_order == StealOrder::Topology && settings.neighbours.is_none() {
            let victims = places.victims(settings.max_processors);
            settings.neighbours = victims.map(Into::into);
        }
        settings.pinned_to = places.cpus();
        let running = Running::new(settings, places);
        running.add_processors(count)?;
        Ok(running)
    }
}
