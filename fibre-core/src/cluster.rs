//! Clusters: processors that share work, and their threads.
//!
//! ```text
//!  running ── stop() or last handle dropped ──► stopping ── no fibre left ──► over
//! ```
//!
//! A stopping cluster finishes what it has; fibres may still be spawned by its
//! fibres, and by others as long as some fibre is left. Then the processors end.

use crate::domain::Domain;
use crate::fibre::Attributes;
use crate::parker::Halt;
use crate::processor::{Processor, report_running};
use crate::ready::ReadyQueue;
use crate::report;
use crate::spawn::{JoinHandle, Place, launch};
use crate::stack::{AlternateStack, DEFAULT_STACK_SIZE, install_overflow_report, round_size};
use crate::topology::default_processors;
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

/// A scheduling domain: processors that share work. Cloning gives another handle.
///
/// When the last handle is dropped, the processors end as soon as no fibre is left;
/// nobody waits for that. [`Cluster::stop`] does.
///
/// ```
/// let cluster = fibre_core::Cluster::builder().processors(2).build()?;
/// let answer = cluster.spawn(|| 6 * 7).join().unwrap();
/// assert_eq!(answer, 42);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster(Arc<Running>);

/// What the handles share.
#[derive(Debug)]
struct Running {
    domain: Arc<Domain>,
    /// The processors' threads, until somebody joins them.
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// Whether the runtime itself relies on it, so that nobody may stop it.
    permanent: AtomicBool,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.domain.stop();
    }
}

/// What a cluster is to be like. See [`Cluster::builder`].
#[derive(Debug, Clone)]
pub struct ClusterBuilder {
    processors: Option<usize>,
    name: String,
    stack_size: usize,
    force_migration: bool,
}

impl ClusterBuilder {
    /// How many processors. Default: min(CPUs in the affinity mask, cgroup quota), or
    /// the environment variable `FIBRE_PROCESSORS`. Zero counts as one.
    #[must_use]
    pub fn processors(mut self, count: usize) -> Self {
        self.processors = Some(count.max(1));
        self
    }

    /// The name of the processors' threads, which get a number behind it. Default:
    /// "fibre". The kernel shows 15 bytes of it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Bytes reserved for each fibre's stack, unless the fibre says otherwise; memory
    /// is committed as it is touched. Default: 256 KiB, or the environment variable
    /// `FIBRE_STACK_SIZE`. At least 32 KiB, rounded up to a power of two.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = round_size(bytes);
        self
    }

    /// Makes every wake-up and yield of a started fibre land on another processor:
    /// the worst case for code that keeps the address of a thread-local.
    ///
    /// # Safety
    ///
    /// No fibre of this cluster keeps a reference to, or a value tied to, a kernel
    /// thread across a call that may block or yield: borrows of `thread_local!`
    /// values, `std::sync` guards, anything that is not `Send`. This binds all
    /// code that runs in it, dependencies included.
    #[must_use]
    pub unsafe fn force_migration(mut self) -> Self {
        self.force_migration = true;
        self
    }

    /// Starts the cluster: all of its processors, or none.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn build(self) -> io::Result<Cluster> {
        install_overflow_report(report_running);
        let count = self.processors.unwrap_or_else(default_processors);
        let domain = Arc::new(Domain::new(count, self.stack_size));
        if self.force_migration {
            domain.force_migration();
        }
        // From here on, an early return stops what has been started.
        let running = Running {
            domain,
            threads: Mutex::default(),
            permanent: AtomicBool::new(false),
        };
        let epoch = Instant::now();
        for index in 0..count {
            let thread = start_processor(&running.domain, index, epoch, &self.name)?;
            running.threads.lock().push(thread);
        }
        Ok(Cluster(Arc::new(running)))
    }
}

impl Cluster {
    /// A builder with default values.
    #[must_use]
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder {
            processors: None,
            name: "fibre".to_owned(),
            stack_size: default_stack_size(),
            force_migration: false,
        }
    }

    /// The default cluster, started when first asked for, and never stopped.
    ///
    /// # Errors
    ///
    /// When its threads cannot be started; the next call tries again.
    pub fn default_cluster() -> io::Result<&'static Self> {
        static DEFAULT: LazyCluster = LazyCluster::new();
        DEFAULT.get(|| Self::builder().build())
    }

    /// Spawns a fibre here. Any thread, any fibre.
    ///
    /// # Panics
    ///
    /// If the cluster has stopped, which takes a clone of a handle that
    /// [`stop`](Self::stop) was called on.
    pub fn spawn<F, T>(&self, closure: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.try_spawn(Attributes::default(), closure) {
            Ok(handle) => handle,
            Err(error) => panic!("cannot spawn a fibre: {error}"),
        }
    }

    /// See [`Builder::spawn_in`](crate::Builder::spawn_in).
    pub(crate) fn try_spawn<F, T>(
        &self,
        attributes: Attributes,
        closure: F,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is 'static.
        unsafe { self.try_spawn_unchecked(attributes, closure) }
    }

    /// [`try_spawn`](Self::try_spawn) without lifetimes.
    ///
    /// # Safety
    ///
    /// The caller joins the fibre before anything that it borrows ends.
    pub(crate) unsafe fn try_spawn_unchecked<F, T>(
        &self,
        attributes: Attributes,
        closure: F,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let domain = &self.0.domain;
        let processor = Processor::current();
        // SAFETY: not null means that this thread is that processor.
        let place = match unsafe { processor.as_ref() } {
            Some(here) if Arc::ptr_eq(here.domain(), domain) => Place::Here(here),
            _ => Place::There(domain),
        };
        // SAFETY: passed on.
        let handle = unsafe { launch(&place, attributes, None, closure) };
        handle.ok_or_else(|| io::Error::other("the cluster has stopped"))
    }

    /// How many processors it has.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.0.domain.queues.len()
    }

    /// Fibres that have been spawned here and have not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        usize::try_from(self.0.domain.live()).unwrap_or(usize::MAX)
    }

    /// Waits until all fibres have ended, and ends the processors. Blocks the
    /// *thread*, also when called by a fibre of another cluster.
    ///
    /// # Panics
    ///
    /// If called by a fibre of this cluster: it would wait for itself. And if this is the
    /// default cluster, on which others rely.
    pub fn stop(self) {
        let processor = Processor::current();
        // SAFETY: not null means that this thread is that processor.
        let inside = unsafe { processor.as_ref() }
            .is_some_and(|here| Arc::ptr_eq(here.domain(), &self.0.domain));
        assert!(
            !inside,
            "a cluster cannot be stopped by one of its own fibres"
        );
        assert!(
            !self.0.permanent.load(Ordering::Relaxed),
            "the default cluster cannot be stopped"
        );
        self.0.domain.stop();
        // Whoever else calls this meanwhile waits for the lock, and so for the threads.
        for thread in self.0.threads.lock().drain(..) {
            // A processor that panics aborts the process.
            let _ = thread.join();
        }
    }
}

/// A cluster that is started when first needed, and never stopped.
pub(crate) struct LazyCluster {
    cluster: OnceLock<Cluster>,
    /// Held by whoever starts it.
    starting: Mutex<()>,
}

impl LazyCluster {
    /// Not started.
    pub(crate) const fn new() -> Self {
        Self {
            cluster: OnceLock::new(),
            starting: Mutex::new(()),
        }
    }

    /// The cluster; the first successful `start` is the last.
    pub(crate) fn get(&self, start: impl FnOnce() -> io::Result<Cluster>) -> io::Result<&Cluster> {
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let _one_at_a_time = self.starting.lock();
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let cluster = start()?;
        cluster.0.permanent.store(true, Ordering::Relaxed);
        Ok(self.cluster.get_or_init(|| cluster))
    }
}

/// `FIBRE_STACK_SIZE`, or the default.
fn default_stack_size() -> usize {
    match std::env::var("FIBRE_STACK_SIZE") {
        Ok(text) => match text.parse() {
            Ok(bytes) => round_size(bytes),
            Err(_) => panic!("FIBRE_STACK_SIZE must be a number of bytes, not {text:?}"),
        },
        Err(_) => DEFAULT_STACK_SIZE,
    }
}

/// Runs `f` with the caller's cluster, if the caller is a fibre, or else with the
/// default one.
pub(crate) fn caller_place<R>(f: impl FnOnce(&Place<'_>) -> R) -> R {
    match try_caller_place(f) {
        Ok(value) => value,
        Err(error) => panic!("cannot start the default cluster: {error}"),
    }
}

/// The same, for those who can report an error.
#[inline]
pub(crate) fn try_caller_place<R>(f: impl FnOnce(&Place<'_>) -> R) -> io::Result<R> {
    let processor = Processor::current();
    // SAFETY: not null means that this thread is that processor.
    match unsafe { processor.as_ref() } {
        Some(here) => Ok(f(&Place::Here(here))),
        None => Ok(f(&Place::There(&Cluster::default_cluster()?.0.domain))),
    }
}

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
        Some(here) => halt_of(&here.domain().queues, here.index(), make),
        None => {
            let queues = &Cluster::default_cluster()?.0.domain.queues;
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

/// Starts one processor's thread.
fn start_processor(
    domain: &Arc<Domain>,
    index: usize,
    epoch: Instant,
    name: &str,
) -> io::Result<thread::JoinHandle<()>> {
    let domain = Arc::clone(domain);
    let quiet = SignalsBlocked::new();
    let thread = thread::Builder::new()
        .name(format!("{name}/{index}"))
        .spawn(move || run_processor(domain, index, epoch));
    drop(quiet);
    thread
}

/// What a processor's thread does.
fn run_processor(domain: Arc<Domain>, index: usize, epoch: Instant) {
    // Without it an overflow is still caught by the guard, only not reported.
    let alternate_stack = AlternateStack::install();
    // Timers are to be as exact as the clock, not as the default slack of 50 µs.
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let processor = Processor::new(domain, index, epoch);
    let alive = AbortOnUnwind;
    processor.run();
    std::mem::forget(alive);
    drop(alternate_stack);
}

/// Aborts if a processor unwinds: half a runtime would only hang.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        report::die(format_args!(
            "a processor has panicked; this is a bug in fibre or in a `Halt`"
        ));
    }
}

/// Keeps asynchronous signals away from threads started meanwhile: a handler must
/// not run on a fibre's stack.
struct SignalsBlocked {
    before: libc::sigset_t,
}

impl SignalsBlocked {
    /// Blocks them on this thread.
    fn new() -> Self {
        // SAFETY: plain sets of bits, valid for the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            for synchronous in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
                libc::SIGSYS,
                libc::SIGABRT,
                libc::SIGPROF,
            ] {
                libc::sigdelset(&raw mut set, synchronous);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, &raw mut before);
            Self { before }
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the mask that was there.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            )
        };
    }
}
