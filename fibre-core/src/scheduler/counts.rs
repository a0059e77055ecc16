//! What a processor counts: for the domain, and for metrics.
//!
//! Only its own thread writes, so a plain store is enough; anybody may read, and sees numbers that
//! are a moment old. Metrics count nothing on the hot paths: the countdown to the next service
//! counts switches anyway, and they are added up at a service or a sleep. Everything else is
//! counted at detours: a steal, a sleep, a panic.
//!
//! Queued fibres are counted only when a reader asks (`queue_counts`).

use crate::fibre::lazy_box::LazyBox;
use crate::sync::thread_mutex::Mutex;
use crate::sys::numbers::{self, BLOCK};
use std::ops::{Add, AddAssign};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// A counter that one thread writes.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds to the counter. The owner only.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before.wrapping_add(more), Ordering::Relaxed);
    }

    /// Adds one. Release: a thread that sees a count by [`acquire`](Self::acquire) sees what was
    /// done before. The owner only.
    #[inline]
    fn bump(&self) {
        let next = self.0.load(Ordering::Relaxed) + 1;
        self.0.store(next, Ordering::Release);
    }

    /// Sets the counter. The owner only.
    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The counter's value.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The counter's value, after what was done before it was reached.
    #[inline]
    pub(crate) fn acquire(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// A value of [`BusySince`]: the processor sleeps, or is about to wake up.
const RESTING: u64 = u64::MAX;

/// A value of [`BusySince`]: the processor has woken up to look after others, and has found nothing
/// to run so far.
const LOOKING: u64 = u64::MAX - 1;

/// The time at which a processor last became busy, in nanoseconds of the cluster's life,
/// [`RESTING`], or [`LOOKING`].
#[derive(Debug)]
struct BusySince(AtomicU64);

impl Default for BusySince {
    fn default() -> Self {
        Self(AtomicU64::new(RESTING))
    }
}

/// What is done for a processor that does not come to it, as one fibre keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RescuerAction {
    /// Fibres that are ready there run elsewhere.
    Fibres = 0,
    /// Waits of its fibres end, as their deadlines have passed.
    Timers = 1,
    /// Its events are asked for.
    Polls = 2,
}

/// How often each of these was done. Any thread counts: it is rare.
#[derive(Debug, Default)]
pub(crate) struct RescuerCounts([AtomicU64; 3]);

impl RescuerCounts {
    /// Adds to one of them. Any thread.
    fn add(&self, what: RescuerAction, more: u64) {
        self.0[what as usize].fetch_add(more, Ordering::Relaxed);
    }

    /// How often this was done.
    fn get(&self, what: RescuerAction) -> u64 {
        self.0[what as usize].load(Ordering::Relaxed)
    }
}

/// The counts of one processor.
#[derive(Debug, Default)]
pub(crate) struct ProcessorStats {
    /// Fibres spawned by fibres of this processor.
    pub spawned: Count,
    /// Services that the processor has done.
    services: Count,
    /// Fibres that started on this processor.
    started: Count,
    /// Fibres that ended on this processor.
    pub finished: Count,
    /// Whether it is busy, and since when.
    busy_since: BusySince,
    /// The difference between `spawned` and the next fibre's number, unless that begins a block.
    numbering: AtomicU64,
    /// The kernel's number of its thread; zero before that has begun.
    thread: AtomicI32,
    /// Whether its thread will never end, because fibres were left there.
    stays: AtomicBool,
    /// How often it has let a fibre run, up to its last service or sleep.
    pub switches: Count,
    /// Its sleeps.
    pub parks: Count,
    /// Sleeps that another thread has ended, up to its last but one.
    pub wakes: Count,
    /// Sleeps that ended without anything to run before the next one.
    pub wakes_in_vain: Count,
    /// How often it has tried to take a fibre of another processor that had some.
    pub steals_tried: Count,
    /// How often it has got one.
    pub steals: Count,
    /// Stacks that its own cache did not have.
    pub stack_misses: Count,
    /// Fibres that have ended here by a panic.
    pub panics: Count,
    /// What is counted seldom, once its thread has begun.
    seldom: LazyBox<LazyCounts>,
}

/// Counts that a processor has once its thread has begun. So a place for one stays small, and
/// others do not write beside what the processor counts. They are there before anything is counted,
/// as there may be no memory then.
#[derive(Debug, Default)]
pub(crate) struct LazyCounts {
    /// Thread blocks that fibres with thread-locals of their own have begun with here.
    pub blocks_taken: Count,
    /// Thread blocks of ended fibres among these, which were made like new.
    pub blocks_renewed: Count,
    /// Thread blocks that fibres have left here at their ends.
    pub blocks_left: Count,
    /// What others have done for the processor while one fibre kept it.
    rescues: RescuerCounts,
}

impl LazyCounts {
    /// These counts, as others read them.
    fn counters(&self) -> Counters {
        Counters {
            blocks_taken: self.blocks_taken.get(),
            blocks_renewed: self.blocks_renewed.get(),
            blocks_left: self.blocks_left.get(),
            rescued_fibres: self.rescues.get(RescuerAction::Fibres),
            rescued_timers: self.rescues.get(RescuerAction::Timers),
            rescue_polls: self.rescues.get(RescuerAction::Polls),
            ..Counters::default()
        }
    }
}

impl ProcessorStats {
    /// What is counted seldom, if the processor's thread has begun. Any thread.
    pub(crate) fn seldom(&self) -> Option<&LazyCounts> {
        self.seldom.get()
    }

    /// Counts what has been done for the processor while one fibre kept it. Any thread.
    pub(crate) fn add_rescues(&self, what: RescuerAction, more: u64) {
        if let Some(counts) = self.seldom() {
            counts.rescues.add(what, more);
        }
    }

    /// Counts one more spawned fibre; returns its number.
    #[inline]
    pub(crate) fn count_spawned(&self) -> u64 {
        let before = self.spawned.get();
        if before.is_multiple_of(BLOCK) {
            let numbering = numbers::take_block().wrapping_sub(before);
            self.numbering.store(numbering, Ordering::Relaxed);
        }
        self.spawned.bump();
        self.numbering.load(Ordering::Relaxed).wrapping_add(before)
    }

    /// Counts one more service.
    pub(crate) fn count_service(&self) {
        self.services.bump();
    }

    /// The number of services: a processor whose fibres switch does one every 200 µs or so.
    pub(crate) fn services(&self) -> u64 {
        self.services.get()
    }

    /// Counts one more fibre that has started here.
    #[inline]
    pub(crate) fn count_started(&self) {
        self.started.bump();
    }

    /// Counts one more fibre that ended.
    #[inline]
    pub(crate) fn count_finished(&self) {
        self.finished.bump();
    }

    /// Notes the kernel's number of the processor's thread.
    pub(crate) fn set_thread(&self, thread: i32) {
        let _ = self.seldom.get_or_make();
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// The kernel's number of the processor's thread. `None`: the thread has not begun.
    pub(crate) fn thread(&self) -> Option<i32> {
        Some(self.thread.load(Ordering::Relaxed)).filter(|thread| *thread != 0)
    }

    /// Notes that the processor's thread will never end. Called before the orders learn that the
    /// processor has ended; their lock orders this.
    pub(crate) fn set_stays(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Whether the processor's thread will never end. Asked of a processor that has ended, as the
    /// orders have said.
    pub(crate) fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed)
    }

    /// Fibres that fibres of this processor have spawned, that have started here, and that have
    /// ended here.
    pub(crate) fn fibres(&self) -> [u64; 3] {
        // Ends first: a fibre that starts and ends in between is none that has only ended.
        let finished = self.finished.acquire();
        let started = self.started.acquire();
        [self.spawned.acquire(), started, finished]
    }

    /// How many living fibres have started here, as far as they do not move; a hint.
    pub(crate) fn residents(&self) -> u64 {
        let finished = self.finished.get();
        let started = self.started.get();
        started.saturating_sub(finished)
    }

    /// Notes the time at which the processor became busy.
    pub(crate) fn set_busy_since(&self, nanoseconds: u64) {
        self.busy_since.0.store(nanoseconds, Ordering::Relaxed);
    }

    /// Notes that the processor goes to sleep.
    pub(crate) fn set_idle(&self) {
        self.busy_since.0.store(RESTING, Ordering::Relaxed);
    }

    /// Notes that the processor has woken up, but not for work.
    pub(crate) fn set_looking(&self) {
        self.busy_since.0.store(LOOKING, Ordering::Relaxed);
    }

    /// The time since which the processor has had work; `None` if it has none.
    pub(crate) fn works_since(&self) -> Option<u64> {
        self.busy_since().filter(|since| *since != LOOKING)
    }

    /// The time at which the processor became busy; `None` if it has not yet. A hint.
    pub(crate) fn busy_since(&self) -> Option<u64> {
        let since = self.busy_since.0.load(Ordering::Relaxed);
        (since != RESTING).then_some(since)
    }

    /// Adds looks for a fibre to the switches, less those in `vain`. Returns those of the latter
    /// that are still to be taken off: the look itself may be counted later.
    pub(crate) fn add_looks(&self, looks: u32, vain: u32) -> u32 {
        let known = vain.min(looks);
        self.switches.add(u64::from(looks - known));
        vain - known
    }

    /// What it has counted so far, as others read it.
    pub(crate) fn counters(&self) -> Counters {
        let [spawned, started, ended] = self.fibres();
        let seldom = self.seldom.get().map(LazyCounts::counters);
        Counters {
            switches: self.switches.get(),
            spawned,
            started,
            ended,
            panicked: self.panics.get(),
            steals_tried: self.steals_tried.get(),
            steals: self.steals.get(),
            parks: self.parks.get(),
            wakes: self.wakes.get(),
            wakes_in_vain: self.wakes_in_vain.get(),
            stack_misses: self.stack_misses.get(),
            ..seldom.unwrap_or_default()
        }
    }
}

/// What a processor, or several of them, have counted since they began. See
/// [`metrics`](crate::internal::metrics).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// How often a fibre was resumed; a fibre that yields and goes on at once, as no other is
    /// ready, counts, too. Up to the last service of each processor: some 200 µs or 256 switches
    /// ago, or when it fell asleep.
    pub switches: u64,
    /// Fibres that have been spawned: of a processor, by its fibres. An activity counts each time
    /// that it is made ready.
    pub spawned: u64,
    /// Fibres that have begun to run.
    pub started: u64,
    /// Fibres that have ended, or left for another cluster.
    pub ended: u64,
    /// Fibres that have ended by a panic.
    pub panicked: u64,
    /// How often a processor tried to take a fibre from another one that had some to take.
    pub steals_tried: u64,
    /// How often it got one.
    pub steals: u64,
    /// How often a processor fell asleep.
    pub parks: u64,
    /// Sleeps that another thread has ended. Counted when the processor falls asleep again.
    pub wakes: u64,
    /// Sleeps that ended without anything to run: the processor slept again.
    pub wakes_in_vain: u64,
    /// How often the kernel was asked for the events of descriptors; the last call may still wait.
    pub polls: u64,
    /// Polls that found no event.
    pub empty_polls: u64,
    /// Events of descriptors, and interrupts of sleeps, that the kernel has told of.
    pub events: u64,
    /// Waits that ended by their deadlines.
    pub timers_fired: u64,
    /// By how much they were noticed late, all together.
    pub timer_lateness: Duration,
    /// By how much the latest one was.
    pub latest_timer: Duration,
    /// Fibres that began on a stack which their processor did not have at hand.
    pub stack_misses: u64,
    /// Thread blocks that fibres have begun with, in clusters with
    /// [`own_thread_locals`](crate::ClusterBuilder::own_thread_locals).
    pub blocks_taken: u64,
    /// Those of them that were there before, and were made like new. The C library makes the
    /// others, which takes some 50 µs each.
    pub blocks_renewed: u64,
    /// Thread blocks that fibres have given back at their ends.
    pub blocks_left: u64,
    /// Fibres that were ready at a processor, and that others have taken as one fibre had kept it
    /// for long.
    pub rescued_fibres: u64,
    /// Waits there that others have ended, as their deadlines had passed.
    pub rescued_timers: u64,
    /// How often others have asked for the events of such a processor.
    pub rescue_polls: u64,
}

impl Counters {
    /// Fibres that began on a stack which their processor had at hand.
    #[must_use]
    pub fn stack_hits(&self) -> u64 {
        self.started.saturating_sub(self.stack_misses)
    }

    /// Thread blocks that fibres have taken and not given back. A fibre may take its block along to
    /// another cluster, so this is known of all clusters together, gone ones included.
    pub(crate) fn blocks_in_fibres(&self) -> u64 {
        self.blocks_taken.saturating_sub(self.blocks_left)
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.switches += other.switches;
        self.spawned += other.spawned;
        self.started += other.started;
        self.ended += other.ended;
        self.panicked += other.panicked;
        self.steals_tried += other.steals_tried;
        self.steals += other.steals;
        self.parks += other.parks;
        self.wakes += other.wakes;
        self.wakes_in_vain += other.wakes_in_vain;
        self.polls += other.polls;
        self.empty_polls += other.empty_polls;
        self.events += other.events;
        self.timers_fired += other.timers_fired;
        self.timer_lateness += other.timer_lateness;
        self.latest_timer = self.latest_timer.max(other.latest_timer);
        self.stack_misses += other.stack_misses;
        self.blocks_taken += other.blocks_taken;
        self.blocks_renewed += other.blocks_renewed;
        self.blocks_left += other.blocks_left;
        self.rescued_fibres += other.rescued_fibres;
        self.rescued_timers += other.rescued_timers;
        self.rescue_polls += other.rescue_polls;
    }
}

impl Add for Counters {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// What the clusters have counted that are gone.
static GONE: Mutex<Option<Counters>> = Mutex::new(None);

/// Adds what a cluster has counted that is gone.
pub(crate) fn add_gone(counters: Counters) {
    let mut gone = GONE.lock();
    *gone = Some(gone.unwrap_or_default() + counters);
}

/// What the clusters have counted that are gone.
pub(crate) fn gone() -> Counters {
    GONE.lock().unwrap_or_default()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A count that is less than zero for a moment is a huge one for whoever reads it then.
    #[test]
    fn a_look_in_vain_waits_for_its_look() {
        let stats = ProcessorStats::default();
        assert_eq!(stats.add_looks(0, 1), 1);
        assert_eq!(stats.switches.get(), 0);
        assert_eq!(stats.add_looks(3, 1), 0);
        assert_eq!(stats.switches.get(), 2);
        assert_eq!(stats.add_looks(2, 5), 3);
        assert_eq!(stats.switches.get(), 2);
    }
}
