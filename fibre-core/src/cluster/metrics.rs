//! What clusters and processors have counted, for readers on any thread.
//!
//! Reading stops nothing. The reader takes the counters as they are (`scheduler/counts.rs` says how
//! old they may be). Each processor counts its queued fibres at its next service, which comes
//! within some 200 µs unless a fibre keeps the processor. The reader waits for that, but not for
//! long.

use super::register;
use crate::fibre::cancelled_fibres;
use crate::park;
use crate::scheduler::control::ProcessorPhase;
use crate::scheduler::counts::{self, Counters};
use crate::scheduler::domain::Domain;
use crate::scheduler::queue_counts::MOST_QUEUED;
use crate::spawn::detached::detached_failures;
use crate::stack::{StackCounts, ThreadBlockCounts, stack_counts};
use crate::sys::fork::is_forked_child;
use std::time::{Duration, Instant};

/// How long processors have to count what is queued.
const TIMEOUT: Duration = Duration::from_millis(10);

/// The sleep between two looks whether they have.
const BETWEEN: Duration = Duration::from_micros(100);

/// How long a lock of the runtime is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// A processor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessorMetrics {
    /// Its number in its cluster.
    pub index: usize,
    /// The kernel's number of its thread, once that has begun.
    pub thread: Option<i32>,
    /// Whether it is a spare one.
    pub spare: bool,
    /// Whether it had something to run.
    pub busy: bool,
    /// Fibres that are ready and queued at the processor, the one that it runs next included.
    /// `None`: it was not asked, a fibre keeps it from counting, there are more than 65,000, or its
    /// kind of queue cannot be counted.
    pub queued: Option<u64>,
    /// Deadlines to come, of fibres that wait here.
    pub timers: usize,
    /// The CPU time that its thread has used, as the kernel says; `None`: the thread is gone.
    pub cpu: Option<Duration>,
    /// What it has counted.
    pub counters: Counters,
}

/// A cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterMetrics {
    /// Its name.
    pub name: String,
    /// Its number: the first cluster of the process has 1. Names may be equal, numbers are not.
    pub number: u64,
    /// Fibres that have been spawned and have not ended; of activities, those that run or are to.
    pub live: u64,
    /// How many of them have not begun to run.
    pub unstarted: u64,
    /// Those of them that run, or could. `None`: a processor could not tell, see
    /// [`ProcessorMetrics::queued`].
    pub runnable: Option<u64>,
    /// Those of them that wait. Counted with `runnable`; it is the rest of that: exact when nothing
    /// changes meanwhile.
    pub blocked: Option<u64>,
    /// Fibres that threads outside of the cluster have spawned.
    pub spawned_outside: u64,
    /// Whether its fibres have thread-locals of their own.
    pub own_thread_locals: bool,
    /// The processors that there are.
    pub processors: Vec<ProcessorMetrics>,
}

impl ClusterMetrics {
    /// What all processors have counted, and what was spawned from outside.
    #[must_use]
    pub fn totals(&self) -> Counters {
        let all = self.processors.iter().map(|processor| processor.counters);
        let mut total = all.fold(Counters::default(), |sum, one| sum + one);
        total.spawned += self.spawned_outside;
        total
    }
}

/// What the process has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessMetrics {
    /// The time since the first cluster was started; zero: there has been none.
    pub uptime: Duration,
    /// Its clusters, those included that end.
    pub clusters: Vec<ClusterMetrics>,
    /// What the clusters had counted that are gone.
    pub gone: Counters,
    /// Fibres that have been cancelled.
    pub cancelled: u64,
    /// Failures of fibres that nobody has learned of by joining them; see
    /// [`on_detached_failure`](crate::on_detached_failure).
    pub detached_failures: u64,
    /// Stacks of fibres.
    pub stacks: StackCounts,
    /// Thread blocks of fibres.
    pub thread_blocks: ThreadBlockCounts,
}

/// What the process has counted so far. If it `asks` the processors what is queued, this blocks the
/// fibre, or the thread if the caller is not a fibre, for some 200 µs, or 10 ms if a fibre keeps
/// one.
#[must_use]
pub fn metrics(asks: bool) -> ProcessMetrics {
    // Before the clusters: what is gone by then is not among them, and what goes later is counted
    // in neither rather than in both.
    let gone = counts::gone();
    let domains = register::try_domains(LOCK_PATIENCE).unwrap_or_default();
    let asks = asks && !is_forked_child();
    let clusters: Vec<_> = domains.iter().map(|domain| read(domain, asks)).collect();
    let totals = clusters.iter().map(ClusterMetrics::totals);
    let totals = totals.fold(gone, |sum, one| sum + one);
    ProcessMetrics {
        uptime: register::began().map_or(Duration::ZERO, |began| began.elapsed()),
        clusters,
        gone,
        cancelled: cancelled_fibres(),
        detached_failures: detached_failures(),
        stacks: stack_counts(),
        thread_blocks: ThreadBlockCounts::with(totals.blocks_in_fibres()),
    }
}

/// Reads what a cluster has counted.
fn read(domain: &Domain, asks: bool) -> ClusterMetrics {
    let processors = domain.processors();
    let queued = if asks { ask(domain) } else { Vec::new() };
    let of = |index: usize| queued.get(index).copied().flatten();
    let shared = domain.shared_queues.count(MOST_QUEUED);
    let runnable: Option<u64> = (0..processors).map(of).sum();
    let runnable = runnable.and_then(|sum| Some(sum + shared? as u64));
    let processors: Vec<_> = (0..processors)
        .map(|index| ProcessorMetrics {
            index,
            thread: domain.stats(index).thread(),
            spare: index >= domain.regular(),
            busy: domain.stats(index).works_since().is_some(),
            queued: of(index),
            timers: domain.timers(index).counts().armed,
            cpu: domain.stats(index).thread().and_then(cpu_time),
            counters: domain.counters(index),
        })
        .collect();
    let mut cluster = ClusterMetrics {
        name: domain.settings.name.clone(),
        number: domain.number,
        live: domain.live(),
        unstarted: 0,
        runnable: None,
        blocked: None,
        spawned_outside: domain.spawned_outside(),
        own_thread_locals: domain.settings.own_thread_locals,
        processors,
    };
    let totals = cluster.totals();
    cluster.unstarted = totals
        .spawned
        .saturating_sub(totals.started)
        .min(cluster.live);
    // They were not counted at one moment.
    cluster.runnable = runnable.map(|count| count.min(cluster.live));
    cluster.blocked = cluster.runnable.map(|count| cluster.live - count);
    cluster
}

/// The CPU time of a thread of this process. `None`: there is no such thread any more.
fn cpu_time(thread: i32) -> Option<Duration> {
    /// The bits of the clock of one thread's CPU time.
    const OF_THREAD: i32 = 0b110;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // The kernel's coding of such clocks, which the C library offers by handles only.
    let clock = !thread << 3 | OF_THREAD;
    // SAFETY: room for a time; a clock that does not exist is an error.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Asks the processors of a cluster what is queued, and waits for their answers.
fn ask(domain: &Domain) -> Vec<Option<u64>> {
    let number = domain.queued.request.begin();
    let deadline = Instant::now() + TIMEOUT;
    let answer = |index: usize, moving: &[usize]| {
        let answered = domain.queued.counts[index].to(number);
        // A processor that sleeps has nothing there; one that stands still may have.
        let sleeps = || domain.stats(index).busy_since().is_none();
        let stands = || !moving.contains(&index);
        answered.or_else(|| sleeps().then(|| (!stands()).then_some(0)))
    };
    loop {
        let moving = domain.control.not_at(ProcessorPhase::Still);
        let of = |index| answer(index, &moving);
        let queue_counts: Vec<_> = (0..domain.processors()).map(of).collect();
        if queue_counts.iter().all(Option::is_some) || Instant::now() >= deadline {
            return queue_counts.into_iter().map(Option::flatten).collect();
        }
        park::sleep(BETWEEN);
    }
}
