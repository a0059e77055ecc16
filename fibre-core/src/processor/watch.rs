//! An idle processor watches processors that do not get to poll for their events.
//!
//! A processor polls when it has nothing to run, and at each service. A fibre that computes for
//! long keeps it from both. So it keeps events from fibres of other processors, and from fibres
//! that might move there. It also keeps an activity that it has made ready, if it has told no thief
//! of that. Where started fibres move, it also keeps fibres that others have woken, as waking one
//! wakes no thief, and fibres that have reached their deadlines.
//!
//! So a sleeping processor wakes up every [`TICK`], polls for those that have done nothing else
//! since the last time, and fires their deadlines. From then until the next look, a waker of a
//! fibre that is at home there calls a thief: otherwise fibres that wake each other in turns would
//! wait for a tick each time. After [`LINGER`] ticks without work at any processor the watcher
//! sleeps on without ticks; a processor that then becomes busy calls for a watcher
//! ([`crate::idle::watchers`]). So a call comes once in some milliseconds at most, however many
//! events there are, and an idle cluster stays idle. A processor that has slept for less than these
//! ticks need not call: if there was a watcher, it is still there.
//!
//! A server's processors may sleep for some microseconds a hundred thousand times a second. A timer
//! for each sleep would cost more than the sleep: on a virtual machine the hypervisor is called to
//! set it, and again to clear it. So a processor takes a *nap* if its last sleep was [`BRIEF`], and
//! it has found work after it: it sleeps without a timer, and looks when it is woken after a look
//! has become due. If nobody watches with a timer, the process's monitor calls for a watcher: it
//! looks every 10 ms while any processor is busy (`cluster/monitor.rs`). It also replaces the calls
//! that are left out. Without a monitor nobody naps, and each processor calls. The same holds if
//! the sleeper could run fibres that are ready at the busy processor: these should not wait for 10
//! ms.

use crate::scheduler::domain::Domain;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The time between two looks of the first watcher: the longest wait of events and deadlines, once
/// their processor has been kept for so long. The second one looks half as often, the third one a
/// third as often, and so on, so that many watchers look little more often than few. A look costs
/// some 15 µs of a CPU that has nothing else to do.
const TICK: Duration = Duration::from_millis(1);

/// The longest such time: what events wait if all other watchers have just become busy.
const MAX_TICK: Duration = Duration::from_millis(16);

/// Ticks without anything done before there is nothing to watch.
const LINGER: u32 = 8;

/// A sleep shorter than this was brief. A timer takes some microseconds.
const BRIEF: Duration = Duration::from_micros(100);

/// When a processor that sleeps looks after others.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchTimer {
    /// When the next look is due.
    due: Instant,
    /// Whether the sleep is a nap, which does not end then.
    nap: bool,
}

impl WatchTimer {
    /// When the sleep has to end for it; never in a nap.
    pub(super) fn deadline(self) -> Option<Instant> {
        (!self.nap).then_some(self.due)
    }
}

/// What a watcher remembers. For its own thread only.
#[derive(Debug)]
pub(super) struct Watcher {
    /// The processor's place in the domain.
    index: usize,
    /// When the next look is due, if the processor watches.
    due: Cell<Option<Instant>>,
    /// When its last sleep began and ended; its length is asked for where others can watch.
    slept: Cell<Option<(Instant, Instant)>>,
    /// How many looks in a row found that no processor had done anything.
    quiet: Cell<u32>,
    /// For each processor: since when it was busy at the last look, and its services.
    seen: RefCell<Vec<(Option<u64>, u64)>>,
}

impl Watcher {
    /// The watcher that processor `index` is.
    pub(super) fn new(index: usize) -> Self {
        Self {
            index,
            due: Cell::new(None),
            slept: Cell::new(None),
            quiet: Cell::new(0),
            seen: RefCell::default(),
        }
    }

    /// When to look in the sleep that follows, if there is anything to watch. Called before each
    /// sleep.
    #[inline]
    pub(super) fn begin(&self, domain: &Domain, now: Instant) -> Option<WatchTimer> {
        if !self.is_needed(domain) {
            return None;
        }
        let known = self.due.get().filter(|due| *due > now);
        if self.naps(domain) {
            // The others nap, too, for all that is known.
            let due = known.unwrap_or_else(|| now + after(domain.processors()));
            self.due.set(Some(due));
            return Some(WatchTimer { due, nap: true });
        }
        let watch = &domain.shared_queues.watch;
        if self.quiet.get() >= LINGER {
            // The order matters, see `Watch`.
            let _ = watch.is_off();
            if !domain.is_any_busy_but(self.index) {
                return None;
            }
            self.quiet.set(0);
        }
        let due = now + after(watch.begin());
        let due = known.map_or(due, |known| known.min(due));
        self.due.set(Some(due));
        Some(WatchTimer { due, nap: false })
    }

    /// Whether the processor, which is about to sleep, will nap.
    fn naps(&self, domain: &Domain) -> bool {
        let worked = domain.stats(self.index).works_since().is_some();
        worked && monitor_calls(domain) && !self.slept_for(BRIEF)
    }

    /// Whether the last sleep, if there has been one, was as long as that or longer.
    fn slept_for(&self, length: Duration) -> bool {
        let slept = self.slept.get();
        slept.is_none_or(|(began, ended)| ended - began >= length)
    }

    /// Called after each sleep: looks, if it is time.
    #[inline]
    pub(super) fn end(
        &self,
        domain: &Domain,
        timer: Option<WatchTimer>,
        before: Instant,
        now: Instant,
    ) {
        self.slept.set(Some((before, now)));
        if let Some(WatchTimer { due, nap }) = timer {
            if !nap {
                domain.shared_queues.watch.end();
            }
            if due <= now {
                self.look(domain, now);
            }
        }
    }

    /// Sees to it that another processor watches this one, which has just said that it is busy.
    #[inline]
    pub(super) fn call(&self, domain: &Domain) {
        if self.is_needed(domain)
            && (!monitor_calls(domain) || self.slept_for(LINGER * TICK))
            && domain.shared_queues.watch.is_off()
        {
            self.quiet.set(0);
            domain.shared_queues.wake_one(self.index);
        }
    }

    /// Whether a busy processor of this cluster keeps something that others could do.
    #[inline]
    pub(super) fn is_needed(&self, domain: &Domain) -> bool {
        domain.processors() > 1 && domain.is_any_left_alone(self.index)
    }

    /// Polls, and fires what is due, for processors that have been busy since the last look and
    /// have done neither. What they have for others is stolen afterwards, as after each sleep.
    fn look(&self, domain: &Domain, time: Instant) {
        let mut seen = self.seen.borrow_mut();
        let known = seen.len();
        seen.resize(domain.processors(), (None, 0));
        let mut anything = false;
        for index in (0..seen.len()).filter(|index| *index != self.index) {
            let stats = domain.stats(index);
            let now = (stats.works_since(), stats.services());
            let before = std::mem::replace(&mut seen[index], now);
            anything |= now.0.is_some() || now != before;
            let stuck = index < known && now.0.is_some() && now == before;
            // Until the next look, a waker that brings it a fibre calls a thief.
            domain.queues()[index].set_stuck(stuck);
            if stuck && domain.settings.moves_started {
                domain.fire_for(index, time);
            }
            if stuck {
                domain.poll_for(index, |_| true);
            }
        }
        let quiet = self.quiet.get();
        self.quiet.set(if anything { 0 } else { quiet + 1 });
    }
}

/// How long after now a look is due, if so many watch.
fn after(watchers: usize) -> Duration {
    let watchers = u32::try_from(watchers).unwrap_or(u32::MAX);
    TICK.saturating_mul(watchers).min(MAX_TICK)
}

/// Whether a watcher comes soon enough if only the monitor calls for one.
#[inline]
fn monitor_calls(domain: &Domain) -> bool {
    domain.has_monitor() && !domain.shares_what_is_ready()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::config::settings::Settings;
    use crate::idle::parker::Driver;
    use crate::queue::{Link, Popped, Runnable};
    use crate::ready::ReadyQueue;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// Whether a thief is called for a fibre that a foreign thread wakes on the first of two
    /// processors, while the second one sleeps.
    fn calls(domain: &Domain) -> bool {
        let (link, first) = (Link::new(), &domain.queues()[0]);
        let node = NonNull::from(&link);
        domain.shared_queues.idle.enter(1);
        // SAFETY: the link is queued once, and is taken out before it goes.
        unsafe { ReadyQueue::push_woken(Arc::as_ptr(first), Runnable::new(node), |_| 0) };
        let stolen = first.steal().map(|runnable| runnable.node());
        assert_eq!(stolen, Popped::Node(node));
        let called = !domain.shared_queues.idle.is_any();
        domain.shared_queues.idle.leave(1);
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
        domain.stats(0).set_busy_since(1);
        assert!(!called_after_look(), "it has just begun");
        assert!(called_after_look());
        assert!(calls(&domain));
        domain.stats(0).count_service();
        assert!(!called_after_look(), "it has done something else since");
        assert!(called_after_look());
        // SAFETY: the queue has no owner, so this thread stands in for it.
        unsafe { domain.queues()[0].as_owner() }.set_idle(true);
        assert!(!calls(&domain), "it has nothing to do by now");
    }

    /// A way to sleep that events are kept from while the processor is busy.
    struct Kept;

    impl Driver for Kept {
        fn poll(&self) {}
        fn sleep(&self, _: Option<Instant>) {}
        fn interrupt(&self) {}
        fn retire(&self) {}
    }

    /// A domain of two busy processors that keep events from each other, and where the monitor
    /// looks after them.
    fn monitored(settings: Settings) -> Domain {
        let domain = Domain::new(2, settings);
        for index in 0..2 {
            domain.queues()[index].install_driver(Arc::new(Kept));
            domain.stats(index).set_busy_since(1);
        }
        domain.set_has_monitor(true);
        domain
    }

    /// Whether the second processor sets a timer to look, after a sleep of that length.
    fn sets_timer(domain: &Domain, slept: Duration) -> bool {
        let (watcher, now) = (Watcher::new(1), Instant::now());
        let before = now.checked_sub(slept).unwrap();
        watcher.end(domain, None, before, now);
        let timer = watcher.begin(domain, now).unwrap();
        let nap = timer.deadline().is_none();
        assert_eq!(timer.due, now + if nap { 2 * TICK } else { TICK });
        watcher.end(domain, Some(timer), now, now);
        assert!(domain.shared_queues.watch.is_off());
        timer.deadline().is_some()
    }

    #[test]
    fn naps_follow_brief_sleeps() {
        let domain = monitored(Settings::from_environment());
        let brief = BRIEF / 2;
        assert!(!sets_timer(&domain, brief));
        assert!(sets_timer(&domain, BRIEF));
        domain.stats(1).set_looking();
        assert!(sets_timer(&domain, brief), "it had been woken in vain");
        domain.stats(1).set_busy_since(1);
        domain.set_has_monitor(false);
        assert!(sets_timer(&domain, brief), "nobody would end a long nap");
        domain.set_has_monitor(true);
        domain.keep_quietly(0);
        assert!(sets_timer(&domain, brief), "it could run what is kept");
    }

    /// A processor that naps looks all the same, when it is woken late enough.
    #[test]
    fn who_wakes_up_late_looks() {
        let domain = monitored(Settings::from_environment());
        let watcher = Watcher::new(1);
        let mut now = Instant::now();
        watcher.end(&domain, None, now, now);
        let is_stuck = || domain.queues()[0].is_stuck();
        for looks in 0..2 {
            assert!(!is_stuck(), "after {looks} looks");
            let timer = watcher.begin(&domain, now).unwrap();
            assert!(timer.nap);
            // Woken too early, it goes on with the same timer.
            watcher.end(&domain, Some(timer), now, now);
            let later = watcher.begin(&domain, now).unwrap();
            assert_eq!(later.due, timer.due);
            watcher.end(&domain, Some(later), now, later.due);
            now = later.due;
            watcher.end(&domain, None, now, now);
        }
        assert!(is_stuck());
    }

    /// The monitor calls an idle processor if nobody watches.
    #[test]
    fn the_monitor_calls_for_a_watcher() {
        let domain = monitored(Settings::from_environment());
        let called = || {
            domain.shared_queues.idle.enter(1);
            domain.call_for_watch();
            let called = !domain.shared_queues.idle.is_any();
            domain.shared_queues.idle.leave(1);
            called
        };
        assert!(called());
        domain.shared_queues.watch.begin();
        assert!(!called(), "somebody watches");
        domain.shared_queues.watch.end();
        (0..2).for_each(|index| domain.stats(index).set_idle());
        assert!(!called(), "nobody is busy");
    }

    /// A watcher does not keep to the time of its look in a nap.
    #[test]
    fn a_timer_after_a_nap_is_not_late() {
        let domain = monitored(Settings::from_environment());
        let (watcher, now) = (Watcher::new(1), Instant::now());
        watcher.end(&domain, None, now, now);
        let nap = watcher.begin(&domain, now).unwrap();
        assert!(nap.due > now + TICK);
        watcher.end(&domain, Some(nap), now.checked_sub(BRIEF).unwrap(), now);
        let timer = watcher.begin(&domain, now).unwrap();
        assert_eq!(timer.deadline(), Some(now + TICK));
        watcher.end(&domain, Some(timer), now, now);
    }

    /// A processor calls nobody after a sleep if no watcher can have gone in it.
    #[test]
    fn calls_follow_long_sleeps() {
        let domain = monitored(Settings::from_environment());
        let calls = |slept: Duration| {
            let (watcher, now) = (Watcher::new(1), Instant::now());
            watcher.end(&domain, None, now.checked_sub(slept).unwrap(), now);
            domain.shared_queues.idle.enter(0);
            watcher.call(&domain);
            let called = !domain.shared_queues.idle.is_any();
            domain.shared_queues.idle.leave(0);
            called
        };
        let long = LINGER * TICK;
        assert!(!calls(BRIEF) && !calls(long / 2));
        assert!(calls(long));
        domain.set_has_monitor(false);
        assert!(calls(BRIEF));
        domain.set_has_monitor(true);
        domain.keep_quietly(1);
        assert!(calls(BRIEF), "it may keep what others could run");
    }
}
