//! One direction of a descriptor: its word, and those who wait for it.
//!
//! Several fibres may wait at one gate (acceptors of one listener, readers of one
//! socket). An event wakes the one that has waited longest; who then finds more
//! than it takes calls [`Gate::pass_on`] for the next one. Woken ones compete with
//! newcomers, and wait again if they find nothing, in front of all others: at the
//! end, one that is always woken in vain would never get anything.

use crate::gate_word::{Delivered, GateWord, News, Snapshot};
use fibre_core::{Limit, Outcome};
use fibre_sync::{Locked, Place, WaitList, wait_at};

/// See the module text.
#[derive(Debug, Default)]
pub struct Gate {
    word: GateWord,
    waiting: Locked<WaitList>,
}

impl Gate {
    /// See [`GateWord::reset`].
    pub fn reset(&self) {
        self.word.reset();
    }

    /// See [`GateWord::snapshot`].
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        self.word.snapshot()
    }

    /// See [`GateWord::drained`].
    #[inline]
    pub fn drained(&self, seen: Snapshot, hangup_too: bool) -> bool {
        self.word.drained(seen, hangup_too)
    }

    /// Waits until the direction may be ready or closed, or until the limit. Blocks the fibre
    /// (or thread). Who gives up has consumed no event: the waker goes on to the next.
    pub fn wait(&self, limit: Limit, place: Place) -> Outcome {
        let enter = |list: &mut WaitList| {
            let wait = self.word.begin_wait();
            if !wait && list.is_empty() {
                self.word.no_waiters();
            }
            wait
        };
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        unsafe { wait_at(place, &self.waiting, |list| list, limit, enter, || ()) }
    }

    /// Delivers an event and wakes one.
    pub fn event(&self, news: News) {
        if self.word.event(news) == Delivered::Waiters {
            self.wake_one();
        }
    }

    /// Lets all who wait try again.
    pub fn wake_all(&self) {
        if self.word.event(News::default()) == Delivered::Waiters {
            while self.wake_one() {}
        }
    }

    /// Wakes the next one, if somebody waits: there may be more than the caller took.
    #[inline]
    pub fn pass_on(&self) {
        if self.word.snapshot().has_waiters() {
            self.wake_one();
        }
    }

    /// Closes the direction and wakes all.
    pub fn close(&self) {
        if self.word.close() == Delivered::Waiters {
            while self.wake_one() {}
        }
    }

    /// Wakes the one that has waited longest; `false`: nobody waits.
    fn wake_one(&self) -> bool {
        let mut list = self.waiting.lock();
        let first = list.claim_first(0);
        if list.is_empty() {
            self.word.no_waiters();
        }
        drop(list);
        first.map(|first| first.resume()).is_some()
    }
}
