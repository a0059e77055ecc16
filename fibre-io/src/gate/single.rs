//! The gate of one direction of a descriptor: its word and its waiters.
//!
//! Several fibres may wait at one gate (acceptors of one listener, readers of one socket). An event
//! wakes the fibre that has waited longest. If that fibre finds more than it takes, it calls
//! [`Gate::pass_on`] for the next one. Woken fibres compete with newcomers. A woken fibre that
//! finds nothing waits again in front of all others: at the end of the list, a fibre that is always
//! woken for nothing would starve. When all are woken at once, they wait again at the end, one
//! after the other, and so keep their order.

use crate::gate::word::{Delivered, GateWord, News, Snapshot};
use crate::timeout::{Clock, Timeout};
use fibre_core::internal::{Outcome, Waiter, WakeHints};
use fibre_core::sync::planted;
use fibre_core::{Cancelled, Left, Limit, WaitKind, WaitObject};
use fibre_sync::{ListWait, Locked, Node, Place, WaitList};
use std::time::Instant;

/// The wake value of one waiter: an event came.
pub const EVENT: u32 = 0;
/// The wake value when all waiters are woken.
pub const ALL: u32 = 1;

/// One direction of a descriptor. The word comes first, see
/// [`Slot`](crate::descriptor::table::Slot).
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate {
    /// What is known of the direction.
    word: GateWord,
    /// The fibres and threads that wait at the gate.
    waiting: Locked<WaitList>,
    /// Prefetch hints: where the last waiter waits.
    hints: WakeHints,
}

/// One call's waits at a gate.
#[derive(Debug)]
pub struct Turn<'a> {
    /// How long the call may wait.
    clock: Clock<'a>,
    /// Where in the list its next wait goes.
    place: Place,
    /// Whether its time is over: it must not wait again.
    over: bool,
}

impl<'a> Turn<'a> {
    /// The turn of a call that has not waited yet.
    #[inline]
    pub fn new(timeout: Timeout<'a>) -> Self {
        Self {
            clock: Clock::new(timeout),
            place: Place::Last,
            over: false,
        }
    }

    /// The turn of a call that does not wait.
    pub fn over() -> Self {
        Self {
            over: true,
            ..Self::new(Timeout::Endless)
        }
    }

    /// Whether the call has waited as long as it may.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Until when the call may wait; `None` for ever.
    pub fn end(&mut self) -> Option<Instant> {
        self.clock.term().end
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

    /// Waits until the direction may be ready or closed, or until the turn is over; but only if
    /// `still` returns `true`. `still` is called after the wait has been announced. So a caller
    /// that changes its answer and then wakes all waiters wakes this one. Blocks the fibre (or
    /// thread). A waiter that gives up has consumed no event: the waker goes on to the next one.
    /// `number` is the descriptor that the fibre is shown to wait for.
    ///
    /// # Errors
    ///
    /// If the fibre has been cancelled.
    pub fn wait(
        &self,
        number: u32,
        turn: &mut Turn<'_>,
        still: impl Fn() -> bool,
    ) -> Result<(), Cancelled> {
        let term = turn.clock.term();
        let enter = |list: &mut WaitList| {
            let old = planted("gate: a waiter keeps a time limit that has changed");
            let wait = self.word.begin_wait() && (old || turn.clock.is_current(term)) && still();
            if !wait && list.is_empty() {
                self.word.no_waiters();
            }
            wait
        };
        self.hints.leave(&term);
        let limit = match term.end {
            None if planted("gate: nobody cancels those that wait without a limit") => Limit::None,
            end => Limit::of(end),
        };
        let awaited = WaitObject::numbered(WaitKind::Io, number);
        let wait = ListWait::new(awaited, limit).at(turn.place);
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        match unsafe { wait.in_list(&self.waiting, |list| list, enter) } {
            Outcome::Woken(ALL) => turn.place = Place::Last,
            Outcome::Woken(_) => turn.place = Place::First,
            Outcome::TimedOut => turn.over = true,
            Outcome::Cancelled => return Err(Cancelled),
            Outcome::NotParked => {}
        }
        Ok(())
    }

    /// Puts a waiter of several gates into this list, unless an event has come since
    /// `sequence_cursor`. Returns whether it did.
    ///
    /// # Safety
    ///
    /// The node is in no list, and it and the waiter stay put until [`leave`](Self::leave).
    pub unsafe fn enter(&self, node: &Node, waiter: &Waiter, seen: Snapshot) -> bool {
        let mut list = self.waiting.lock();
        let wait = self.word.begin_wait_since(seen);
        if wait {
            // SAFETY: passed on; the list is used under this lock only.
            unsafe { list.enter(node, waiter, Place::Last) };
        } else if list.is_empty() {
            self.word.no_waiters();
        }
        wait
    }

    /// Puts a waiter of a selection into this list, unless the direction may be ready or closed.
    /// Returns whether it did.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter); the node leaves by [`leave_among`](Self::leave_among).
    pub unsafe fn enter_ready(&self, node: &Node, waiter: &Waiter, place: Place) -> bool {
        let mut list = self.waiting.lock();
        let wait = self.word.begin_wait();
        if wait {
            // SAFETY: passed on; the list is used under this lock only.
            unsafe { list.enter(node, waiter, place) };
        } else if list.is_empty() {
            self.word.no_waiters();
        }
        wait
    }

    /// [`leave`](Self::leave) for a selection, which asks whether a waker of this gate has ended
    /// its wait.
    ///
    /// # Safety
    ///
    /// As for `leave`.
    pub unsafe fn leave_among(&self, node: &Node) -> Left {
        let mut list = self.waiting.lock();
        // SAFETY: the node entered this list.
        let left = unsafe { list.leave(node) };
        if list.is_empty() {
            self.word.no_waiters();
        }
        left
    }

    /// Takes a node that has entered out of the list. Returns whether a waker had already taken it
    /// out.
    ///
    /// # Safety
    ///
    /// The node has entered this gate.
    pub unsafe fn leave(&self, node: &Node) -> bool {
        let mut list = self.waiting.lock();
        let taken = !node.is_linked();
        if !taken {
            // SAFETY: the node entered this list, and is linked.
            unsafe { list.unlink(node) };
            if list.is_empty() {
                self.word.no_waiters();
            }
        }
        taken
    }

    /// Prefetches the memory that the next wake-up will touch.
    #[inline]
    pub fn prefetch_next(&self) {
        self.hints.follow();
    }

    /// Delivers an event and wakes one waiter.
    pub fn event(&self, news: News) {
        if self.word.event(news) == Delivered::Waiters {
            self.wake_one();
        }
    }

    /// Makes all waiters try again.
    pub fn wake_all(&self) {
        if self.word.event(News::default()) == Delivered::Waiters {
            self.resume_all();
        }
    }

    /// Makes all waiters look at their time limit again, which the caller has changed.
    pub fn nudge(&self) {
        if self.word.nudge() == Delivered::Waiters {
            self.resume_all();
        }
    }

    /// Wakes the next waiter, if there is one: there may be more than the caller took.
    #[inline]
    pub fn pass_on(&self) {
        if self.word.snapshot().has_waiters() {
            self.wake_one();
        }
    }

    /// Reports a call that used all the room or data it was given: there may be more. A call that
    /// had run out of time has found something that no edge has reported. Nor will one as long as
    /// there is little of it, such as a little room in a send buffer. So the find counts as an
    /// event.
    #[inline]
    pub fn took_all(&self, turn: &Turn<'_>) {
        if turn.over {
            self.event(News::default());
        } else {
            self.pass_on();
        }
    }

    /// Reports a call that took less than it was given: nothing is left. But an event that also
    /// reports the end is for all waiters, and there may be more data behind a mark of urgent data,
    /// without another event. In both cases it wakes the next waiter.
    #[inline]
    pub fn took_rest(&self, seen: Snapshot) {
        self.word.drained(seen, false);
        if seen.tells_more() {
            self.pass_on();
        }
    }

    /// Closes the direction and wakes all waiters.
    pub fn close(&self) {
        if self.word.close() == Delivered::Waiters {
            self.resume_all();
        }
    }

    /// Wakes the waiter that has waited longest.
    fn wake_one(&self) {
        let mut list = self.waiting.lock();
        let first = list.claim_first(EVENT);
        let late = planted("gate: the flag of the waiters is cleared after the list is let go");
        if first.is_none() && !late {
            self.word.no_waiters();
        }
        drop(list);
        match first {
            Some(first) => first.resume(),
            None if late => self.word.no_waiters(),
            None => {}
        }
    }

    /// Wakes all waiters.
    pub fn resume_all(&self) {
        let mut list = self.waiting.lock();
        let all = list.claim_all(ALL);
        self.word.no_waiters();
        drop(list);
        all.resume();
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use fibre_core::{Cluster, JoinHandle, yield_now};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    /// Runs a body as a fibre of one processor, so that others run only where it yields.
    fn alone(body: fn()) {
        let builder = Cluster::builder().processors(1);
        let cluster = builder.max_spare_processors(0).build().unwrap();
        cluster.spawn(body).join().unwrap();
        cluster.stop();
    }

    /// A gate that has been found drained.
    fn drained() -> Arc<Gate> {
        let gate = Gate::default();
        assert!(gate.drained(gate.snapshot(), true));
        Arc::new(gate)
    }

    /// A fibre that waits at the gate so many times; its result says whether its time was over.
    fn waiting(gate: &Arc<Gate>, times: u32, timeout: Timeout<'static>) -> JoinHandle<bool> {
        let gate = Arc::clone(gate);
        let begun = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&begun);
        let waits = fibre_core::spawn(move || {
            begins.store(true, Ordering::Relaxed);
            let mut turn = Turn::new(timeout);
            (0..times).for_each(|_| gate.wait(0, &mut turn, || true).unwrap());
            turn.is_over()
        });
        while !begun.load(Ordering::Relaxed) {
            yield_now();
        }
        settle();
        assert!(!waits.is_finished(), "it waits");
        waits
    }

    /// So many fibres that each wait at the gate once, without a limit.
    fn crowd<const N: usize>(gate: &Arc<Gate>) -> [JoinHandle<bool>; N] {
        std::array::from_fn(|_| waiting(gate, 1, Timeout::Endless))
    }

    /// Lets all other started fibres run until they wait.
    fn settle() {
        (0..5).for_each(|_| yield_now());
    }

    /// Lets the woken fibres go on, and checks that exactly those of `are_to` have ended.
    #[track_caller]
    fn go_on<const N: usize>(crowd: &[JoinHandle<bool>; N], are_to: [bool; N]) {
        settle();
        let gone = crowd.each_ref().map(JoinHandle::is_finished);
        assert_eq!(gone, are_to);
    }

    #[test]
    fn an_event_is_for_the_first_one() {
        alone(|| {
            let gate = drained();
            gate.event(News::default());
            assert!(gate.snapshot().is_ready() && gate.drained(gate.snapshot(), false));
            let crowd = crowd::<3>(&gate);
            gate.event(News::default());
            go_on(&crowd, [true, false, false]);
            gate.pass_on();
            go_on(&crowd, [true, true, false]);
            assert!(gate.snapshot().has_waiters());
            gate.pass_on();
            go_on(&crowd, [true; 3]);
            // The flag stays until a waker has found the list empty.
            assert!(gate.snapshot().has_waiters());
            gate.pass_on();
            assert!(!gate.snapshot().has_waiters());
        });
    }

    #[test]
    fn what_is_for_all_is_told_to_all() {
        alone(|| {
            let all: [fn(&Gate); 3] = [Gate::wake_all, Gate::nudge, Gate::close];
            for (tell, index) in all.into_iter().zip(0..) {
                let (ready, closed) = (index == 0, index == 2);
                let gate = drained();
                tell(&gate);
                assert_eq!(gate.snapshot().is_ready(), ready);
                assert_eq!(gate.snapshot().is_closed(), closed);
                let gate = drained();
                let crowd = crowd::<3>(&gate);
                tell(&gate);
                go_on(&crowd, [true; 3]);
                assert!(!gate.snapshot().has_waiters());
                assert_eq!(gate.snapshot().is_ready(), ready);
                assert_eq!(gate.snapshot().is_closed(), closed);
            }
        });
    }

    /// A caller that finds it need not wait leaves `WAITERS` clear, unless others wait.
    #[test]
    fn nobody_waits_for_what_is_there() {
        alone(|| {
            let gate = Gate::default();
            let mut turn = Turn::new(Timeout::Endless);
            gate.wait(0, &mut turn, || true).unwrap();
            assert!(!gate.snapshot().has_waiters() && !turn.is_over());
            gate.drained(gate.snapshot(), true);
            gate.wait(0, &mut turn, || false).unwrap();
            assert!(!gate.snapshot().has_waiters());
            let gate = drained();
            let crowd = crowd::<1>(&gate);
            gate.wait(0, &mut turn, || false).unwrap();
            assert!(gate.snapshot().has_waiters());
            gate.event(News::default());
            go_on(&crowd, [true]);
        });
    }

    #[test]
    fn calls_report_what_they_leave() {
        alone(|| {
            // All that was asked for: the next one may find more, but no edge has told of it.
            let gate = drained();
            let waiting = crowd::<2>(&gate);
            let mut turn = Turn::new(Timeout::Endless);
            gate.took_all(&turn);
            go_on(&waiting, [true, false]);
            assert!(!gate.snapshot().is_ready());
            turn.over = true;
            gate.took_all(&turn);
            go_on(&waiting, [true; 2]);
            assert!(gate.snapshot().is_ready());
            // Less: nothing is left, unless more has been told.
            gate.took_rest(gate.snapshot());
            assert!(!gate.snapshot().is_ready());
            for (hangup, urgent) in [(false, false), (true, false), (false, true)] {
                let gate = drained();
                let waiting = crowd::<2>(&gate);
                gate.event(News { hangup, urgent });
                gate.took_rest(gate.snapshot());
                go_on(&waiting, [true, hangup || urgent]);
                assert_eq!(gate.snapshot().is_ready(), hangup || urgent);
                gate.wake_all();
            }
        });
    }

    /// A waiter that was woken for nothing is woken next; one that was woken with all others goes
    /// last.
    #[test]
    fn who_waits_again_keeps_its_turn() {
        alone(|| {
            let gate = drained();
            let first = waiting(&gate, 2, Timeout::Endless);
            let second = waiting(&gate, 1, Timeout::Endless);
            gate.event(News::default());
            gate.drained(gate.snapshot(), true);
            settle();
            gate.event(News::default());
            gate.drained(gate.snapshot(), true);
            go_on(&[first, second], [true, false]);
            gate.wake_all();
            gate.drained(gate.snapshot(), true);
            settle();
            let crowd = [2, 2, 2].map(|times| waiting(&gate, times, Timeout::Endless));
            gate.nudge();
            settle();
            for woken in 1..=3 {
                gate.event(News::default());
                gate.drained(gate.snapshot(), true);
                go_on(&crowd, [true, woken > 1, woken > 2]);
            }
        });
    }

    #[test]
    fn a_turn_ends_with_its_time() {
        alone(|| {
            let gate = drained();
            let end = Instant::now() + Duration::from_millis(5);
            let mut turn = Turn::new(Timeout::Until(end));
            assert_eq!(turn.end(), Some(end));
            assert!(!turn.is_over());
            gate.wait(0, &mut turn, || true).unwrap();
            assert!(turn.is_over() && Instant::now() >= end);
            assert_eq!(Turn::new(Timeout::Endless).end(), None);
            let limited = waiting(&gate, 1, Timeout::within(Duration::from_millis(5)));
            assert!(limited.join().unwrap(), "nobody has told it anything");
            let cancelled = Arc::clone(&gate);
            let cancelled = fibre_core::spawn(move || {
                let mut turn = Turn::new(Timeout::Endless);
                cancelled.wait(0, &mut turn, || true).is_err()
            });
            while !gate.snapshot().has_waiters() {
                yield_now();
            }
            cancelled.cancel();
            assert!(cancelled.join().unwrap());
        });
    }
}
