//! Pools of kernel threads, and the calls that they make.
//!
//! A call lies in the frame of the fibre that makes it: closure, result, and the [`Job`] that the
//! threads know it by. The fibre waits until a thread has done the job, whatever happens meanwhile.
//! Cancelling the fibre does not end the wait, and a fibre that its cluster abandons keeps its
//! stack for ever. So the closure may borrow.

use super::jobs::{Idle, Job, JobOutcome, Jobs, Next, Start, Taken};
use crate::cluster::start_helper;
use crate::config::environment;
use crate::config::settings::default_processors;
use crate::config::settings::variable;
use crate::park::scoped::ScopedBindings;
use crate::park::{Wait, Waiter};
use crate::processor::{Spin, in_fibre};
use crate::sys::current;
use crate::sys::fork;
use crate::sys::stderr;
use crate::wait::wait_object::{WaitKind, WaitObject};
use crate::wait::waiter::Outcome;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::thread;
use std::time::{Duration, Instant};

/// The most threads, unless the user says otherwise: as many as calls may plausibly wait for slow
/// disks and name servers at once.
const DEFAULT_THREADS: usize = 512;

/// How long an idle thread stays, unless the user says otherwise.
const DEFAULT_IDLE: Duration = Duration::from_secs(10);

/// The calls that fibres have handed to threads of pools, those that have been concluded, and the
/// threads that there are: of all pools.
static BROUGHT: AtomicU64 = AtomicU64::new(0);
static CONCLUDED: AtomicU64 = AtomicU64::new(0);
static THREADS: AtomicU64 = AtomicU64::new(0);

/// What all [`BlockingPool`]s of the process have done so far, that of [`blocking`] included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockingMetrics {
    /// Calls that fibres have handed over.
    pub calls: u64,
    /// How many of them wait for a thread, or go on.
    pub pending: u64,
    /// Threads that there are now.
    pub threads: u64,
}

/// How many threads a pool has at most, and how long an idle one stays, unless the program or the
/// environment says otherwise.
#[must_use]
pub fn blocking_defaults() -> (usize, Duration) {
    (DEFAULT_THREADS, DEFAULT_IDLE)
}

/// What the pools have done so far.
#[must_use]
pub fn blocking_metrics() -> BlockingMetrics {
    // Ends first: none is then counted as ended that has not been brought.
    let concluded = CONCLUDED.load(Ordering::Acquire);
    let calls = BROUGHT.load(Ordering::Acquire);
    BlockingMetrics {
        calls,
        pending: calls.saturating_sub(concluded),
        threads: THREADS.load(Ordering::Relaxed),
    }
}

/// The token for a fibre that gets no thread for its call.
const REFUSED: u32 = 1;

/// Runs `f`, which may block its kernel thread, away from the caller's processor.
/// Blocks the fibre until `f` returns. On a thread that is no fibre, just calls `f`.
///
/// `f` runs on a plain thread of the process' pool, which grows with demand, to at most 512 threads
/// (`FIBRE_BLOCKING_THREADS`), and shrinks when threads have been idle for 10 seconds
/// (`FIBRE_BLOCKING_IDLE`, in milliseconds). If all are busy, calls wait for their turn, first
/// come, first served. There `f` is no fibre: its waits block its thread, it has the thread's
/// fibre-local values, and what it spawns runs in the default cluster. `f` may borrow from the
/// caller, which waits for it even when cancelled. It sees the [scoped values](crate::ScopedLocal)
/// of the caller.
///
/// A call that never ends keeps its thread, as nothing can end it from outside. If as many as there
/// are threads wait for what does not come, or for a call that waits for its turn, all others wait
/// for ever. So each `f` needs a limit of its own, such as a time-out of its socket, and calls that
/// may wait for long a [`BlockingPool`] of their own.
///
/// If not even one thread can be started, `f` is called on the caller's thread, and blocks its
/// processor.
///
/// Source: thesis, section 3.4.1, where the fibre itself goes to other threads.
///
/// ```
/// let fibre = fibre::spawn(|| fibre::blocking(|| std::fs::read_dir("/").is_ok()));
/// assert!(fibre.join().unwrap());
/// ```
///
/// # Panics
///
/// With the panic of `f`.
#[doc(alias("spawn_blocking", "block_in_place", "unblock"))]
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    /// The process' pool, which has no thread until it is used.
    static POOL: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::builder().build());
    if in_fibre() { POOL.run(f) } else { f() }
}

/// [`blocking`] for calls that ask what may not answer for long, as look-ups of names do. They have
/// threads of their own, as many at most as others, so that those do not wait for servers of names.
pub fn blocking_lookup<F, R>(f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    /// The threads of all look-ups.
    static POOL: LazyLock<BlockingPool> =
        LazyLock::new(|| BlockingPool::builder().name("fibre-names").build());
    if in_fibre() { POOL.run(f) } else { f() }
}

/// Kernel threads for calls that block, as many as are needed, between none and a limit.
///
/// [`blocking`] has one for the whole process. Calls that should not take threads from others, nor
/// lose theirs to others, have a pool of their own: those of a database's client library, say, with
/// as many threads as it has connections.
///
/// When it is dropped, its threads end.
///
/// ```
/// let database = fibre::BlockingPool::builder().threads(4).name("database").build();
/// let rows = fibre::spawn(move || database.run(|| 3)).join().unwrap();
/// assert_eq!(rows, 3);
/// ```
#[doc(alias("thread pool", "max_blocking_threads"))]
pub struct BlockingPool(Arc<Pool>);

/// The shared state of a pool's threads.
#[derive(Debug)]
struct Pool {
    /// The jobs, and the idle threads.
    jobs: Jobs,
    /// How long an idle thread stays.
    idle: Duration,
    /// The name of the threads.
    name: String,
    /// The number of the next thread.
    next: AtomicUsize,
}

impl BlockingPool {
    /// A builder with default values.
    #[must_use]
    pub fn builder() -> BlockingPoolBuilder {
        environment::complain();
        BlockingPoolBuilder {
            threads: variable("FIBRE_BLOCKING_THREADS").map_or(DEFAULT_THREADS, NonZeroUsize::get),
            idle: variable("FIBRE_BLOCKING_IDLE").map_or(DEFAULT_IDLE, Duration::from_millis),
            name: "fibre-disk".to_owned(),
        }
    }

    /// Runs `f` on a thread of this pool. Otherwise as [`blocking`].
    ///
    /// # Panics
    ///
    /// With the panic of `f`.
    pub fn run<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        if !in_fibre() {
            return f();
        }
        let call = Call::new(f);
        BROUGHT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `call` stays until the job has been concluded, which resumes the waiter.
        let outcome = unsafe { self.hand_over(NonNull::from(&call).cast(), &call.waiter) };
        match (call.result.take(), call.closure.take()) {
            (Some(Ok(value)), _) => value,
            (Some(Err(payload)), _) => resume_unwind(payload),
            (None, Some(f)) if outcome == Outcome::Woken(REFUSED) => f(),
            (None, _) => unreachable!("a call that has been concluded has a result"),
        }
    }

    /// Hands a job to the pool's threads, and waits for its conclusion. Blocks the fibre.
    ///
    /// # Safety
    ///
    /// The job stays until it is concluded, and its conclusion resumes what is in `place`.
    unsafe fn hand_over(&self, job: NonNull<Job>, place: &Cell<*const Waiter>) -> Outcome {
        let publish = |waiter: &Waiter, _| {
            place.set(waiter);
            // SAFETY: the caller's promise.
            if let Some(start) = unsafe { self.0.jobs.bring(job) } {
                Pool::start(&self.0, start);
            }
            true
        };
        let awaited = WaitObject::placeless(WaitKind::Blocking);
        // SAFETY: the waiter is claimed only by the thread that takes the job out, or by the one
        // that gives the job back.
        unsafe { Wait::closed(awaited).park(publish, |_| {}) }
    }

    /// How many threads there are now.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.jobs.threads()
    }
}

impl fmt::Debug for BlockingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingPool")
            .field("name", &self.0.name)
            .field("threads", &self.threads())
            .finish_non_exhaustive()
    }
}

impl Drop for BlockingPool {
    fn drop(&mut self) {
        self.0.jobs.close();
    }
}

/// The settings of a pool to come. See [`BlockingPool`].
#[derive(Debug, Clone)]
pub struct BlockingPoolBuilder {
    /// The most threads at once.
    threads: usize,
    /// How long an idle thread stays.
    idle: Duration,
    /// The name of the threads.
    name: String,
}

impl BlockingPoolBuilder {
    /// The most threads at once; so many calls go on, and others wait. Default: 512, or the
    /// environment variable `FIBRE_BLOCKING_THREADS`. Zero counts as one. A thread costs some tens
    /// of kilobytes of memory.
    #[must_use]
    pub fn threads(mut self, most: usize) -> Self {
        self.threads = most.max(1);
        self
    }

    /// How long an idle thread stays. Default: 10 seconds, or the environment variable
    /// `FIBRE_BLOCKING_IDLE`, in milliseconds.
    #[must_use]
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// The name of the threads; a number is appended. Default: "fibre-disk". The kernel shows 15
    /// bytes of it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Makes the pool. Threads are started when they are needed.
    #[must_use]
    pub fn build(self) -> BlockingPool {
        BlockingPool(Arc::new(Pool {
            jobs: Jobs::new(self.threads),
            idle: self.idle,
            name: self.name,
            next: AtomicUsize::new(0),
        }))
    }
}

impl Pool {
    /// Starts a thread, or does without it.
    fn start(this: &Arc<Self>, start: Start) {
        let pool = Arc::clone(this);
        let index = this.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}/{index}", this.name);
        // The thread does not panic: calls are caught. If it did, fibres would wait for ever.
        let thread = start_helper(name, move || Self::work(&pool));
        if let Err(error) = thread
            && this.jobs.cannot_start(start)
        {
            complain(&error);
        }
    }

    /// The loop of a thread.
    fn work(this: &Arc<Self>) {
        current::set_own();
        // Closures may start threads and programs, which inherit it.
        fork::hear_signals_of_program();
        let spin = Spin::new(if *SEVERAL { SPIN } else { Duration::ZERO });
        let wait = |idle: &Idle| this.wait(idle, &spin);
        THREADS.fetch_add(1, Ordering::Relaxed);
        let mut next = this.jobs.begin(wait);
        while let Next::Work(job, more) = next {
            if let Some(start) = more {
                Self::start(this, start);
            }
            Taken::carry_out(job);
            next = this.jobs.next(wait);
        }
        THREADS.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits as an idle thread: fibres that make one short call after the other keep it awake.
    fn wait(&self, idle: &Idle, spin: &Spin) -> bool {
        if spin.until(|| idle.is_given(), |_| None, |_| true) {
            return true;
        }
        let began = Instant::now();
        let is_given = idle.sleep(began.checked_add(self.idle));
        spin.slept(began.elapsed(), is_given);
        is_given
    }
}

/// The longest spin of an idle thread, as of a processor by default.
const SPIN: Duration = Duration::from_micros(20);

/// Whether this process has several CPUs.
static SEVERAL: LazyLock<bool> = LazyLock::new(|| default_processors() > 1);

/// Reports, once, that there is no thread for calls that block.
#[cold]
fn complain(error: &io::Error) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        stderr::warn(format_args!(
            "calls that block now block processors, as no thread can be started for them: {error}"
        ));
    });
}

/// One call, in the frame of the fibre that makes it.
#[repr(C)]
struct Call<F, R> {
    /// Comes first: a pointer to it is a pointer to the whole.
    job: Job,
    /// The fibre's wait.
    waiter: Cell<*const Waiter>,
    /// What is bound for the fibre.
    bindings: Cell<ScopedBindings>,
    /// The closure, until it is called.
    closure: Cell<Option<F>>,
    /// Its result, or its panic.
    result: Cell<Option<thread::Result<R>>>,
}

impl<F, R> Call<F, R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    /// A call that no thread knows of yet.
    fn new(f: F) -> Self {
        Self {
            job: Job::new(Self::conclude),
            waiter: Cell::new(ptr::null()),
            bindings: Cell::new(ScopedBindings::current()),
            closure: Cell::new(Some(f)),
            result: Cell::new(None),
        }
    }

    /// Makes the call, or does not, and resumes the fibre.
    fn conclude(job: NonNull<Job>, outcome: JobOutcome) {
        // SAFETY: the job is the first field of such a call, and its fibre waits until it is
        // resumed below.
        let call = unsafe { job.cast::<Self>().as_ref() };
        if outcome == JobOutcome::Taken
            && let Some(f) = call.closure.take()
        {
            let bindings = call.bindings.take();
            let result = match bindings.is_none() {
                true => catch_unwind(AssertUnwindSafe(f)),
                false => catch_unwind(AssertUnwindSafe(|| bindings.with(f))),
            };
            fork::die_if_forked("the end of a blocking call");
            call.result.set(Some(result));
        }
        let token = if outcome == JobOutcome::Taken {
            0
        } else {
            REFUSED
        };
        CONCLUDED.fetch_add(1, Ordering::Release);
        // SAFETY: the wait has no limit, and only the thread that took the job out knows of it.
        unsafe { (*call.waiter.get()).claim_alone(token) }.resume();
    }
}
