//! Whether idle processors look after busy ones, and whether the monitor calls them for that.
//!
//! `processor/watch.rs` says what they look for, and when. Processors call each other as well,
//! sooner than the monitor, unless that would cost too much.
//!
//! A driver belongs to one processor, and processors that were added later may have none. So only a
//! processor that will watch is called.

use super::domain::Domain;
use crate::sync::Ordering;

impl Domain {
    /// Whether a busy processor of this cluster keeps something that an idle one, `index`, could do
    /// for it.
    pub(crate) fn is_any_left_alone(&self, index: usize) -> bool {
        let driver = self.queues()[index].driver();
        self.shares_what_is_ready() || driver.is_some_and(|driver| driver.needs_watch())
    }

    /// Whether a busy processor may keep what is ready from an idle one, without calling it.
    pub(crate) fn shares_what_is_ready(&self) -> bool {
        self.settings.moves_started || self.is_kept_quietly()
    }

    /// Whether a processor runs something.
    pub(crate) fn is_any_busy(&self) -> bool {
        (0..self.processors()).any(|index| self.stats(index).works_since().is_some())
    }

    /// Whether a processor other than this one runs something.
    pub(crate) fn is_any_busy_but(&self, index: usize) -> bool {
        let mut others = (0..self.processors()).filter(|other| *other != index);
        others.any(|other| self.stats(other).works_since().is_some())
    }

    /// Notes whether the monitor looks after the cluster: [`call_for_watch`](Self::call_for_watch).
    pub(crate) fn set_has_monitor(&self, has: bool) {
        self.has_monitor.store(has, Ordering::Relaxed);
    }

    /// Whether the monitor looks after the cluster.
    #[inline]
    pub(crate) fn has_monitor(&self) -> bool {
        self.has_monitor.load(Ordering::Relaxed)
    }

    /// Wakes an idle processor that is to watch the busy ones, if none does. The monitor only, at
    /// each look.
    pub(crate) fn call_for_watch(&self) {
        if self.processors() > 1 && self.shared_queues.watch.is_off() && self.is_any_busy() {
            self.shared_queues
                .wake_if(|idle| self.is_any_left_alone(idle));
        }
    }
}
