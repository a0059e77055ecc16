//! Pools of kernel threads, and calls that are made there.
//!
//! A call lies in the frame of the fibre that makes it: closure, result, and the [`Job`] that the
//! threads know it by. The fibre waits until a thread has done the job, whatever happens meanwhile:
//! cancelling it does not end the wait, and a fibre that its cluster leaves behind keeps its stack
//! for ever. So the closure may borrow.

use super::jobs::{Idle, Job, Jobs, Next, Start, Taken, Verdict};
use crate::awaited::{Awaited, WaitKind};
use crate::cluster::start_helper;
use crate::current;
use crate::fork;
use crate::park::{Waiter, park};
use crate::processor::{Spin, in_fibre};
use crate::report;
use crate::settings::variable;
use crate::topology::default_processors;
use crate::waiter::Outcome;
use std::cell::Cell;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};
use std::thread;
use std::time::{Duration, Instant};

/// Threads, unless the user says otherwise: as many as calls may plausibly wait for slow disks and
/// name servers at once.
const DEFAULT_THREADS: usize = 512;

/// How long an idle thread stays, unless the user says otherwise.
const DEFAULT_IDLE: Duration = Duration::from_secs(10);

/// What the fibre is told when there is no thread for its call.
const REFUSED: u32 = 1;

/// Runs `f`, which may block its kernel thread, away from the caller's processor.
/// Blocks the fibre until `f` returns. On a thread that is no fibre, just calls `f`.
///
/// `f` runs on a plain thread of the process' pool, which grows with demand, to at most 512 threads
/// (`FIBRE_BLOCKING_THREADS`), and shrinks when threads have been idle for 10 seconds
/// (`FIBRE_BLOCKING_IDLE`, in milliseconds); if all are busy, calls wait for their turn, first come, first
/// served. There `f` is no fibre: what it waits for blocks its thread, it has the thread's fibre-local
/// values, and what it spawns runs in the default cluster. `f` may borrow from the caller, who waits for
/// it even when cancelled.
///
/// If not even one thread can be started, `f` is called where the caller is, and blocks its processor.
///
/// Source: thesis, section 3.4.1, where the fibre itself goes to other threads.
///
/// ```
/// let fibre = fibre_core::spawn(|| fibre_core::blocking(|| std::fs::read_dir("/").is_ok()));
/// assert!(fibre.join().unwrap());
/// ```
///
/// # Panics
///
/// With the panic of `f`.
pub fn blocking<F, R>(f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    /// The process' pool, which has no thread until it is used.
    static POOL: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::builder().build());
    if in_fibre() { POOL.run(f) } else { f() }
}

/// Kernel threads for calls that block, as many as are needed, between none and a limit.
///
/// [`blocking`] has one for the whole process. Calls that should not take threads away from others, or
/// have them taken away by others, have a pool of their own: of a database's client library, say, with as many
/// threads as it has connections.
///
/// When it is dropped, its threads end.
///
/// ```
/// let database = fibre_core::BlockingPool::builder().threads(4).name("database").build();
/// let rows = fibre_core::spawn(move || database.run(|| 3)).join().unwrap();
/// assert_eq!(rows, 3);
/// ```
#[derive(Debug)]
pub struct BlockingPool(Arc<Pool>);

/// What the threads of a pool know.
#[derive(Debug)]
struct Pool {
    /// What is to be done, and who has nothing to do.
    jobs: Jobs,
    /// How long a thread stays that has nothing to do.
    idle: Duration,
    /// What the threads are called.
    name: String,
    /// The number of the next thread.
    next: AtomicUsize,
}

impl BlockingPool {
    /// A builder with default values.
    #[must_use]
    pub fn builder() -> BlockingPoolBuilder {
        BlockingPoolBuilder {
            threads: variable("FIBRE_BLOCKING_THREADS", "a positive number")
                .map_or(DEFAULT_THREADS, NonZeroUsize::get),
            idle: variable("FIBRE_BLOCKING_IDLE", "a number of milliseconds")
                .map_or(DEFAULT_IDLE, Duration::from_millis),
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
        let job = NonNull::from(&call).cast();
        // SAFETY: only the thread that takes the job out claims the waiter, or who gives the job back.
        let outcome = unsafe {
            park(Awaited::placeless(WaitKind::Blocking), |waiter| {
                call.waiter.set(waiter);
                // `call` stays until the fibre is resumed, which is the job's conclusion.
                if let Some(start) = self.0.jobs.bring(job) {
                    Pool::start(&self.0, start);
                }
                true
            })
        };
        match (call.result.take(), call.closure.take()) {
            (Some(Ok(value)), _) => value,
            (Some(Err(payload)), _) => resume_unwind(payload),
            (None, Some(f)) if outcome == Outcome::Woken(REFUSED) => f(),
            (None, _) => unreachable!("a call that has been concluded has a result"),
        }
    }

    /// How many threads there are now.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.jobs.threads()
    }
}

impl Drop for BlockingPool {
    fn drop(&mut self) {
        self.0.jobs.close();
    }
}

/// What a pool is to be like. See [`BlockingPool`].
#[derive(Debug, Clone)]
pub struct BlockingPoolBuilder {
    /// The most threads at once.
    threads: usize,
    /// How long an idle thread stays.
    idle: Duration,
    /// What the threads are called.
    name: String,
}

impl BlockingPoolBuilder {
    /// The most threads at once; so many calls go on, and others wait. Default: 512, or the environment
    /// variable `FIBRE_BLOCKING_THREADS`. Zero counts as one. A thread costs some tens of kilobytes of memory.
    #[must_use]
    pub fn threads(mut self, most: usize) -> Self {
        self.threads = most.max(1);
        self
    }

    /// How long a thread stays that has nothing to do. Default: 10 seconds, or the environment variable
    /// `FIBRE_BLOCKING_IDLE`, in milliseconds.
    #[must_use]
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// The name of the threads, which get a number behind it. Default: "fibre-disk". The kernel shows 15
    /// bytes of it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The pool. Threads are started when they are needed.
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
    /// Starts a thread, or does without.
    fn start(this: &Arc<Self>, start: Start) {
        let pool = Arc::clone(this);
        let index = this.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}/{index}", this.name);
        // It does not panic: calls are caught. If it did, fibres would wait for ever.
        let thread = start_helper(name, move || Self::work(&pool));
        if let Err(error) = thread
            && this.jobs.cannot_start(start)
        {
            complain(&error);
        }
    }

    /// What a thread does.
    fn work(this: &Arc<Self>) {
        current::set_own();
        let spin = Spin::new(if *SEVERAL { SPIN } else { Duration::ZERO });
        let wait = |idle: &Idle| this.wait(idle, &spin);
        let mut next = this.jobs.begin(wait);
        while let Next::Work(job, more) = next {
            if let Some(start) = more {
                Self::start(this, start);
            }
            Taken::carry_out(job);
            next = this.jobs.next(wait);
        }
    }

    /// How an idle thread waits: fibres that make one short call after the other keep it awake.
    fn wait(&self, idle: &Idle, spin: &Spin) -> bool {
        if spin.until(|| idle.is_given(), || ()) {
            return true;
        }
        let began = Instant::now();
        let is_given = idle.sleep(began.checked_add(self.idle));
        spin.slept(began.elapsed(), is_given);
        is_given
    }
}

/// How long an idle thread spins at most, as a processor does by default.
const SPIN: Duration = Duration::from_micros(20);

/// Whether there are several CPUs for this process.
static SEVERAL: LazyLock<bool> = LazyLock::new(|| default_processors() > 1);

/// Says, once, that there is no thread for calls that block.
#[cold]
fn complain(error: &io::Error) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        report::say(format_args!(
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
    /// What to call, until it is called.
    closure: Cell<Option<F>>,
    /// What it has returned, or panicked with.
    result: Cell<Option<thread::Result<R>>>,
}

impl<F, R> Call<F, R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    /// A call that nobody knows of yet.
    fn new(f: F) -> Self {
        Self {
            job: Job::new(Self::conclude),
            waiter: Cell::new(ptr::null()),
            closure: Cell::new(Some(f)),
            result: Cell::new(None),
        }
    }

    /// Makes the call, or does not, and lets the fibre go on.
    fn conclude(job: NonNull<Job>, verdict: Verdict) {
        // SAFETY: it is the first field of such a call, whose fibre waits until it is resumed below.
        let call = unsafe { job.cast::<Self>().as_ref() };
        if verdict == Verdict::Taken
            && let Some(f) = call.closure.take()
        {
            let result = catch_unwind(AssertUnwindSafe(f));
            fork::die_if_forked("the end of a blocking call");
            call.result.set(Some(result));
        }
        let token = if verdict == Verdict::Taken {
            0
        } else {
            REFUSED
        };
        // SAFETY: the wait has no limit, and whoever took the job out is the only one who knows of it.
        unsafe { (*call.waiter.get()).claim_alone(token) }.resume();
    }
}
