//! An idle processor watches those that do not come to look at their events.
//!
//! A processor polls when it has nothing to run, and at each service. A fibre that computes for
//! long keeps it from both. So it keeps events from fibres of other processors, and from fibres
//! that might move there. It keeps an activity that it has made ready, too, of which it has told no
//! thief. Where started fibres move, it also keeps fibres that others have woken,
//! as waking one wakes no thief, and fibres whose deadlines have passed.
//!
//! So a sleeping processor wakes up every [`TICK`], polls for those that have done nothing else
//! since the last time, and lets their deadlines pass. From then until the next look, a waker of a
//! fibre that is at home there calls a thief: else fibres that wake each other by turns would wait
//! for a tick each time. After [`LINGER`] ticks at which no processor had done anything the watcher
//! sleeps on without; a processor that then becomes busy calls for a watcher
//! ([`crate::idle::watchers`]). So a call comes once in some milliseconds at most, however many
//! events there are, and an idle cluster is idle.

use crate::scheduler::domain::Domain;
use crate::wait::timer::BATCH;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The time between two looks of the first watcher: the longest wait of events and deadlines, once
/// their processor has been kept for so long. The second one looks half as often, the third one a
/// third as often, and so on, so that many watchers look little more often than few. A look costs
/// some 15 µs of a CPU that has nothing else to do.
const TICK: Duration = Duration::from_millis(1);

/// The longest such time: what events wait if all other watchers have just become busy.
const LONGEST_TICK: Duration = Duration::from_millis(16);

/// Ticks without anything done after which there is nothing to watch.
const LINGER: u32 = 8;

/// What a watcher remembers. For its own thread only.
#[derive(Debug)]
pub(super) struct Watcher {
    /// The processor's place in the domain.
    index: usize,
    /// When the next look is due, if the processor watches.
    due: Cell<Option<Instant>>,
    /// How many looks in a row found that no processor had done anything.
    quiet: Cell<u32>,
    /// For each processor: the time since which it was busy at the last look, and its services.
    seen: RefCell<Vec<(Option<u64>, u64)>>,
}

impl Watcher {
    /// The watcher that processor `index` is.
    pub(super) fn new(index: usize) -> Self {
        Self {
            index,
            due: Cell::new(None),
            quiet: Cell::new(0),
            seen: RefCell::default(),
        }
    }

    /// When to wake up for a look, if there is anything to watch. Called before each sleep.
    #[inline]
    pub(super) fn begin(&self, domain: &Domain, now: Instant) -> Option<Instant> {
        if !self.is_needed(domain) {
            return None;
        }
        let watch = &domain.commons.watch;
        if self.quiet.get() >= LINGER {
            // The order matters, see `Watch`.
            let _ = watch.is_off();
            if !self.others_are_busy(domain) {
                return None;
            }
            self.quiet.set(0);
        }
        let watchers = u32::try_from(watch.begin()).unwrap_or(u32::MAX);
        let due = self.due.get().filter(|due| *due > now);
        let due = due.unwrap_or_else(|| now + TICK.saturating_mul(watchers).min(LONGEST_TICK));
        self.due.set(Some(due));
        Some(due)
    }

    /// Called after a sleep that began with `watch`: looks, if it is time.
    #[inline]
    pub(super) fn end(&self, domain: &Domain, watch: Option<Instant>, now: Instant) {
        if let Some(due) = watch {
            domain.commons.watch.end();
            if due <= now {
                self.look(domain, now);
            }
        }
    }

    /// Sees to it that another processor watches this one, which has just said that it is busy.
    #[inline]
    pub(super) fn call(&self, domain: &Domain) {
        if self.is_needed(domain) && domain.commons.watch.is_off() {
            self.quiet.set(0);
            domain.commons.wake_one(self.index);
        }
    }

    /// Whether a busy processor of this cluster keeps something that others could do.
    #[inline]
    pub(super) fn is_needed(&self, domain: &Domain) -> bool {
        domain.processors() > 1 && self.is_any_left_alone(domain)
    }

    /// Whether a processor is left alone with it; see [`is_needed`](Self::is_needed).
    #[inline(never)]
    fn is_any_left_alone(&self, domain: &Domain) -> bool {
        let halt = domain.queues()[self.index].halt();
        domain.settings.moves_started
            || domain.is_kept_quietly()
            || halt.is_some_and(|halt| halt.needs_watch())
    }

    /// Polls, and fires what is due, for processors that have been busy since the last look and
    /// have done neither. What they have for others is stolen afterwards, as after each sleep.
    fn look(&self, domain: &Domain, time: Instant) {
        let mut seen = self.seen.borrow_mut();
        let known = seen.len();
        seen.resize(domain.processors(), (None, 0));
        let mut anything = false;
        for index in (0..seen.len()).filter(|index| *index != self.index) {
            let tally = domain.tally(index);
            let now = (tally.works_since(), tally.services());
            let before = std::mem::replace(&mut seen[index], now);
            anything |= now.0.is_some() || now != before;
            let stuck = index < known && now.0.is_some() && now == before;
            // Until the next look, a waker that brings it a fibre calls a thief.
            domain.queues()[index].set_stuck(stuck);
            if stuck && domain.settings.moves_started {
                // The processor fires the rest when it comes to it, or we do the next time.
                let _ = domain.timers(index).fire(time, BATCH);
            }
            if stuck {
                domain.poll_for(index, |_| true);
            }
        }
        let quiet = self.quiet.get();
        self.quiet.set(if anything { 0 } else { quiet + 1 });
    }

    /// Whether another processor runs something.
    fn others_are_busy(&self, domain: &Domain) -> bool {
        let mut others = (0..domain.processors()).filter(|index| *index != self.index);
        others.any(|index| domain.tally(index).works_since().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Settings;
    use crate::queue::{Link, Popped, Runnable};
    use crate::ready::ReadyQueue;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// Whether a thief is called for a fibre that a foreign thread wakes on the first of two
    /// processors, while the second one sleeps.
    fn calls(domain: &Domain) -> bool {
        let (link, first) = (Link::new(), &domain.queues()[0]);
        let node = NonNull::from(&link);
        domain.commons.idle.enter(1);
        // SAFETY: the link is queued once, and is taken out before it goes.
        unsafe { ReadyQueue::push_woken(Arc::as_ptr(first), Runnable::new(node), |_| 0) };
        let stolen = first.steal().map(|runnable| runnable.node());
        assert_eq!(stolen, Popped::Node(node));
        let called = !domain.commons.idle.is_any();
        domain.commons.idle.leave(1);
        called
    }

    #[test]
    fn who_is_kept_by_one_fibre_needs_a_thief() {
        let mut settings = Settings::from_environment();
        (settings.moves_started, settings.sharing) = (true, false);
        let domain = Domain::new(2, settings);
        let watcher = Watcher::new(1);
        let called_after_look = || {
            watcher.look(&domain, Instant::now());
            calls(&domain)
        };
        assert!(!called_after_look(), "the first one does nothing");
        domain.tally(0).set_busy_since(1);
        assert!(!called_after_look(), "it has just begun");
        assert!(called_after_look());
        assert!(calls(&domain));
        domain.tally(0).count_service();
        assert!(!called_after_look(), "it has done something else since");
        assert!(called_after_look());
        // SAFETY: the queue has no owner, so this thread stands in for it.
        unsafe { domain.queues()[0].as_owner() }.set_resting(true);
        assert!(!calls(&domain), "it has nothing to do by now");
    }
}
