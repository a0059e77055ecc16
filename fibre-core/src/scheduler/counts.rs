//! What a processor counts for metrics.
//!
//! Only its own thread writes, so a plain store will do; anybody may read, and sees numbers that
//! are a moment old. Nothing is counted on the paths that fibres take all the time: switches are
//! those that the countdown to the next service has counted anyway, and are added up when a service
//! comes, or a sleep. All else is counted at detours: a steal, a sleep, a panic.
//!
//! What lies in a queue is counted only when a reader asks for it, see `census`.

use crate::scheduler::census::Answer;
use parking_lot::Mutex;
use std::ops::{Add, AddAssign};
use std::sync::atomic::{AtomicU64, Ordering};
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
}

/// The counts of one processor. See the module text.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// How often it has let a fibre run, up to its last service or sleep.
    pub switches: Count,
    /// Its sleeps.
    pub parks: Count,
    /// Sleeps that another thread has ended, up to its last but one.
    pub wakes: Count,
    /// Those after which it found nothing to run before it slept again.
    pub wakes_in_vain: Count,
    /// How often it has tried to take a fibre of another processor that had some.
    pub steals_tried: Count,
    /// How often it has got one.
    pub steals: Count,
    /// Stacks that its own cache did not have.
    pub stack_misses: Count,
    /// Fibres that have ended here by a panic.
    pub panics: Count,
    /// What it has answered a census.
    pub answer: Answer,
}

impl Counts {
    /// Adds looks for a fibre to the switches, less those in `vain`. Returns those of the latter
    /// that are still to be taken off: the look itself may be counted later.
    pub(crate) fn add_looks(&self, looks: u32, vain: u32) -> u32 {
        let known = vain.min(looks);
        self.switches.add(u64::from(looks - known));
        vain - known
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
    /// Those after which the processor found nothing to run, and slept again.
    pub wakes_in_vain: u64,
    /// How often the kernel was asked for the events of descriptors; the last call may still wait.
    pub polls: u64,
    /// Polls that found no event.
    pub empty_polls: u64,
    /// Events of descriptors, and interrupts of sleeps, that the kernel has told of.
    pub events: u64,
    /// Deadlines that have passed before what was waited for had come.
    pub timers_fired: u64,
    /// By how much they were noticed late, all together.
    pub timer_lateness: Duration,
    /// By how much the latest one was.
    pub latest_timer: Duration,
    /// Fibres that began on a stack which their processor did not have at hand.
    pub stack_misses: u64,
}

impl Counters {
    /// Fibres that began on a stack which their processor had at hand.
    #[must_use]
    pub fn stack_hits(&self) -> u64 {
        self.started.saturating_sub(self.stack_misses)
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
        let counts = Counts::default();
        assert_eq!(counts.add_looks(0, 1), 1);
        assert_eq!(counts.switches.get(), 0);
        assert_eq!(counts.add_looks(3, 1), 0);
        assert_eq!(counts.switches.get(), 2);
        assert_eq!(counts.add_looks(2, 5), 3);
        assert_eq!(counts.switches.get(), 2);
    }
}
