//! What the processors of one cluster share.
//!
//! A [`Domain`] knows every processor's ready queue, which processors are idle, and how many fibres
//! have begun and ended. It holds no thread and no policy; threads belong to [`crate::cluster`],
//! placement to `scheduler::placement`, stealing to [`crate::scheduler::steal`].
//!
//! Everything that exists once per processor is allocated for the largest number of processors, so
//! nothing moves when processors are added; [`Domain::queues`] has the existing ones.

use crate::config::settings::Settings;
use crate::fibre::{ControlBlock, FibreList, FibreListRef, HookList};
use crate::idle::parker::Driver;
use crate::idle::shared_queues::SharedQueues;
use crate::queue::{Link, Runnable};
use crate::ready::{ReadyQueue, record_here};
use crate::scheduler::abandoned::Abandoned;
use crate::scheduler::arrivals::Arrivals;
use crate::scheduler::control::Control;
use crate::scheduler::counts::{Count, Counters, ProcessorStats, RescuerAction, add_gone};
use crate::scheduler::fibre_limit::Limit;
use crate::scheduler::processor_tree::ProcessorTree;
use crate::scheduler::queue_counts::QueueCounts;
use crate::scheduler::records::ClusterRecord;
use crate::stack::ClusterCache;
use crate::sync::short_lock::ShortLock;
use crate::sync::thread_mutex::Mutex;
use crate::sys::numbers;
use crate::topology;
use crate::trace::{self, TraceKind};
use crate::wait::timer::{BATCH, Timers};
use crate::wait::wait_object::WaitObject;
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A fibre that was left where it was when its cluster was stopped. See
/// [`Cluster::stop_within`](crate::Cluster::stop_within).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftFibre {
    /// The fibre's number.
    pub id: u64,
    /// The fibre's name, if it has one.
    pub name: Option<String>,
    /// Whether it had begun to run.
    pub started: bool,
    /// What the fibre waits for, if it waits.
    pub awaited: Option<WaitObject>,
}

impl LeftFibre {
    /// Describes this fibre.
    pub(crate) fn new(block: &ControlBlock, started: bool) -> Self {
        Self {
            id: block.id(),
            name: block.attributes.name().map(str::to_owned),
            started,
            awaited: block.wait_slot.awaited().filter(|_| started),
        }
    }
}

/// The word that says which fibre a processor runs.
#[derive(Debug)]
struct RunningRef(NonNull<AtomicPtr<Link>>);

// SAFETY: an atomic word, which stays where it is while it is shown.
unsafe impl Send for RunningRef {}

/// The words that say which fibres processors run; no processor ends meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs<'a>(&'a [Option<RunningRef>]);

impl<'a> Runs<'a> {
    /// The word of a processor, if it shows one.
    pub(crate) fn of(self, processor: usize) -> Option<&'a AtomicPtr<Link>> {
        let running = self.0[processor].as_ref()?;
        // SAFETY: the processor takes it out of here, under the lock, before it ends.
        Some(unsafe { running.0.as_ref() })
    }
}

/// The shared state of one cluster.
#[derive(Debug)]
pub(crate) struct Domain {
    /// The ready queues, one for each processor that may ever be.
    queues: Box<[Arc<ReadyQueue>]>,
    /// What each of these processors counts.
    stats: Box<[CachePadded<ProcessorStats>]>,
    /// What is queued, for readers.
    pub queued: QueueCounts,
    /// When it was made.
    pub birth: Instant,
    /// The domain's number in the process; the first one has 1.
    pub number: u64,
    /// What debuggers find of it.
    pub record: ClusterRecord,
    /// The deadlines of fibres that wait at each of them.
    timers: Box<[Arc<CachePadded<Timers<ControlBlock>>>]>,
    /// How many processors there are.
    size: Size,
    /// The words of running fibres, one for each processor that may ever be: those of processors
    /// that run.
    runs: Mutex<Box<[Option<RunningRef>]>>,
    /// What is on its way to each processor that may ever be.
    pub arrivals: Box<[Arrivals]>,
    /// What they have in common besides: queues, and how they sleep.
    pub shared_queues: Arc<SharedQueues>,
    /// Fibres spawned by foreign threads, and [`CLOSED`].
    foreign: CachePadded<AtomicU64>,
    /// The turn of foreign threads: where the next fibre that one spawns goes.
    pub turn: CachePadded<AtomicUsize>,
    /// The fibres that have started.
    pub fibre_lists: FibreLists,
    /// What processors have left behind that were told to end.
    pub left_behind: LeftWork,
    /// The orders of the cluster's handles.
    pub control: Control<ControlBlock>,
    /// How many fibres there may be, if that is limited.
    pub limit: Option<Limit>,
    /// The stacks that its processors exchange.
    pub stacks: ClusterCache,
    /// What is called at each switch of a fibre.
    pub hooks: HookList,
    /// Its processors as a tree, once anybody has asked for it.
    pub processor_tree: OnceLock<ProcessorTree>,
    /// The choices of its builder.
    pub settings: Settings,
    /// Whether processors keep activities that they have made ready without calling a thief. Once
    /// true, true for ever.
    keeps_quietly: AtomicBool,
    /// Whether the monitor looks after it.
    pub(super) has_monitor: AtomicBool,
    /// What gives the processors another way to sleep.
    pub drivers: DriverState,
}

/// How many processors a domain has.
#[derive(Debug)]
struct Size {
    /// All of them, spare ones included, which come last. It only grows.
    active: AtomicUsize,
    /// How many of them are regular, not spare. It only grows.
    regular: AtomicUsize,
    /// How many have left their loops.
    ended: AtomicUsize,
    /// How many have a CPU each.
    cpus: usize,
}

/// The fibres of a domain that have started.
#[derive(Debug)]
pub(crate) struct FibreLists {
    /// All of them, if these may move; else each processor has its own fibre list. Only those that
    /// look at all fibres hold the lock for longer.
    pub shared: Option<ShortLock<FibreList>>,
    /// The fibre lists of those processors that run, by the processors' places; empty ones if
    /// fibres move. Read by others while the processor stands still, or by
    /// [`Readers`](crate::sync::readers::Readers).
    pub own: Mutex<Vec<(usize, FibreListRef)>>,
}

/// What the processors of a domain have left behind that were told to end.
#[derive(Debug, Default)]
pub(crate) struct LeftWork {
    /// The fibres.
    pub fibres: Mutex<Vec<LeftFibre>>,
    /// The activities.
    pub activities: Abandoned,
}

/// What gives the processors of a domain another way to sleep.
#[derive(Debug, Default)]
pub(crate) struct DriverState {
    /// Held by the caller that installs drivers.
    pub installing: Mutex<()>,
    /// Whether the driver that all processors have in common has been retired.
    retired: AtomicBool,
}

/// The number of the next domain.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// A bit of `foreign`: only fibres of the domain can spawn here any more, and once none is left it
/// is all over.
const CLOSED: u64 = 1 << 63;

impl Domain {
    /// A domain of `processors` idle queues, and room for as many as its settings say.
    #[must_use]
    pub(crate) fn new(processors: usize, settings: Settings) -> Self {
        let capacity = processors.max(settings.max_processors).max(settings.slots);
        let shared_queues = Arc::new(SharedQueues::new(capacity, settings.queue));
        let queue = |index| {
            Arc::new(ReadyQueue::new(
                index,
                Arc::clone(&shared_queues),
                &settings,
            ))
        };
        let queues: Box<[_]> = (0..capacity).map(queue).collect();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let domain = Self {
            record: ClusterRecord::new(number, &settings, &queues),
            queues,
            stats: (0..capacity).map(|_| CachePadded::default()).collect(),
            queued: QueueCounts::new(capacity),
            birth: Instant::now(),
            number,
            timers: (0..capacity).map(|_| Arc::default()).collect(),
            size: Size {
                active: AtomicUsize::new(0),
                regular: AtomicUsize::new(0),
                ended: AtomicUsize::new(0),
                cpus: topology::available().min(settings.places.cpus().unwrap_or(usize::MAX)),
            },
            runs: Mutex::new((0..capacity).map(|_| None).collect()),
            arrivals: (0..capacity).map(|_| Arrivals::default()).collect(),
            shared_queues,
            foreign: CachePadded::default(),
            turn: CachePadded::default(),
            fibre_lists: FibreLists {
                shared: settings
                    .moves_started
                    .then(|| ShortLock::new(FibreList::new())),
                // A processor that begins must not run out of memory.
                own: Mutex::new(Vec::with_capacity(capacity)),
            },
            left_behind: LeftWork::default(),
            control: Control::new(),
            limit: settings.max_fibres.map(Limit::new),
            stacks: ClusterCache::default(),
            processor_tree: OnceLock::new(),
            hooks: HookList::default(),
            settings,
            keeps_quietly: AtomicBool::new(false),
            has_monitor: AtomicBool::new(false),
            drivers: DriverState::default(),
        };
        domain.activate(processors);
        domain
    }

    /// Makes `more` processors part of the domain: spare ones first, as far as there are any, and
    /// new ones behind them. There is room for them, and there is one caller at a time.
    pub(crate) fn activate(&self, more: usize) {
        let before = self.size.active.load(Ordering::Relaxed);
        let regular = self.regular() + more;
        let after = regular.max(before);
        self.control.add_processors(after - before);
        if self.settings.force_migration {
            self.force_migration(regular);
        }
        if after > 1 {
            self.queues.iter().for_each(|queue| queue.notice_others());
        }
        let promoted = self.regular()..before.min(regular);
        self.size.active.store(after, Ordering::Release);
        self.size.regular.store(regular, Ordering::Release);
        for index in promoted {
            self.set_aside(index, false);
        }
    }

    /// Makes one spare processor part of the domain, which stands aside. There is room for it, and
    /// there is one caller at a time. `false`: all others have left their loops.
    #[must_use]
    pub(crate) fn activate_spare(&self) -> bool {
        let before = self.size.active.load(Ordering::Relaxed);
        if !self.control.add_late_processor() {
            return false;
        }
        self.queues.iter().for_each(|queue| queue.notice_others());
        self.queues[before].set_aside(true);
        if self.settings.force_migration {
            self.queues[before].forward_to(&self.queues[0]);
        }
        self.size.active.store(before + 1, Ordering::Release);
        true
    }

    /// Sets whether a processor stands aside, taking nothing that others could run.
    pub(crate) fn set_aside(&self, processor: usize, aside: bool) {
        self.queues[processor].set_aside(aside);
        self.queues[processor].unpark();
    }

    /// Lets others see which fibre a processor runs, by a word of its own.
    pub(crate) fn show_running(&self, processor: usize, running: &AtomicPtr<Link>) {
        self.runs.lock()[processor] = Some(RunningRef(NonNull::from(running)));
        self.record.set_running(processor, running);
    }

    /// Undoes [`show_running`](Self::show_running), before the processor ends.
    pub(crate) fn hide_running(&self, processor: usize) {
        self.runs.lock()[processor] = None;
        self.record.set_running(processor, ptr::null());
    }

    /// Calls `f` with the words that say which fibres processors run. No processor ends meanwhile.
    pub(crate) fn with_runs<R>(&self, f: impl FnOnce(Runs<'_>) -> R) -> R {
        f(Runs(&self.runs.lock()))
    }

    /// Makes every wake-up land on the next of `processors` processors, in a ring. No effect with
    /// one.
    fn force_migration(&self, processors: usize) {
        if processors > 1 {
            let ring = &self.queues[..processors];
            ring.iter()
                .zip(ring.iter().cycle().skip(1))
                .for_each(|(queue, next)| queue.forward_to(next));
        }
    }

    /// The ready queues of the processors that exist.
    #[inline]
    pub(crate) fn queues(&self) -> &[Arc<ReadyQueue>] {
        &self.queues[..self.processors()]
    }

    /// The ready queue of one processor that exists, or may ever be.
    pub(crate) fn queue(&self, processor: usize) -> &Arc<ReadyQueue> {
        &self.queues[processor]
    }

    /// The processor with the ready queue at an address.
    pub(crate) fn index_of(&self, queue: *const ReadyQueue) -> Option<usize> {
        let all = &self.queues[..self.processors()];
        all.iter()
            .position(|other| ptr::eq(Arc::as_ptr(other), queue))
    }

    /// The tree of all processors that may ever be. It is read from the machine, if the processors
    /// are pinned, when it is first asked for; that blocks the thread.
    pub(crate) fn processor_tree(&self) -> &ProcessorTree {
        let make = || ProcessorTree::new(self.settings.places.tree(self.capacity()));
        self.processor_tree.get_or_init(make)
    }

    /// What one processor counts.
    #[inline]
    pub(crate) fn stats(&self, processor: usize) -> &ProcessorStats {
        &self.stats[processor]
    }

    /// What one processor has counted so far.
    pub(crate) fn counters(&self, processor: usize) -> Counters {
        let timers = self.timers(processor).counts();
        // A driver that all have in common is shown as the first processor's.
        let shows = processor == 0 || !self.shared_queues.has_one_driver();
        let driver = self.queues[processor].driver().filter(|_| shows);
        let traffic = driver.map(|driver| driver.traffic()).unwrap_or_default();
        Counters {
            polls: traffic.polls,
            empty_polls: traffic.empty,
            events: traffic.events,
            timers_fired: timers.fired,
            timer_lateness: Duration::from_nanos(timers.lateness),
            latest_timer: Duration::from_nanos(timers.latest),
            ..self.stats(processor).counters()
        }
    }

    /// How many thread blocks fibres have begun with, and how many of them had been there before.
    pub(crate) fn thread_blocks(&self) -> [u64; 2] {
        let all = self.stats[..self.processors()].iter();
        all.fold([0; 2], |[taken, renewed], one| {
            let its = one.counters();
            [taken + its.blocks_taken, renewed + its.blocks_renewed]
        })
    }

    /// Fibres that foreign threads have spawned, less those that there was no room for.
    pub(crate) fn spawned_outside(&self) -> u64 {
        self.foreign.load(Ordering::Relaxed) & !CLOSED
    }

    /// The deadlines of fibres that wait at one processor. Its owner fires them, or its watcher if
    /// it is kept from that.
    pub(crate) fn timers(&self, processor: usize) -> &Arc<CachePadded<Timers<ControlBlock>>> {
        &self.timers[processor]
    }

    /// Fires the deadlines of a processor that is kept from doing so, as many at once as that would
    /// fire. The processor fires the rest when it comes to it, or the next caller does. Any thread.
    pub(crate) fn fire_for(&self, processor: usize, now: Instant) {
        let fired = self.timers(processor).fire_for_owner(now, BATCH);
        if fired > 0 {
            self.note_rescue(processor, RescuerAction::Timers, fired);
        }
    }

    /// Notes that so many fibres have been taken from a processor that does not come to them. Any
    /// thread.
    pub(crate) fn note_rescued(&self, processor: usize, fibres: u64) {
        if fibres > 0 {
            self.note_rescue(processor, RescuerAction::Fibres, fibres);
        }
    }

    /// Counts and records what has been done for a processor that does not come to it.
    #[cold]
    fn note_rescue(&self, processor: usize, what: RescuerAction, count: u64) {
        self.stats(processor).add_rescues(what, count);
        if trace::is_on() {
            let word = trace::of_rescue(self.number, processor, what as u8, count);
            record_here(TraceKind::Rescue, word);
        }
    }

    /// Asks for the events of a processor that is kept from doing so, if its driver is `wanted`.
    /// Any thread.
    pub(crate) fn poll_for(&self, processor: usize, wanted: impl FnOnce(&dyn Driver) -> bool) {
        let driver = self.queues()[processor].driver();
        if let Some(driver) = driver.filter(|driver| wanted(&***driver)) {
            driver.poll();
            self.stats(processor).add_rescues(RescuerAction::Polls, 1);
            if self.stats(processor).busy_since().is_none() {
                // The processor has gone to sleep, wherever its poller lets it, or is about to, and
                // the poll above may have taken what should wake it: an interrupt, or an event. If
                // another waker has sent that interrupt, the processor counts as notified, and
                // `unpark` alone would not send it again.
                driver.interrupt();
                self.queues()[processor].unpark();
            }
        }
    }

    /// How many processors are regular, not spare: the first ones.
    #[inline]
    pub(crate) fn regular(&self) -> usize {
        self.size.regular.load(Ordering::Acquire)
    }

    /// How many processors there are, spare ones included.
    #[inline]
    pub(crate) fn processors(&self) -> usize {
        self.size.active.load(Ordering::Acquire)
    }

    /// How many processors there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.queues.len()
    }

    /// Whether a processor may spin for another one: there are several, and a CPU for
    /// each of them.
    #[inline]
    pub(crate) fn spins(&self) -> bool {
        (2..=self.size.cpus).contains(&self.regular())
    }

    /// Counts a new fibre that a foreign thread spawns, and returns its number. `None`: the domain
    /// is closed to others.
    pub(crate) fn register_foreign(&self) -> Option<u64> {
        self.count_foreign().then(numbers::take_one)
    }

    /// Counts a fibre that comes from outside. `false`: the domain is closed to others.
    #[must_use]
    pub(crate) fn count_foreign(&self) -> bool {
        let count = |foreign| (foreign & CLOSED == 0).then_some(foreign + 1);
        let foreign = &self.foreign;
        let counted = foreign.fetch_update(Ordering::SeqCst, Ordering::Relaxed, count);
        counted.is_ok()
    }

    /// Undoes [`count_foreign`](Self::count_foreign): there is no such fibre.
    #[cold]
    pub(crate) fn uncount_foreign(&self) {
        if self.foreign.fetch_sub(1, Ordering::SeqCst) & CLOSED != 0 {
            // The processors wait for the last one, and it may have been that.
            self.unpark_all();
        }
    }

    /// How many fibres have been spawned and have not ended. A fibre that has just been joined may
    /// be counted for another moment, until its stack has been taken back.
    #[must_use]
    pub(crate) fn live(&self) -> u64 {
        // Ends first: a fibre that ends in between is then counted as live, so zero is only
        // returned when it was true.
        let sum = |count: fn(&ProcessorStats) -> &Count| -> u64 {
            let all = &self.stats[..self.processors()];
            all.iter().map(|stats| count(stats).acquire()).sum()
        };
        let finished = sum(|stats| &stats.finished);
        let spawned = sum(|stats| &stats.spawned);
        let foreign = self.foreign.load(Ordering::Acquire) & !CLOSED;
        spawned + foreign - finished
    }

    /// Closes the domain to all but its own fibres, and asks the processors to end once
    /// no fibre is left.
    pub(crate) fn close(&self) {
        self.foreign.fetch_or(CLOSED, Ordering::SeqCst);
        self.unpark_all();
    }

    /// Whether the domain is closed to all but its own fibres.
    pub(crate) fn is_closed(&self) -> bool {
        self.foreign.load(Ordering::SeqCst) & CLOSED != 0
    }

    /// Whether the processors should end: asked to, and nothing is left. Once true,
    /// true for ever, since only fibres can spawn then.
    #[must_use]
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed() && self.live() == 0
    }

    /// Takes out what is queued at a processor and for all, and returns the fibres that have not
    /// begun. It misses a fibre that another thread is half-way through queueing or taking.
    ///
    /// # Safety
    ///
    /// This thread is the processor; or the processor has ended, which the caller has seen under
    /// the lock of the orders, and there is one caller at a time. No fibre that has begun and is
    /// queued will run again.
    pub(crate) unsafe fn take_unstarted(&self, processor: usize) -> Vec<Runnable> {
        // SAFETY: this thread is the owner, or stands in for it, and no fibre runs here.
        let own = || unsafe {
            let owner = self.queues[processor].as_owner();
            owner.pop().or_else(|| owner.pop_background())
        };
        let next = || {
            own()
                .or_else(|| self.shared_queues.pop_staged().node())
                .or_else(|| self.shared_queues.pop_background().node())
        };
        let all = std::iter::from_fn(next);
        all.filter(|fibre| !fibre.has_started()).collect()
    }

    /// Counts a processor that has left its loop for good. `true`: it was the last one.
    pub(crate) fn count_ended(&self) -> bool {
        let before = self.size.ended.fetch_add(1, Ordering::AcqRel);
        // No processor leaves its loop before the domain is closed. From then on only a spare one
        // is added, which sleeps only if it is not over.
        before + 1 >= self.processors() && !self.drivers.retired.swap(true, Ordering::AcqRel)
    }

    /// Notes that processor `keeper` keeps an activity without calling a thief: others that are
    /// idle look after it from now on.
    #[inline]
    pub(crate) fn keep_quietly(&self, keeper: usize) {
        if !self.is_kept_quietly() {
            self.keeps_quietly.store(true, Ordering::Relaxed);
            // They may sleep for long.
            self.shared_queues.wake_one(keeper);
        }
    }

    /// Whether a processor may keep an activity that it has told no thief of.
    #[inline]
    pub(crate) fn is_kept_quietly(&self) -> bool {
        self.keeps_quietly.load(Ordering::Relaxed)
    }

    /// Wakes every processor.
    pub(crate) fn unpark_all(&self) {
        self.queues().iter().for_each(|queue| queue.unpark());
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        let all = (0..self.processors()).map(|processor| self.counters(processor));
        let mut total = all.fold(Counters::default(), |sum, one| sum + one);
        total.spawned += self.spawned_outside();
        add_gone(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::numbers::BLOCK;
    use std::collections::HashSet;

    fn domain(processors: usize) -> Domain {
        Domain::new(processors, Settings::from_environment())
    }

    /// However many fibres have been spawned at one place, also before others are at another one.
    #[test]
    fn numbers_are_unique() {
        let [first, second] = [domain(2), domain(1)];
        first.stats(0).spawned.set((1 << 40) - 2);
        first.foreign.store((1 << 40) - 2, Ordering::Relaxed);
        let mut numbers = HashSet::new();
        for _ in 0..3 * BLOCK {
            let drawn = [
                first.stats(0).count_spawned(),
                first.stats(1).count_spawned(),
                first.register_foreign().unwrap(),
                second.stats(0).count_spawned(),
                second.register_foreign().unwrap(),
                numbers::take_one(),
            ];
            for number in drawn {
                assert!(number != 0 && numbers.insert(number), "{number} again");
            }
        }
    }

    /// Fibres that are spawned one after the other at one place have numbers that tell so.
    #[test]
    fn numbers_follow_each_other() {
        let domain = domain(1);
        let first = domain.stats(0).count_spawned();
        for next in 1..BLOCK {
            assert_eq!(domain.stats(0).count_spawned(), first + next);
        }
    }

    /// Queues keep each other alive if they are of one cluster, and only then.
    #[test]
    fn kin_are_those_of_one_domain() {
        let [first, second] = [domain(2), domain(2)];
        let queues = |domain: &Domain| domain.queues().to_vec();
        for one in queues(&first) {
            assert!(queues(&first).iter().all(|other| one.is_kin(other)));
            assert!(!queues(&second).iter().any(|other| one.is_kin(other)));
        }
    }
}
