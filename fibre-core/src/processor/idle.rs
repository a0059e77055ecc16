//! What a processor without work does.
//!
//! It announces that it has nothing to do, arms its queues, looks once more at the others' queues
//! and for the cluster's end, and sleeps until a push, an event, or the next deadline. Values prove
//! the order of these steps ([`crate::idle::armed`]); `tests/loom/idle.rs` checks that it is right.
//!
//! The processor also wakes up to give back the memory of unneeded stacks, while it has any.
//!
//! Before all that it may spin for a moment ([`spin`](super::spin)), since waking a sleeping
//! processor costs the pushers time.
//!
//! A push before the queues are armed makes arming fail; a push after it wakes the processor. Work
//! that appears at another processor before the announcement is seen in the last look, and a
//! producer of later work sees the announcement.

use super::calls::Call;
use super::watch::WatchTimer;
use super::{Next, Processor};
use crate::idle::armed::Armed;
use crate::idle::monitor_call::MONITOR;
use crate::idle::parker::Driver;
use crate::ready::Owner;
use crate::scheduler::steal::StealMode;
use crate::sync::pause;
use crate::trace::TracePhase;
use crate::wait::timer::BATCH;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Refusals before the thread gives its CPU to the producer it waits for.
const PATIENCE: u32 = 4;

/// Refusals before the thread even sleeps for a moment.
const LONG_PATIENCE: u32 = 64;

/// The number of those sleeps, about a millisecond, before it also takes fibres that another
/// processor is being woken for. It waits first: those fibres then stay here, and the load stays
/// uneven.
const LONGER: u32 = 10;

/// How often a processor that spins for long looks at what the others have.
const TICK: Duration = Duration::from_millis(1);

/// The earlier of two moments.
fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

impl Processor {
    /// Sleeps until there may be work.
    pub(super) fn go_idle(&self) -> Next {
        if self.ready.is_aside() {
            self.stand_aside();
        }
        if self.poll_if_due() {
            return Next::Again;
        }
        self.own().set_idle(true);
        let next = self.idle_until_woken();
        self.own().set_idle(false);
        next
    }

    /// The part of [`go_idle`](Self::go_idle) up to the wake-up.
    fn idle_until_woken(&self) -> Next {
        // What it finds may be a push in flight: then the next rest does without.
        if self.idle.refusals.get() == 0 && self.spin_until_needed() {
            self.idle.refusals.set(1);
            return Next::Again;
        }
        let call = self.call();
        if call != Call::Nobody {
            self.idle.took_part.set(true);
        }
        match self.own().announce(call.is_open()).arm() {
            Ok(armed) => self.sleep_unless_needed(armed, call),
            Err(_announced) => {
                self.wait_for_producer();
                Next::Again
            }
        }
    }

    /// Spins, if that is worth while. `true`: something may have been pushed. Whatever else would
    /// end a sleep ends the spin, and the steps of the rest that follow find it.
    fn spin_until_needed(&self) -> bool {
        let next_tick = Cell::new(None);
        let begin = |now| {
            next_tick.set(Some(now + TICK));
            let decay = self.memory.stacks.decay_due(&self.domain.stacks);
            self.timers.next().into_iter().chain(decay).min()
        };
        let look = |now| {
            self.poll_events();
            if self.domain.control.is_any() || self.domain.is_over() {
                return false;
            }
            if next_tick.get().is_some_and(|tick| now < tick) {
                return true;
            }
            next_tick.set(Some(now + TICK));
            !self.is_needed_by_others()
        };
        self.idle.spin.until(|| !self.own().is_empty(), begin, look)
    }

    /// Whether others have work that only processors in the idle set hear of, or should be watched.
    fn is_needed_by_others(&self) -> bool {
        self.domain.shared_queues.has_work()
            || self.thief.has_victim(&self.domain)
            || self.thief.next_look(&self.domain).is_some()
            || self.watcher.is_needed(&self.domain)
    }

    /// Looks once more, and sleeps. A processor that stands aside sleeps until there is something
    /// of its own to do.
    fn sleep_unless_needed(&self, armed: Armed<'_, Owner<'_>>, call: Call) -> Next {
        let aside = call == Call::Nobody;
        if self.domain.is_over() {
            // The others may have looked before our last fibre was counted.
            self.domain.unpark_all();
            return Next::End;
        }
        if !aside && (self.domain.shared_queues.has_work() || self.thief.has_victim(&self.domain)) {
            // The work there may be in flight, or in another thief's hands.
            self.wait_for_producer();
            return Next::Again;
        }
        self.idle.refusals.set(0);
        if self.poll_if_due() {
            return Next::Again;
        }
        let before = Instant::now();
        let watch = self.for_others(aside, || self.watcher.begin(&self.domain, before));
        let decay = self.memory.stacks.decay_due(&self.domain.stacks);
        let look = self.for_others(aside, || self.thief.next_look(&self.domain));
        let look_after = watch.and_then(WatchTimer::deadline);
        let ends = [self.timers.next(), decay, look, look_after, call.deadline()];
        let deadline = ends.into_iter().fold(None, earlier);
        self.count_park();
        self.stats().set_idle();
        self.begin_sleep();
        let announced = armed.sleep(deadline);
        self.idle.woken.set(announced.was_woken());
        if call == Call::Counted && !self.domain.shared_queues.idle.contains(self.index) {
            self.idle.calls.add();
        }
        self.end_sleep(announced.was_woken());
        let driver = self.ready.driver();
        self.polling
            .begin(driver.map_or(0, |driver| driver.delivered()));
        self.wake_up(before, deadline, watch);
        Next::Again
    }

    /// Answers a count request, if there is one: `count` returns what is queued here, if it can
    /// tell.
    #[inline]
    pub(super) fn answer(&self, count: impl FnOnce() -> Option<usize>) {
        self.domain.queued.counts[self.index].give(&self.domain.queued.request, count);
    }

    /// Counts a sleep that is about to begin, and how the last one has ended.
    fn count_park(&self) {
        let stats = self.stats();
        self.add_up(self.service.planned.get() - self.service.left.get());
        stats.parks.add(1);
        if self.idle.woken.get() {
            stats.wakes.add(1);
            let in_vain = stats.works_since().is_none();
            stats.wakes_in_vain.add(u64::from(in_vain));
        }
        // A reader that is a fibre of this processor never finds it asleep.
        self.answer(|| Some(0));
    }

    /// What to do for others in a sleep; nothing for a processor that stands aside.
    fn for_others<T>(&self, aside: bool, when: impl FnOnce() -> Option<T>) -> Option<T> {
        if aside { None } else { when() }
    }

    /// Delivers events before the processor sleeps, if that is its turn. `true`: it was.
    #[inline(always)]
    fn poll_if_due(&self) -> bool {
        let due = self.ready.driver().filter(|driver| driver.is_due());
        let poll = |driver: &&Arc<dyn Driver>| {
            self.begin_phase(TracePhase::Polls);
            driver.poll();
            self.end_poll(driver);
        };
        due.inspect(poll).is_some()
    }

    /// Notes when the processor became busy again, and fires what is due.
    fn wake_up(&self, before: Instant, deadline: Option<Instant>, watch: Option<WatchTimer>) {
        let now = Instant::now();
        self.watcher.end(&self.domain, watch, before, now);
        if self.domain.spins() {
            // A push, or an event; a deadline has not fired yet.
            let by_others = !self.own().is_empty();
            self.idle.spin.slept(now - before, by_others);
        }
        self.service.last.set(now);
        // A handle that gives an order wakes us for it.
        let obeys = self.domain.control.is_any() || self.ready.is_aside();
        let interval = self.service.interval.get();
        self.plan_service(if obeys { 0 } else { interval });
        // Nothing else can be due: it was the earliest.
        if deadline.is_some_and(|deadline| deadline <= now) {
            self.fire_timers(now, BATCH);
            self.memory.stacks.decay(now, &self.domain.stacks);
        }
        if self.own().is_empty() {
            self.stats().set_looking();
        } else {
            self.become_busy(now);
        }
    }

    /// Notes that the processor, which may have woken up for nothing, has work after all.
    pub(super) fn note_work(&self) {
        if self.stats().works_since().is_none() {
            self.become_busy(Instant::now());
        }
    }

    /// Says that the processor has work, and sees to it that another one watches it.
    pub(super) fn become_busy(&self, now: Instant) {
        self.note_busy(now);
        self.stats().count_service();
        self.watcher.call(&self.domain);
        MONITOR.call();
    }

    /// Tells thieves since when the processor has been busy.
    pub(super) fn note_busy(&self, now: Instant) {
        let age = now.duration_since(self.epoch).as_nanos();
        self.domain
            .stats(self.index)
            .set_busy_since(u64::try_from(age).unwrap_or(u64::MAX / 2));
    }

    /// How far the processor goes to find work: further once what should have come long ago has
    /// not.
    pub(super) fn mode(&self) -> StealMode {
        if self.idle.refusals.get() > LONG_PATIENCE + LONGER {
            StealMode::Any
        } else {
            StealMode::SkipWaking
        }
    }

    /// Waits when the queue is not empty, yet gave nothing: a producer is half-way, or a thief
    /// holds the queue, or another processor has not yet woken up for its work. The other thread
    /// may have lost its CPU, so this does not spin for long.
    fn wait_for_producer(&self) {
        let refusals = self.idle.refusals.get().saturating_add(1);
        self.idle.refusals.set(refusals);
        if refusals > LONG_PATIENCE {
            pause(Duration::from_micros(50));
        } else if refusals > PATIENCE {
            std::thread::yield_now();
        }
    }
}
