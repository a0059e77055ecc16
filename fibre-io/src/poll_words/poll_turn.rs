//! The shift of asking an instance for events: the master's, or the poller fibre's.
//!
//! ```text
//!             call                    begin
//!   MASTER ─────────► DUE ◄─────────────────► RUNNING
//!      ▲               └─── end, with events ───┘ │
//!      └───────────── end, without events ────────┘
//! ```
//!
//! On the master's shift, the kernel tells the master of the first event, once. Then the poller
//! fibre is due: the next processor that has nothing else to do runs it. The fibre stays due as
//! long as it finds events, and runs once each time a processor runs out of work. So the more there
//! is to do, the more events each system call takes. When the fibre finds nothing, the shift goes
//! back to the master. Only after that does the poller ask the kernel to tell the master: otherwise
//! the master's call could come before the change of shift, and be lost.
//!
//! # Memory ordering
//!
//! The master calls and then looks for an idle processor. A processor says that it is idle and then
//! checks whether the poller is due. Both are sequentially consistent, so one of the two sees the
//! other. The rest is a lock: begun with acquire, ended with release.

use fibre_core::sync::{AtomicU64, Ordering, load_ordered, planted};

/// The kernel will tell the master.
const MASTER: u64 = 0;
/// A processor should poll.
const DUE: u64 = 1;
/// A processor is polling.
const RUNNING: u64 = 2;

/// The word that says which of the two has the shift.
#[derive(Debug)]
pub struct Shift(AtomicU64);

impl Default for Shift {
    fn default() -> Self {
        Self::new()
    }
}

impl Shift {
    /// A word on the master's shift.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU64::new(MASTER))
    }

    /// The master has been told: the poller is due. Then wake an idle processor.
    pub fn call(&self) {
        self.0.swap(DUE, Ordering::SeqCst);
    }

    /// Whether the poller is due.
    #[inline]
    #[must_use]
    pub fn is_due(&self) -> bool {
        load_ordered(&self.0) == DUE
    }

    /// Begins a poll, if the poller is due and no other processor is polling.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.0
            .compare_exchange(DUE, RUNNING, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends a poll. If it `found` events, the poller is due again. If not, the shift goes back to
    /// the master, and then `watch_again` asks the kernel to tell the master, which may call at
    /// once.
    pub fn end(&self, found: bool, watch_again: impl Fn()) {
        if found {
            return self.0.store(DUE, Ordering::Release);
        }
        let too_early = planted("shift: the kernel is asked before it is the master's");
        if too_early {
            watch_again();
        }
        self.0.store(MASTER, Ordering::Release);
        if !too_early {
            watch_again();
        }
    }
}
