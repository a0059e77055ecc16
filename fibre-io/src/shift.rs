//! Whose shift it is, so who asks an instance for events: the master's, or the poller fibre's.
//!
//! ```text
//!             call                    begin
//!   MASTER ─────────► DUE ◄─────────────────► RUNNING
//!      ▲               └──────── again ─────────┘ │
//!      └────────────────── done ──────────────────┘
//! ```
//!
//! While it is the master's, the kernel tells the master of the first event, once. Then the poller
//! fibre is due: the next processor that has nothing else to do runs it. It stays due as long as
//! it finds something, once per time that a processor runs out of work; so the more there is to do,
//! the more events each system call takes. When it finds nothing, it is the master's shift
//! again: only after that the kernel is asked to tell the master, as else the master's call
//! could come before, and be lost.
//!
//! # Memory ordering
//!
//! The master calls and then looks for an idle processor; a processor says that it is idle and
//! then looks whether the poller is due: sequentially consistent, one of the two sees the
//! other. The rest is a lock: begun with acquire, ended with release.

use fibre_core::sync::{AtomicU64, Ordering, load_ordered};

/// The kernel will tell the master.
const MASTER: u64 = 0;
/// A processor should poll.
const DUE: u64 = 1;
/// A processor does.
const RUNNING: u64 = 2;

/// See the module text.
#[derive(Debug)]
pub struct Shift(AtomicU64);

impl Default for Shift {
    fn default() -> Self {
        Self::new()
    }
}

impl Shift {
    /// The master's.
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

    /// Begins to poll, if that is due and nobody else does.
    #[must_use]
    pub fn begin(&self) -> bool {
        self.0
            .compare_exchange(DUE, RUNNING, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// There was something: the poller is due again.
    pub fn again(&self) {
        self.0.store(DUE, Ordering::Release);
    }

    /// There was nothing: the master's shift. Then have the kernel tell it.
    pub fn done(&self) {
        self.0.store(MASTER, Ordering::Release);
    }
}
