//! One direction of a descriptor: its word, and those who wait for it.
//!
//! Several fibres may wait at one gate (acceptors of one listener, readers of one
//! socket). An event wakes the one that has waited longest; who then finds more
//! than it takes calls [`Gate::pass_on`] for the next one. Woken ones compete with
//! newcomers, and wait again if they find nothing, in front of all others: at the
//! end, one that is always woken in vain would never get anything. When all are woken at
//! once, they wait again at the end, one after the other, and so keep their order.

use crate::gate_word::{Delivered, GateWord, News, Snapshot};
use crate::patience::{Clock, Patience};
use fibre_core::{Awaited, Cancelled, Limit, Outcome, Traces, WaitKind, Waiter};
use fibre_sync::{Locked, Node, Place, Spot, WaitList, wait_at};
use std::io;
use std::time::Instant;

/// What one who waited is told: an event came.
pub const EVENT: u32 = 0;
/// What one who waited is told: all were woken.
const ALL: u32 = 1;

/// See the module text. The word comes first, see [`Slot`](crate::table::Slot).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate {
    /// What is known of the direction.
    word: GateWord,
    /// Who waits for it.
    waiting: Locked<WaitList>,
    /// Where the last one waits.
    traces: Traces,
}

/// One call's waits at a gate.
#[derive(Debug)]
pub struct Turn<'a> {
    /// How long it may wait.
    clock: Clock<'a>,
    /// Where it waits next.
    place: Place,
    /// Whether its time is over, so that it must not wait again.
    over: bool,
}

impl<'a> Turn<'a> {
    /// Of a call that has not waited yet.
    #[inline]
    pub fn new(patience: Patience<'a>) -> Self {
        Self {
            clock: Clock::new(patience),
            place: Place::Last,
            over: false,
        }
    }

    /// Whether it has waited as long as it may.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Until when it may wait; `None` for ever.
    pub fn end(&mut self) -> Option<Instant> {
        self.clock.term().end
    }

    /// Asks what to do about a call that would have blocked.
    ///
    /// # Errors
    ///
    /// `TimedOut` if it must not wait again.
    pub fn in_vain(&self) -> io::Result<()> {
        if self.over {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
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

    /// Waits until the direction may be ready or closed, or until the turn is over. Blocks the
    /// fibre (or thread). Who gives up has consumed no event: the waker goes on to the next. It is
    /// seen to wait for the descriptor of this number.
    ///
    /// # Errors
    ///
    /// If the fibre has been cancelled.
    #[inline]
    pub fn wait(&self, number: u32, turn: &mut Turn<'_>) -> Result<(), Cancelled> {
        self.wait_while(number, turn, || true)
    }

    /// [`wait`](Self::wait) that waits only if `still` says so, which is asked after the wait has been announced:
    /// who changes what it says, and then wakes all, wakes this one.
    ///
    /// # Errors
    ///
    /// If the fibre has been cancelled.
    pub fn wait_while(
        &self,
        number: u32,
        turn: &mut Turn<'_>,
        still: impl Fn() -> bool,
    ) -> Result<(), Cancelled> {
        let term = turn.clock.term();
        let enter = |list: &mut WaitList| {
            let wait = self.word.begin_wait() && turn.clock.is_current(term) && still();
            if !wait && list.is_empty() {
                self.word.no_waiters();
            }
            wait
        };
        self.traces.leave(&term);
        let limit = Limit::of(term.end);
        let spot = Spot::new(Awaited::numbered(WaitKind::Io, number), turn.place);
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        match unsafe { wait_at(spot, &self.waiting, |list| list, limit, enter, || ()) } {
            Outcome::Woken(ALL) => turn.place = Place::Last,
            Outcome::Woken(_) => turn.place = Place::First,
            Outcome::TimedOut => turn.over = true,
            Outcome::Cancelled => return Err(Cancelled),
            Outcome::NotParked => {}
        }
        Ok(())
    }

    /// Puts one who waits among several gates into the list, unless an event has come since
    /// `seen`; says whether it did. The node stays put until [`leave`](Self::leave).
    pub fn enter(&self, node: &Node, waiter: &Waiter, seen: Snapshot) -> bool {
        let mut list = self.waiting.lock();
        let wait = self.word.begin_wait_since(seen);
        if wait {
            list.insert(node, waiter, Place::Last);
        } else if list.is_empty() {
            self.word.no_waiters();
        }
        wait
    }

    /// Sees to it that a node which has entered is not in the list; says whether a waker has
    /// taken it out.
    pub fn leave(&self, node: &Node) -> bool {
        let mut list = self.waiting.lock();
        let taken = !node.is_linked();
        if !taken {
            list.unlink(node);
            if list.is_empty() {
                self.word.no_waiters();
            }
        }
        taken
    }

    /// Asks for what is needed to wake who waits.
    #[inline]
    pub fn foresee(&self) {
        self.traces.follow();
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
            self.resume_all();
        }
    }

    /// Lets all who wait look at their time limit again, which the caller has changed.
    pub fn nudge(&self) {
        if self.word.nudge() == Delivered::Waiters {
            self.resume_all();
        }
    }

    /// Wakes the next one, if somebody waits: there may be more than the caller took.
    #[inline]
    pub fn pass_on(&self) {
        if self.word.snapshot().has_waiters() {
            self.wake_one();
        }
    }

    /// Reports a call that took all it was given: there may be more. If its time was over, it found
    /// what no edge has told of, nor will while it is as little as room in a send buffer can be.
    #[inline]
    pub fn took_all(&self, turn: &Turn<'_>) {
        if turn.over {
            self.event(News::default());
        } else {
            self.pass_on();
        }
    }

    /// Reports a call that took less than it was given: nothing is left. But an event that tells of the end, too, is
    /// for all, and behind a mark of urgent data there may be more, of which no other event tells.
    #[inline]
    pub fn took_rest(&self, seen: Snapshot) {
        self.word.drained(seen, false);
        if seen.tells_more() {
            self.pass_on();
        }
    }

    /// Closes the direction and wakes all.
    pub fn close(&self) {
        if self.word.close() == Delivered::Waiters {
            self.resume_all();
        }
    }

    /// Wakes the one that has waited longest.
    fn wake_one(&self) {
        let mut list = self.waiting.lock();
        let first = list.claim_first(EVENT);
        if first.is_none() {
            self.word.no_waiters();
        }
        drop(list);
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Wakes all who wait.
    pub fn resume_all(&self) {
        let mut list = self.waiting.lock();
        let all = list.claim_all(ALL);
        self.word.no_waiters();
        drop(list);
        all.resume();
    }
}
