//! What is known about one direction of a descriptor.
//!
//! ```text
//!  bit 0  READY    a system call may succeed
//!  bit 1  HANGUP   the peer has closed: reading will never block again
//!  bit 2  CLOSED   we have closed: no call may begin
//!  bit 3  WAITERS  somebody may be in the gate's list
//!  bit 4  MARKED   there has been urgent data: a short read does not mean drained
//!  32..64 EPOCH    events so far
//! ```
//!
//! The poller only ever *sets* `READY`, and counts an event each time. Whoever finds
//! by a system call that the direction is drained *clears* it, but only against the
//! snapshot taken before the call ([`GateWord::drained`]): if an event came since,
//! the snapshot is stale, nothing is cleared, and the call is tried again. So an
//! edge that arrives between the failing call and the clearing is not lost.
//!
//! Waiting begins under the lock of the gate's list by setting `WAITERS`; if the
//! direction is ready by then, there is no wait. The poller, which sets `READY` in
//! the same word, sees `WAITERS` and goes to the list, or its event came first and
//! is seen by the one who wants to wait.
//!
//! `WAITERS` stays when the last one is taken from the list, since that one will usually be back
//! soon. It is cleared by who goes to the list and finds nobody. It changes under the lock
//! only; so if it is set already, an event that comes after the wait has been announced
//! sees it, and who waits has nothing to write.
//!
//! # Memory ordering
//!
//! All changes are acquire-release read-modify-writes of the one word; loads acquire. Who finds
//! `WAITERS` set under the lock sees, by the lock, the change that set it, and hence all events
//! that did not see the flag.

use fibre_core::sync::{AtomicU64, Ordering, planted};

/// See the module text.
const READY: u64 = 1;
/// See the module text.
const HANGUP: u64 = 2;
/// See the module text.
const CLOSED: u64 = 4;
/// See the module text.
const WAITERS: u64 = 8;
/// See the module text.
const MARKED: u64 = 16;
/// One event more.
const EPOCH: u64 = 1 << 32;

/// What an event says besides that a call may succeed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    /// The peer has closed.
    pub hangup: bool,
    /// There is urgent data. A read stops at its mark, with more behind it and no edge
    /// to come, so from now on only a call that would block shows that all is read.
    pub urgent: bool,
}

/// What an event, or closing, obliges its deliverer to.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// Nothing: nobody waits.
    Nobody,
    /// Somebody is in the list, or about to be: look there, under its lock.
    Waiters,
}

/// The word at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot(u64);

impl Snapshot {
    /// Whether a system call may succeed.
    #[must_use]
    pub fn is_ready(self) -> bool {
        self.0 & (READY | HANGUP) != 0
    }

    /// Whether there is something besides what one call takes: the peer has closed, as far as is known, or there has
    /// been urgent data.
    #[must_use]
    pub fn tells_more(self) -> bool {
        self.0 & (HANGUP | MARKED) != 0
    }

    /// Whether we have closed the descriptor.
    #[must_use]
    pub fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether a system call may succeed, and nothing else is known that could be the reason than what the
    /// direction is about.
    #[must_use]
    pub fn is_plainly_ready(self) -> bool {
        self.0 & (READY | HANGUP | CLOSED | MARKED) == READY
    }

    /// Whether somebody is in the list.
    #[must_use]
    pub fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }
}

/// The word. Nobody else touches its bits.
#[derive(Debug)]
pub struct GateWord(AtomicU64);

impl Default for GateWord {
    fn default() -> Self {
        Self::new()
    }
}

impl GateWord {
    /// The word of a direction that nobody has tried.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU64::new(READY))
    }

    /// Forgets everything but the number of events, for a new owner.
    pub fn reset(&self) {
        let epoch = self.0.load(Ordering::Relaxed) & !(EPOCH - 1);
        self.0.store(epoch | READY, Ordering::Release);
    }

    /// The word now. Take it before the system call whose outcome you will report.
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Reports that a call found nothing, or took all there was. `hangup_too`: the
    /// call would have blocked, so that even a hang-up is not to be trusted.
    ///
    /// `false`: an event came since the snapshot; the direction may be ready again.
    #[inline]
    pub fn drained(&self, seen: Snapshot, hangup_too: bool) -> bool {
        if !hangup_too && seen.0 & MARKED != 0 {
            return false;
        }
        let gone = if hangup_too { READY | HANGUP } else { READY };
        let mut word = seen.0;
        loop {
            let next = word & !gone;
            match self
                .0
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                // Only the flag of the waiters has changed.
                Err(now) if now & !WAITERS == seen.0 & !WAITERS => word = now,
                Err(_) => return false,
            }
        }
    }

    /// Delivers an event.
    pub fn event(&self, news: News) -> Delivered {
        let hangup = if news.hangup { HANGUP } else { 0 };
        let marked = if news.urgent { MARKED } else { 0 };
        let flags = READY | hangup | marked;
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let next = (word | flags).wrapping_add(EPOCH);
            match self
                .0
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(before) => return delivered(before),
                Err(now) => word = now,
            }
        }
    }

    /// Obliges the caller to let those who wait look at something again that it has changed
    /// before: who begins to wait from now on sees the change.
    pub fn nudge(&self) -> Delivered {
        delivered(self.0.fetch_or(0, Ordering::AcqRel))
    }

    /// Closes the direction: nobody may begin to wait any more.
    pub fn close(&self) -> Delivered {
        delivered(self.0.fetch_or(CLOSED, Ordering::AcqRel))
    }

    /// Announces a wait, under the list's lock. `false`: do not wait.
    #[must_use]
    pub fn begin_wait(&self) -> bool {
        self.announce() & (READY | HANGUP | CLOSED) == 0
    }

    /// Announces a wait for an event that was not known when `seen` was taken, under the
    /// list's lock: readiness of before does not count. `false`: do not wait.
    #[must_use]
    pub fn begin_wait_since(&self, seen: Snapshot) -> bool {
        let before = self.announce();
        let blind = planted("gates: nobody asks what has come since the look");
        before & CLOSED == 0 && (blind || before / EPOCH == seen.0 / EPOCH)
    }

    /// Sees to it that the flag of the waiters is set. Returns what else the word says.
    #[inline]
    fn announce(&self) -> u64 {
        let now = self.0.load(Ordering::Acquire);
        if now & WAITERS != 0 {
            return now;
        }
        self.0.fetch_or(WAITERS, Ordering::AcqRel)
    }

    /// Says, under the list's lock, that the list is empty.
    pub fn no_waiters(&self) {
        self.0.fetch_and(!WAITERS, Ordering::AcqRel);
    }
}

/// What the word before a delivery says about waiters.
fn delivered(before: u64) -> Delivered {
    if before & WAITERS == 0 {
        Delivered::Nobody
    } else {
        Delivered::Waiters
    }
}
