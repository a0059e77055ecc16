//! What a processor does that has nothing to do.
//!
//! The order matters, and is what `tests/loom_idle.rs` checks:
//!
//! 1. announce: enter the idle set, so that new work is sent here;
//! 2. arm the own queues: from now on a push wakes us;
//! 3. look once more: at the others' queues, and whether it is all over;
//! 4. sleep: until a push, an event, or the next deadline;
//! 5. take it all back.
//!
//! It also wakes up to give back the memory of stacks that nobody needs, while there is any.
//!
//! Before all that it may spin for a moment ([`spin`](super::spin)), as a processor that is not in its
//! queue costs those who push nothing.
//!
//! A push before 2 makes arming fail; a push after it wakes us. Work that appears at
//! another processor before 1 is seen in 3, and its producer sees 1 if it comes
//! later.

use super::Processor;
use crate::steal::Mood;
use crate::timer::BATCH;
use std::time::{Duration, Instant};

/// Refusals after which the thread gives its CPU to the producer it waits for.
const PATIENCE: u32 = 4;

/// Refusals after which it even sleeps for a moment.
const LONG_PATIENCE: u32 = 64;

/// So many of those sleeps later, about a millisecond, it takes what others are being woken for: what it takes stays
/// with it, so that it had better be late than lose the balance for good.
const LONGER: u32 = 10;

impl Processor {
    /// Sleeps until there may be work. `true`: it is all over.
    pub(super) fn rest(&self) -> bool {
        if self.leaving.get() {
            return true;
        }
        if self.poll_if_due() {
            self.note_work(|| !self.ready.is_empty());
            return false;
        }
        self.ready.set_resting(true);
        let over = self.rest_until_woken();
        self.ready.set_resting(false);
        self.note_work(|| !self.ready.is_empty());
        over
    }

    /// See [`rest`](Self::rest).
    fn rest_until_woken(&self) -> bool {
        // What it finds may be a push in flight: then the next rest does without.
        if self.refusals.get() == 0
            && self
                .spin
                .until(|| !self.ready.is_empty(), || self.poll_events())
        {
            self.refusals.set(1);
            return false;
        }
        self.domain.commons.idle.enter(self.index);
        let over = if self.ready.arm() {
            self.sleep_unless_needed()
        } else {
            self.wait_for_producer();
            false
        };
        self.ready.disarm();
        self.domain.commons.idle.leave(self.index);
        over
    }

    /// Steps 3 and 4, with the queues armed. `true`: it is all over.
    fn sleep_unless_needed(&self) -> bool {
        if self.domain.is_over() {
            // The others may have looked before our last fibre was counted.
            self.domain.unpark_all();
            return true;
        }
        if self.domain.commons.has_work() || self.thief.has_victim(&self.domain) {
            // What is there may be in flight, or in another thief's hands.
            self.wait_for_producer();
            return false;
        }
        self.refusals.set(0);
        if self.poll_if_due() {
            return false;
        }
        let before = Instant::now();
        let watch = self.watcher.begin(&self.domain, before);
        let decay = self.stacks.decay_due(&self.domain.stacks);
        let look = self.thief.next_look(&self.domain);
        let deadline = self
            .timers
            .next()
            .into_iter()
            .chain(decay)
            .chain(look)
            .chain(watch)
            .min();
        self.domain.tally(self.index).set_resting();
        self.ready.sleep(deadline);
        let halt = self.ready.halt();
        self.polling.begin(halt.map_or(0, |halt| halt.delivered()));
        self.wake_up(before, deadline, watch);
        false
    }

    /// Delivers events before it sleeps, if that is its turn. `true`: so it was.
    fn poll_if_due(&self) -> bool {
        let due = self.ready.halt().filter(|halt| halt.is_due());
        due.inspect(|halt| halt.poll()).is_some()
    }

    /// Notes when the processor became busy again, and fires what is due.
    fn wake_up(&self, before: Instant, deadline: Option<Instant>, watch: Option<Instant>) {
        let now = Instant::now();
        self.watcher.end(&self.domain, watch, now);
        if self.domain.spins() {
            // A push, or an event; a deadline has not fired yet.
            let by_others = !self.ready.is_empty();
            self.spin.slept(now - before, by_others);
        }
        self.last_service.set(now);
        // Whoever gives an order wakes us for it.
        let obeys = self.domain.orders.is_any();
        let interval = self.service_interval.get();
        self.plan_service(if obeys { 0 } else { interval });
        // Nothing else can be due: it was the earliest.
        if deadline.is_some_and(|deadline| deadline <= now) {
            self.fire_timers(now, BATCH);
            self.stacks.decay(now, &self.domain.stacks);
        }
        if self.ready.is_empty() {
            self.domain.tally(self.index).set_looking();
        } else {
            self.become_busy(now);
        }
    }

    /// Notes that the processor, which had woken up for nothing, has work after all, if it has.
    pub(super) fn note_work(&self, has_work: impl FnOnce() -> bool) {
        if self.domain.tally(self.index).is_looking() && has_work() {
            self.become_busy(Instant::now());
        }
    }

    /// Says that the processor does something, and sees to it that somebody watches it.
    fn become_busy(&self, now: Instant) {
        self.note_busy(now);
        self.domain.tally(self.index).count_service();
        self.watcher.call(&self.domain);
    }

    /// Tells thieves since when the processor has been busy.
    pub(super) fn note_busy(&self, now: Instant) {
        let age = now.duration_since(self.epoch).as_nanos();
        self.domain
            .tally(self.index)
            .set_busy_since(u64::try_from(age).unwrap_or(u64::MAX / 2));
    }

    /// How far it goes to find work: further once what should have come long ago has not.
    pub(super) fn mood(&self) -> Mood {
        if self.refusals.get() > LONG_PATIENCE + LONGER {
            Mood::Impatient
        } else {
            Mood::Patient
        }
    }

    /// The queue is not empty, yet gave nothing: a producer is half-way, or a
    /// thief is at it, or another processor has not yet woken up for its work. It may have
    /// lost its CPU, so do not spin for long.
    fn wait_for_producer(&self) {
        let refusals = self.refusals.get().saturating_add(1);
        self.refusals.set(refusals);
        if refusals > LONG_PATIENCE {
            std::thread::sleep(Duration::from_micros(50));
        } else if refusals > PATIENCE {
            std::thread::yield_now();
        }
    }
}
