//! What the processors of one cluster share.
//!
//! A [`Domain`] knows every processor's ready queue, who is idle, and how many
//! fibres have begun and ended. It holds no thread and no policy; threads belong to
//! [`crate::cluster`], placement to [`crate::placement`], stealing to [`crate::steal`].
//!
//! Everything that is there once per processor is made for as many as there may ever
//! be, so nothing moves when processors are added; [`Domain::queues`] has those that
//! are there.

use crate::awaited::Awaited;
use crate::commons::Commons;
use crate::fibre::{ControlBlock, FibreRef, Roster, RosterRef};
use crate::limit::Limit;
use crate::orders::Orders;
use crate::queue::Popped;
use crate::ready::ReadyQueue;
use crate::settings::Settings;
use crate::short_lock::ShortLock;
use crate::stack::Depot;
use crate::timer::Timers;
use crate::topology;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// Counts of one processor. Only its thread writes them, so a plain store will
/// do; anybody may read.
#[derive(Debug)]
pub struct Tally {
    /// Fibres spawned by fibres of this processor.
    spawned: AtomicU64,
    /// Services that the processor has done.
    services: AtomicU64,
    /// Fibres that started on this processor.
    started: AtomicU64,
    /// Fibres that ended on this processor.
    finished: AtomicU64,
    /// When it last became busy, in nanoseconds of the cluster's life, or [`RESTING`].
    busy_since: AtomicU64,
    /// The upper part of the numbers of fibres spawned here.
    spawner: AtomicU64,
    /// The kernel's number of its thread; zero before that has begun.
    thread: AtomicI32,
}

/// In `busy_since`: it sleeps, or is about to wake up.
const RESTING: u64 = u64::MAX;

/// In `busy_since`: it has woken up to look after others, and has found nothing to do so far.
const LOOKING: u64 = u64::MAX - 1;

impl Default for Tally {
    fn default() -> Self {
        Self {
            spawned: AtomicU64::new(0),
            services: AtomicU64::new(0),
            started: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            busy_since: AtomicU64::new(RESTING),
            spawner: AtomicU64::new(0),
            thread: AtomicI32::new(0),
        }
    }
}

impl Tally {
    /// Counts one more spawned fibre; returns its number.
    #[inline]
    fn count_spawned(&self) -> u64 {
        self.spawner.load(Ordering::Relaxed) | bump(&self.spawned)
    }

    /// Counts one more service.
    pub fn count_service(&self) {
        bump(&self.services);
    }

    /// How many services there were: who switches does one every 200 µs or so.
    pub fn services(&self) -> u64 {
        self.services.load(Ordering::Relaxed)
    }

    /// Counts one more fibre that has started here.
    #[inline]
    pub fn count_started(&self) {
        bump(&self.started);
    }

    /// Counts one more fibre that ended.
    #[inline]
    pub fn count_finished(&self) {
        bump(&self.finished);
    }

    /// Notes the kernel's number of the processor's thread.
    pub fn set_thread(&self, thread: i32) {
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// That number; `None`: the thread has not begun.
    pub fn thread(&self) -> Option<i32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|thread| *thread != 0)
    }

    /// How many fibres live here that have started here, as far as they do not move; a hint.
    pub fn residents(&self) -> u64 {
        let finished = self.finished.load(Ordering::Relaxed);
        let started = self.started.load(Ordering::Relaxed);
        started.saturating_sub(finished)
    }

    /// Notes when the processor became busy.
    pub fn set_busy_since(&self, nanoseconds: u64) {
        self.busy_since.store(nanoseconds, Ordering::Relaxed);
    }

    /// Notes that the processor goes to sleep.
    pub fn set_resting(&self) {
        self.busy_since.store(RESTING, Ordering::Relaxed);
    }

    /// Notes that the processor has woken up, but not for work.
    pub fn set_looking(&self) {
        self.busy_since.store(LOOKING, Ordering::Relaxed);
    }

    /// Whether that is so still.
    pub fn is_looking(&self) -> bool {
        self.busy_since.load(Ordering::Relaxed) == LOOKING
    }

    /// [`busy_since`](Self::busy_since) of one that works.
    pub fn works_since(&self) -> Option<u64> {
        self.busy_since().filter(|since| *since != LOOKING)
    }

    /// When the processor became busy; `None` if it has not yet. A hint.
    pub fn busy_since(&self) -> Option<u64> {
        let since = self.busy_since.load(Ordering::Relaxed);
        (since != RESTING).then_some(since)
    }
}

/// Adds one to a counter that only this thread writes. Release: who sees a count
/// sees what was done before.
#[inline]
fn bump(counter: &AtomicU64) -> u64 {
    let next = counter.load(Ordering::Relaxed) + 1;
    counter.store(next, Ordering::Release);
    next
}

/// A fibre that was left where it was when its cluster was stopped. See
/// [`Cluster::stop_within`](crate::Cluster::stop_within).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftFibre {
    /// Its number.
    pub id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Whether it had begun to run.
    pub started: bool,
    /// What it waits for, if it does.
    pub awaited: Option<Awaited>,
}

impl LeftFibre {
    /// Says which fibre this is.
    pub fn new(block: &ControlBlock, started: bool) -> Self {
        Self {
            id: block.id(),
            name: block.attributes.name().map(str::to_owned),
            started,
            awaited: block.errand.awaited().filter(|_| started),
        }
    }
}

/// See the module text.
#[derive(Debug)]
pub struct Domain {
    /// One ready queue for each processor that may ever be.
    queues: Box<[Arc<ReadyQueue>]>,
    /// One tally for each of them.
    tallies: Box<[CachePadded<Tally>]>,
    /// Deadlines of fibres that wait at each of them.
    timers: Box<[Arc<CachePadded<Timers<ControlBlock>>>]>,
    /// How many processors there are. It only grows.
    active: AtomicUsize,
    /// What they have in common besides: queues, and how they sleep.
    pub commons: Arc<Commons>,
    /// Fibres spawned by threads that are none of our processors, and [`CLOSED`].
    foreign: CachePadded<AtomicU64>,
    /// Where the next fibre of a foreign thread goes.
    turn: CachePadded<AtomicUsize>,
    /// The fibres that have started, if these may move; else each processor has its own. The lock is held for longer by those only
    /// who look at all of them.
    pub roster: Option<ShortLock<Roster>>,
    /// The rosters of those processors that run, by the processors' places, if fibres do not
    /// move. Read by others while the processor stands still.
    pub rosters: Mutex<Vec<(usize, RosterRef)>>,
    /// What processors have left behind that were told to end.
    pub left: Mutex<Vec<LeftFibre>>,
    /// What the handles ask of the processors.
    pub orders: Orders<ControlBlock>,
    /// The upper part of the numbers of fibres that foreign threads spawn.
    spawner: u64,
    /// How many fibres there may be, if that is limited.
    pub limit: Option<Limit>,
    /// Stacks that its processors exchange.
    pub stacks: Depot,
    /// What its builder chose.
    pub settings: Settings,
    /// How many processors have a CPU each.
    cpus: usize,
    /// How many processors have left their loops.
    ended: AtomicUsize,
    /// Held by who gives the processors another way to sleep.
    pub installing: Mutex<()>,
}

/// Bits of a fibre's number that count within one processor.
const ID_BITS: u32 = 40;

/// In `foreign`: only fibres of the domain can spawn here any more, and once none is
/// left it is all over.
const CLOSED: u64 = 1 << 63;

/// The upper part of fibres' numbers for one more spawner: unique in the process.
fn new_spawner() -> u64 {
    /// The next one.
    static SPAWNERS: AtomicU64 = AtomicU64::new(1);
    SPAWNERS.fetch_add(1, Ordering::Relaxed) << ID_BITS
}

impl Domain {
    /// A domain of `processors` idle queues, and room for as many as its settings say.
    #[must_use]
    pub fn new(processors: usize, settings: Settings) -> Self {
        let capacity = processors.max(settings.max_processors);
        // Also the queues' name for those who keep each other alive.
        let spawner = new_spawner();
        let commons = Arc::new(Commons::new(capacity, settings.queue));
        let queue = |index| {
            Arc::new(ReadyQueue::new(
                spawner,
                index,
                Arc::clone(&commons),
                &settings,
            ))
        };
        let domain = Self {
            queues: (0..capacity).map(queue).collect(),
            tallies: (0..capacity).map(|_| CachePadded::default()).collect(),
            timers: (0..capacity).map(|_| Arc::default()).collect(),
            active: AtomicUsize::new(0),
            commons,
            foreign: CachePadded::default(),
            turn: CachePadded::default(),
            roster: settings
                .moves_started
                .then(|| ShortLock::new(Roster::new())),
            rosters: Mutex::default(),
            left: Mutex::default(),
            orders: Orders::new(),
            spawner,
            cpus: topology::available().min(settings.pinned_to.unwrap_or(usize::MAX)),
            limit: settings.max_fibres.map(Limit::new),
            stacks: Depot::default(),
            settings,
            ended: AtomicUsize::new(0),
            installing: Mutex::default(),
        };
        domain.activate(processors);
        domain
    }

    /// Makes `more` processors part of the domain. There is room for them, and nobody
    /// else does this meanwhile.
    pub fn activate(&self, more: usize) {
        self.orders.add_processors(more);
        let before = self.active.load(Ordering::Relaxed);
        let after = before + more;
        for tally in &self.tallies[before..after] {
            tally.spawner.store(new_spawner(), Ordering::Relaxed);
        }
        if self.settings.force_migration {
            self.force_migration(after);
        }
        if after > 1 {
            self.queues.iter().for_each(|queue| queue.notice_others());
        }
        self.active.store(after, Ordering::Release);
    }

    /// Makes every wake-up land on another one of so many processors, in a ring. No
    /// effect with one.
    fn force_migration(&self, processors: usize) {
        if processors > 1 {
            let ring = &self.queues[..processors];
            ring.iter()
                .zip(ring.iter().cycle().skip(1))
                .for_each(|(queue, next)| queue.forward_to(next));
        }
    }

    /// The ready queues of the processors that there are.
    #[inline]
    pub fn queues(&self) -> &[Arc<ReadyQueue>] {
        &self.queues[..self.processors()]
    }

    /// The counts of one processor.
    #[inline]
    pub fn tally(&self, processor: usize) -> &Tally {
        &self.tallies[processor]
    }

    /// Deadlines of fibres that wait at one processor. Its owner fires them, or, if it is kept from that, whoever watches it.
    pub fn timers(&self, processor: usize) -> &Arc<CachePadded<Timers<ControlBlock>>> {
        &self.timers[processor]
    }

    /// How many processors there are.
    #[inline]
    pub fn processors(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    /// How many there may be.
    pub fn capacity(&self) -> usize {
        self.queues.len()
    }

    /// Whether a processor may spin for another one: there are several, and a CPU for
    /// each of them.
    #[inline]
    pub fn spins(&self) -> bool {
        (2..=self.cpus).contains(&self.processors())
    }

    /// Counts a new fibre that processor `spawner` of this domain spawns, and
    /// returns its number.
    #[inline]
    pub fn register(&self, spawner: usize) -> u64 {
        self.tallies[spawner].count_spawned()
    }

    /// The same for a thread that is none of our processors. `None`: the domain is
    /// closed to others.
    pub fn register_foreign(&self) -> Option<u64> {
        let count = |foreign| (foreign & CLOSED == 0).then_some(foreign + 1);
        let before = self
            .foreign
            .fetch_update(Ordering::SeqCst, Ordering::Relaxed, count);
        before.ok().map(|before| self.spawner | (before + 1))
    }

    /// The round-robin of foreign threads.
    pub fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) % self.processors()
    }

    /// Fibres that have been spawned and have not ended. One that has just been joined
    /// may be counted for another moment, until its stack has been taken back.
    #[must_use]
    pub fn live(&self) -> u64 {
        // Ends first: a fibre that ends in between is then counted as live, and
        // zero is only said when it was true.
        let sum = |count: fn(&Tally) -> &AtomicU64| -> u64 {
            let tallies = &self.tallies[..self.processors()];
            tallies
                .iter()
                .map(|tally| count(tally).load(Ordering::Acquire))
                .sum()
        };
        let finished = sum(|tally| &tally.finished);
        let spawned = sum(|tally| &tally.spawned);
        let foreign = self.foreign.load(Ordering::Acquire) & !CLOSED;
        spawned + foreign - finished
    }

    /// Closes the domain to all but its own fibres, and asks the processors to end once
    /// no fibre is left.
    pub fn close(&self) {
        self.foreign.fetch_or(CLOSED, Ordering::SeqCst);
        self.unpark_all();
    }

    /// Whether it is closed to all but its own fibres.
    pub fn is_closed(&self) -> bool {
        self.foreign.load(Ordering::SeqCst) & CLOSED != 0
    }

    /// Whether the processors should end: asked to, and nothing is left. Once true,
    /// true for ever, since only fibres can spawn then.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_closed() && self.live() == 0
    }

    /// Takes out what is queued at a processor and for all, and returns those that have not
    /// begun. What somebody is half-way through queueing or taking is not seen.
    ///
    /// # Safety
    ///
    /// This thread is the processor; or that has ended, which the caller has seen under the
    /// lock of the orders, and nobody else does this meanwhile. No fibre that has begun and is
    /// queued will run again.
    pub unsafe fn take_unstarted(&self, processor: usize) -> Vec<FibreRef> {
        let ready = &self.queues[processor];
        let node = |popped| match popped {
            Popped::Node(node) => Some(node),
            Popped::Empty | Popped::InFlight => None,
        };
        let next = || {
            ready
                .pop()
                .or_else(|| ready.pop_background())
                .or_else(|| node(self.commons.pop_staged()))
                .or_else(|| node(self.commons.pop_background()))
        };
        std::iter::from_fn(next)
            // SAFETY: ready queues hold fibres only.
            .map(|node| unsafe { ControlBlock::from_node(node) })
            // SAFETY: just taken out, so it is ours.
            .filter(|fibre| unsafe { (*fibre.as_ref().context.get()).is_none() })
            .collect()
    }

    /// Counts a processor that has left its loop for good. `true`: it was the last one.
    pub fn count_ended(&self) -> bool {
        let before = self.ended.fetch_add(1, Ordering::AcqRel);
        // Nobody leaves its loop before the domain is closed, and then none is added.
        before + 1 == self.processors()
    }

    /// Wakes every processor.
    pub fn unpark_all(&self) {
        self.queues().iter().for_each(|queue| queue.unpark());
    }
}
