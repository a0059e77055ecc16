//! The settings of a cluster to come.

use super::monitor;
use super::room;
use super::running::Running;
use crate::config::environment;
use crate::config::policy::StealOrder;
use crate::config::settings::default_processors;
use crate::config::settings::{MOST_NICE, MOST_PROCESSORS, MOST_SPARE, Settings, variable};
use crate::fibre::HookList;
use crate::fibre::director::Director;
use crate::fibre::switch_hooks::SwitchHooks;
use crate::processor::OVERFLOW_HOOK;
use crate::ready::record_here;
use crate::spawn::parents;
use crate::stack::{
    BlockEvent, install_overflow_report, listen_to_blocks, prepare_threads, round_size,
};
use crate::topology::{CpuSet, Pinning, Places};
use crate::trace::{self, TraceKind};
use crate::wait::since;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// How many spare processors a small machine's cluster may have, unless the user says otherwise: as
/// many as programs have threads that spin for each other.
const LEAST_SPARE: usize = 16;

/// The settings of a cluster to come. See [`Cluster::builder`](super::Cluster::builder).
#[doc(alias("Runtime", "runtime::Builder"))]
#[derive(Debug, Clone)]
pub struct ClusterBuilder {
    /// How many processors; `None` for as many as the process may use.
    processors: Option<usize>,
    /// The CPUs where they run, if anybody has said.
    pub(super) pinning: Option<Pinning>,
    /// Everything that the processors have to know.
    pub(super) settings: Settings,
    /// What it does at each switch.
    hooks: HookList,
}

impl ClusterBuilder {
    /// The defaults, as the environment has them.
    pub(super) fn from_environment() -> Self {
        Self {
            processors: None,
            pinning: variable("FIBRE_PIN"),
            settings: Settings::from_environment(),
            hooks: HookList::default(),
        }
    }

    /// How many processors. Default: min(CPUs in the affinity mask, cgroup quota), or
    /// the environment variable `FIBRE_PROCESSORS`. Zero counts as one; more than 65534 are
    /// an error of [`build`](Self::build).
    #[doc(alias("GOMAXPROCS", "worker_threads", "num_threads"))]
    #[must_use]
    pub fn processors(mut self, count: usize) -> Self {
        self.processors = Some(count.max(1));
        self
    }

    /// How many processors there may be once some have been added to the running cluster.
    /// Default: 64, or the environment variable `FIBRE_MAX_PROCESSORS`; and never less
    /// than the cluster begins with. Each costs about two kilobytes; more than 65534 are an error
    /// of [`build`](Self::build). Unless [`max_spare_processors`](Self::max_spare_processors) are
    /// chosen, too, each processor that is added takes the room of a spare one.
    #[must_use]
    pub fn max_processors(mut self, count: usize) -> Self {
        self.settings.max_processors = count;
        self
    }

    /// How many spare processors there may be: threads that are started when all processors have
    /// been kept for some 20 ms by fibres that do not switch, while others are ready. Such fibres
    /// spin for each other, say, or block their threads in calls that this runtime does not know. A
    /// spare processor runs what may move: all fibres in clusters that move started ones, and
    /// elsewhere those that have not started, which are at home there from then on. Once the others
    /// switch again the spare ones take nothing more that others could run, and sleep when they
    /// have nothing of their own left.
    ///
    /// Their threads stay until the cluster ends. Each takes 2 MiB of addresses, some pages of
    /// memory and, once the cluster does I/O, 2 descriptors; they are started when they are needed,
    /// one at first, and as many more as there are each time that they do not suffice.
    ///
    /// Zero for none; more than 1024 are an error of [`build`](Self::build). Default: the
    /// environment variable `FIBRE_MAX_SPARE`; or else as many as
    /// [`max_processors`](Self::max_processors) has room for, and at least 16. By that default they
    /// share the room with processors that are added later, so a cluster that has grown to its
    /// `max_processors` may have none; a number that is chosen, here or there, has room besides.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let cluster = fibre::Cluster::builder().processors(1).max_spare_processors(1).build()?;
    /// let come = Arc::new(AtomicUsize::new(0));
    /// let meet = |come: Arc<AtomicUsize>| move || {
    ///     come.fetch_add(1, Ordering::Relaxed);
    ///     while come.load(Ordering::Relaxed) < 2 {
    ///         std::hint::spin_loop(); // the other one runs on a spare processor
    ///     }
    /// };
    /// let both = [0, 1].map(|_| cluster.spawn(meet(Arc::clone(&come))));
    /// both.into_iter().for_each(|fibre| fibre.join().unwrap());
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn max_spare_processors(mut self, count: usize) -> Self {
        self.settings.max_spare = Some(count);
        self
    }

    /// The name of the processors' threads; a number is appended. Default: "fibre". The kernel
    /// shows 15 bytes of it.
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
    /// let cluster = fibre::Cluster::builder().max_fibres(1).build()?;
    /// let only = cluster.spawn(|| fibre::Builder::new().spawn(|| ()).map(drop));
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

    /// Whether the memory of each stack goes back to the kernel as soon as its fibre has ended, so
    /// that no later fibre can read what it left there, keys and passwords included. Costs a system
    /// call and page faults for each fibre. Default: no, or the environment variable
    /// `FIBRE_WIPE_STACKS` (0 or 1).
    #[must_use]
    pub fn wipe_stacks(mut self, wipe: bool) -> Self {
        self.settings.wipe_stacks = wipe;
        self
    }

    /// Lets started fibres move between the processors of the cluster, and to other clusters that
    /// allow it: yielding and woken fibres may then be stolen, too, and
    /// [`migrate_to`](crate::migrate_to) works. Default: off; a fibre stays on the kernel thread
    /// that it has started on.
    ///
    /// The environment variable `FIBRE_MOVES` says more about clusters that this, or
    /// [`own_thread_locals`](Self::own_thread_locals), was called for, and about no others: `never`
    /// undoes it, `forced` is [`force_migration`](Self::force_migration). Default: `stolen`.
    ///
    /// # Safety
    ///
    /// No fibre of this cluster keeps a reference to, or a value tied to, a kernel
    /// thread across a call that may block or yield: borrows of `thread_local!`
    /// values, `std::sync` guards, anything that is not `Send`. This binds all
    /// code that runs in it, dependencies included.
    #[must_use]
    pub unsafe fn move_started_fibres(mut self) -> Self {
        self.settings.let_started_move();
        self
    }

    /// Gives each fibre thread-locals of its own, and lets started fibres move, as
    /// [`move_started_fibres`](Self::move_started_fibres) does. For the language, std and code that
    /// knows threads by thread-locals, keys, `errno` and mutexes, a fibre of this cluster is a
    /// thread: it finds its values of `thread_local!` wherever it goes on, nobody else finds them,
    /// and their destructors run when it ends, before a join returns. Default: off, or the
    /// environment variable `FIBRE_THREAD_LOCALS` (`own`), for all clusters.
    ///
    /// Each stack then has a thread control block with static thread-locals, which the C library
    /// makes: the first fibre on a stack costs a kernel thread's start and end, later ones renew
    /// the block. It takes some 5 KiB of the stack. A switch costs two writes of the thread
    /// pointer more.
    ///
    /// Fibres of such a cluster migrate to others of this kind only.
    ///
    /// Source: decision 0106.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
    ///
    /// // SAFETY: nothing below ties memory to a kernel thread by a system call.
    /// let cluster = unsafe { fibre::Cluster::builder().own_thread_locals() }.build()?;
    /// let fibres: Vec<_> = (1..=3)
    ///     .map(|number| {
    ///         cluster.spawn(move || {
    ///             REQUEST.set(number);
    ///             fibre::yield_now(); // the others set theirs, and may be on this kernel thread
    ///             assert_eq!(REQUEST.get(), number);
    ///         })
    ///     })
    ///     .collect();
    /// fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`build`](Self::build) fails with `Unsupported`, and says why, where this cannot be: on CPUs
    /// other than x86-64, without FSGSBASE, without glibc as a shared library, and on valgrind.
    ///
    /// # Safety
    ///
    /// No code that runs in this cluster, dependencies included, ties memory to a kernel thread by
    /// a system call across a call that may block or yield: a signal stack (`sigaltstack`), a
    /// robust mutex that other processes wait for, an area for restartable sequences. Nor does it
    /// keep one of these values across such a call: the kernel's number of the thread, its signal
    /// mask, its credentials.
    #[must_use]
    pub unsafe fn own_thread_locals(mut self) -> Self {
        self.settings.own_thread_locals = true;
        self.settings.let_started_move();
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

    /// By how much the nice value of the processors' threads is above that of the thread that
    /// starts the cluster: the higher, the more the kernel prefers other threads, of this process
    /// and of others. So work of one cluster makes way for that of another on the same CPUs. What
    /// the fibres start inherits it, threads and programs. At most 19, which leaves such threads
    /// what nobody else wants; more counts as 19. Default: 0.
    ///
    /// ```
    /// let cluster = fibre::Cluster::builder().processors(1).nice(10).build()?;
    /// assert_eq!(cluster.spawn(|| 6 * 7).join().unwrap(), 42);
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn nice(mut self, more: u8) -> Self {
        self.settings.nice = more.min(MOST_NICE);
        self
    }

    /// Says that its fibres compute for long.
    #[must_use]
    pub(super) fn computes(mut self) -> Self {
        self.settings.computes = true;
        self
    }

    /// Says that fibres block its processors for long, and that others are added to help: so even
    /// an only processor keeps no fibre to itself that may move.
    #[must_use]
    pub(crate) fn blocks(mut self) -> Self {
        self.settings.blocks = true;
        self
    }

    /// Calls these hooks at each switch of a fibre in this cluster, inside of those that were given
    /// before, and of those of the process ([`install_switch_hooks`](crate::install_switch_hooks)).
    /// Default: none, which costs nothing. [`SwitchHooks`] says what they may do.
    #[must_use]
    pub fn switch_hooks(mut self, hooks: impl SwitchHooks) -> Self {
        self.hooks.push(Arc::new(hooks));
        self
    }

    /// Makes a director decide for the cluster, which gets one processor, no spare ones, and fibres
    /// that share the thread-locals of that. For layers above that test programs.
    #[must_use]
    pub fn directed(mut self, director: Arc<dyn Director>) -> Self {
        self.hooks.set_director(director);
        self.processors = Some(1);
        self.settings.max_processors = 1;
        self.settings.max_spare = Some(0);
        self.settings.spin = Duration::ZERO;
        self.settings.own_thread_locals = false;
        self.settings.moves_started = false;
        self.settings.force_migration = false;
        self
    }

    /// Changes the value that a layer above chooses for the cluster. It means nothing here and is
    /// returned by [`io_config`](crate::internal::io_config); zero at first. For layers above.
    #[must_use]
    pub fn io_config(mut self, change: impl FnOnce(u32) -> u32) -> Self {
        self.settings.above = change(self.settings.above);
        self
    }

    /// Starts all processors, or none.
    pub(super) fn start(self) -> io::Result<Running> {
        room::look(0)?;
        environment::check()?;
        install_overflow_report(OVERFLOW_HOOK);
        // A caller that waits later must not panic about it.
        since::ask();
        parents::ask();
        trace::begin();
        let count = self.processors.unwrap_or_else(default_processors);
        let mut settings = self.settings;
        if settings.own_thread_locals {
            if trace::is_on() {
                listen_to_blocks(record_block);
            }
            prepare_threads()?;
        }
        settings.max_processors = settings.max_processors.max(count);
        refuse_too_many(settings.max_processors)?;
        // Spare processors that were asked for have room of their own.
        let others = settings
            .max_spare
            .map_or(count, |_| settings.max_processors);
        let room = settings.max_processors - count;
        let spare = settings.max_spare.unwrap_or_else(|| default_spare(room));
        refuse_too_many_spares(spare)?;
        settings.max_spare = Some(spare);
        settings.slots = MOST_PROCESSORS.min(others + spare);
        room::look(settings.max_processors.max(settings.slots))?;
        let places = Places::new(&self.pinning.unwrap_or_default(), CpuSet::of_program)?;
        if settings.steal_order == StealOrder::Topology && settings.neighbours.is_none() {
            let victims = places.victims(settings.max_processors);
            settings.neighbours = victims.map(Into::into);
        }
        settings.places = places.clone();
        let hooks = self.hooks.after_those_of_process();
        let running = Running::new(settings, places, hooks);
        if running.domain.settings.steal_order == StealOrder::Hierarchical {
            // No thief shall have to read what the machine is.
            let _ = running.domain.processor_tree();
        }
        running.cluster_threads.add_processors(count)?;
        monitor::watch(&running.cluster_threads);
        Ok(running)
    }
}

/// Refuses a cluster that has room for more processors than there can be.
fn refuse_too_many(processors: usize) -> io::Result<()> {
    if processors <= MOST_PROCESSORS {
        return Ok(());
    }
    let words = format!("a cluster has at most {MOST_PROCESSORS} processors, not {processors}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

/// Refuses a cluster that wants more spare processors than there can be.
fn refuse_too_many_spares(spare: usize) -> io::Result<()> {
    if spare <= MOST_SPARE {
        return Ok(());
    }
    let words = format!("a cluster has at most {MOST_SPARE} spare processors, not {spare}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

/// How many spare processors a cluster with room for so many more may have, unless the user says
/// otherwise: all of the room, as that is there anyway.
fn default_spare(room: usize) -> usize {
    room.clamp(LEAST_SPARE, MOST_SPARE)
}

/// Records that a thread block has been born, or that some have been ended.
fn record_block(change: BlockEvent) {
    match change {
        BlockEvent::Born => record_here(TraceKind::BlockBorn, 0),
        BlockEvent::Ended(count) => record_here(TraceKind::BlocksEnded, count),
    }
}
