//! The recorded readiness of one direction of a descriptor.
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
//! The poller only ever *sets* `READY`, and counts an event each time. A caller that finds the
//! direction drained, by a system call, *clears* it, but only against the snapshot taken before the
//! call ([`GateWord::drained`]). If an event came since, the snapshot is stale: the caller clears
//! nothing and tries the call again. So an edge that arrives between the failing call and the
//! clearing is not lost.
//!
//! A waiter begins by setting `WAITERS` under the lock of the gate's list. If the direction is
//! ready by then, it does not wait. The poller sets `READY` in the same word. Either it sees
//! `WAITERS` and goes to the list, or its event came first and the waiter sees it.
//!
//! `WAITERS` stays set when the last waiter leaves the list, since that waiter is usually back
//! soon. A waker that finds the list empty clears it. The flag changes only under the lock. So a
//! waiter that finds it set has nothing to write: an event after the announcement of the wait sees
//! the flag.
//!
//! # Memory ordering
//!
//! All changes are acquire-release read-modify-writes of the one word; loads acquire. A waiter that
//! finds `WAITERS` set under the lock sees, by the lock, the change that set it, and hence all
//! events that did not see the flag.

use fibre_core::sync::{AtomicU64, Ordering, planted};

/// A system call may succeed.
const READY: u64 = 1;
/// The peer has closed: reading will never block again.
const HANGUP: u64 = 2;
/// This end is closed: no call may begin.
const CLOSED: u64 = 4;
/// The gate's list may have waiters.
const WAITERS: u64 = 8;
/// Urgent data has come: a short read does not mean drained.
const MARKED: u64 = 16;
/// The unit of the event count.
const EPOCH: u64 = 1 << 32;

/// What an event says beyond "a call may succeed".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    /// The peer has closed.
    pub hangup: bool,
    /// There is urgent data. A read stops at its mark, with more data behind it and no further
    /// edge. So from now on only a call that would block proves that everything is read.
    pub urgent: bool,
}

/// What the deliverer of an event, or of the close, must do next.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// Nothing: the list has no waiters.
    Nobody,
    /// Go to the list, under its lock: a waiter is in it, or about to be.
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

    /// Whether one call may leave something: a hang-up of the peer is known, or there has been
    /// urgent data.
    #[must_use]
    pub fn tells_more(self) -> bool {
        self.0 & (HANGUP | MARKED) != 0
    }

    /// Whether we have closed the descriptor.
    #[must_use]
    pub fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether a system call may succeed for the direction's plain reason: no hang-up, no close and
    /// no urgent data are known.
    #[must_use]
    pub fn is_plainly_ready(self) -> bool {
        self.0 & (READY | HANGUP | CLOSED | MARKED) == READY
    }

    /// Whether an event has come since `earlier` was taken.
    #[must_use]
    pub fn is_later_than(self, earlier: Self) -> bool {
        self.0 / EPOCH != earlier.0 / EPOCH
    }

    /// Whether a waiter may be in the list.
    #[must_use]
    pub fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }
}

/// The word. Only these methods touch its bits.
#[derive(Debug)]
pub struct GateWord(AtomicU64);

impl Default for GateWord {
    fn default() -> Self {
        Self::new()
    }
}

impl GateWord {
    /// The word of a direction that no call has tried yet.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU64::new(READY))
    }

    /// Forgets everything but the number of events, for a new owner.
    pub fn reset(&self) {
        let epoch = self.0.load(Ordering::Relaxed) & !(EPOCH - 1);
        self.0.store(epoch | READY, Ordering::Release);
    }

    /// The word now. Take the snapshot before the system call, and report the outcome against it.
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Reports that a call found nothing, or took all there was. `hangup_too`: the call would have
    /// blocked, so even a recorded hang-up is wrong.
    ///
    /// Returns `false` if an event came since the snapshot: the direction may be ready again.
    #[inline]
    pub fn drained(&self, seen: Snapshot, hangup_too: bool) -> bool {
        if !hangup_too && seen.0 & MARKED != 0 {
            return false;
        }
        let blind = planted("gate: what a try found clears what has come meanwhile");
        let seen = if blind { self.snapshot() } else { seen };
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

    /// Publishes a change that the caller has made, and tells it whether to wake the waiters, so
    /// that they look again. A waiter that begins from now on sees the change.
    pub fn nudge(&self) -> Delivered {
        delivered(self.0.fetch_or(0, Ordering::AcqRel))
    }

    /// Closes the direction: no wait may begin any more.
    pub fn close(&self) -> Delivered {
        delivered(self.0.fetch_or(CLOSED, Ordering::AcqRel))
    }

    /// Announces a wait, under the list's lock. Returns `false` if the caller must not wait.
    #[must_use]
    pub fn begin_wait(&self) -> bool {
        let before = self.announce();
        before & (READY | HANGUP | CLOSED) == 0
            || planted("gate: a waiter does not ask whether an event has come")
    }

    /// Announces, under the list's lock, a wait for an event later than `sequence_cursor`: earlier
    /// readiness does not count. Returns `false` if the caller must not wait.
    #[must_use]
    pub fn begin_wait_since(&self, seen: Snapshot) -> bool {
        let before = self.announce();
        let blind = planted("gates: nobody asks what has come since the look");
        before & CLOSED == 0 && (blind || !Snapshot(before).is_later_than(seen))
    }

    /// Sets `WAITERS` unless it is set. Returns the word as it was.
    #[inline]
    fn announce(&self) -> u64 {
        let now = self.0.load(Ordering::Acquire);
        if now & WAITERS != 0 {
            return now;
        }
        self.0.fetch_or(WAITERS, Ordering::AcqRel)
    }

    /// Clears `WAITERS`, under the list's lock, as the list is empty.
    pub fn no_waiters(&self) {
        self.0.fetch_and(!WAITERS, Ordering::AcqRel);
    }
}

/// Whether the word before a delivery had `WAITERS` set.
fn delivered(before: u64) -> Delivered {
    if before & WAITERS == 0 {
        Delivered::Nobody
    } else {
        Delivered::Waiters
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A word of a direction that has been found drained.
    fn drained() -> GateWord {
        let word = GateWord::new();
        assert!(word.drained(word.snapshot(), true));
        word
    }

    /// An event with these two pieces of news.
    fn news(hangup: bool, urgent: bool) -> News {
        News { hangup, urgent }
    }

    #[test]
    fn nobody_waits_for_what_is_known() {
        assert!(drained().begin_wait());
        let ready = GateWord::new();
        assert!(!ready.begin_wait(), "it has not been tried");
        let closed = drained();
        assert_eq!(closed.close(), Delivered::Nobody);
        assert!(!closed.begin_wait());
        assert!(!closed.begin_wait_since(closed.snapshot()));
    }

    /// An event records the news it is given, and nothing else.
    #[test]
    fn each_piece_of_news_is_its_own() {
        for (hangup, urgent) in [(false, false), (true, false), (false, true), (true, true)] {
            let word = drained();
            assert_eq!(word.event(news(hangup, urgent)), Delivered::Nobody);
            let seen = word.snapshot();
            assert!(seen.is_ready() && !seen.has_waiters() && !seen.is_closed());
            assert_eq!(seen.tells_more(), hangup || urgent);
            assert_eq!(seen.is_plainly_ready(), !hangup && !urgent);
            // Only of a peer that has closed a read that took all leaves something to find.
            let _ = word.drained(word.snapshot(), false);
            assert_eq!(word.snapshot().is_ready(), hangup || urgent);
        }
        let closed = GateWord::new();
        assert!(closed.snapshot().is_plainly_ready());
        let _ = closed.close();
        assert!(closed.snapshot().is_ready() && !closed.snapshot().is_plainly_ready());
        assert!(!drained().snapshot().is_plainly_ready());
    }

    /// A reader that has read everything finds the peer's end by its next call; no event would
    /// report that end again.
    #[test]
    fn nobody_waits_after_a_hangup() {
        let word = drained();
        let _ = word.event(news(true, false));
        assert!(word.drained(word.snapshot(), false));
        assert!(word.snapshot().is_ready() && !word.snapshot().is_plainly_ready());
        assert!(
            !word.begin_wait(),
            "the end is known, and a reader waits for it"
        );
        // But a call that would block has found that the peer has not closed.
        assert!(word.drained(word.snapshot(), true));
        assert!(!word.snapshot().is_ready());
        assert!(word.begin_wait());
    }

    #[test]
    fn urgent_data_makes_short_reads_prove_nothing() {
        let word = drained();
        let _ = word.event(news(false, true));
        assert!(word.snapshot().tells_more());
        assert!(!word.drained(word.snapshot(), false));
        assert!(word.snapshot().is_ready());
        assert!(word.drained(word.snapshot(), true));
        assert!(word.begin_wait());
    }

    #[test]
    fn what_came_since_a_look_is_not_cleared() {
        let word = drained();
        let seen = word.snapshot();
        assert!(word.begin_wait_since(seen));
        assert_eq!(word.event(News::default()), Delivered::Waiters);
        assert!(!word.drained(seen, true) && word.snapshot().is_ready());
        assert!(!word.begin_wait_since(seen) && !word.begin_wait());
        // A change of the waiters' flag is no event.
        let seen = word.snapshot();
        word.no_waiters();
        assert!(word.drained(seen, true));
        assert!(!word.snapshot().has_waiters());
    }

    #[test]
    fn who_changes_something_hears_of_those_who_wait() {
        let word = drained();
        assert_eq!(word.nudge(), Delivered::Nobody);
        assert!(word.begin_wait() && word.begin_wait());
        assert!(word.snapshot().has_waiters());
        assert_eq!(word.nudge(), Delivered::Waiters);
        assert!(!word.snapshot().is_ready(), "a nudge is no event");
        assert_eq!(word.close(), Delivered::Waiters);
        assert!(word.snapshot().is_closed());
    }

    /// A new owner inherits nothing but the count of events. Old looks are known by it.
    #[test]
    fn a_new_owner_begins_anew() {
        let word = drained();
        let old = word.snapshot();
        let _ = (
            word.begin_wait(),
            word.event(news(true, true)),
            word.close(),
        );
        word.reset();
        let seen = word.snapshot();
        assert!(seen.is_plainly_ready() && !seen.has_waiters());
        assert!(!seen.is_closed() && !seen.tells_more());
        assert!(!word.drained(old, true), "an old look");
        assert!(word.drained(seen, false));
    }
}
