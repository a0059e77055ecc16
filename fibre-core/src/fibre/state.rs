//! The run state of a fibre: may its stack be resumed? And has it been cancelled?
//!
//! ```text
//!                   left()                   wake(): queue it
//!  Running ───────────────────────► Parked ───────────────────► Running
//!     │
//!     │ wake(): it came first               left(), stay(): it goes on
//!     └───────────────────────────► Woken ────────────────────► Running
//! ```
//!
//! * **Running**: some processor is on the fibre's stack, or the fibre is in a ready
//!   queue.
//! * **Parked**: its stack has been left; exactly one waker will queue it.
//! * **Woken**: the wake-up has happened, and the fibre, still on its stack, is about to notice.
//!
//! A fibre parks, is woken once, and runs; the waiter's outcome (see [`crate::wait::waiter`]) makes
//! sure that nobody wakes it a second time. So each wait takes two additions, `left` and `wake`, in
//! either order. Their sum is a full cycle of the state: whoever comes second queues the fibre, and
//! nobody has to reset the state.
//!
//! # Cancellation
//!
//! A canceller sets the bit `CANCELLED`, which stays set. If the fibre is parked, the same
//! compare-and-swap sets `HELD`: from then on a waker does not queue the fibre, so the
//! waiter, which lies in the fibre's frame, stays where it is. The canceller tries to
//! claim the waiter, as any waker does, and gives up `HELD`:
//!
//! * the canceller has won: nobody else will wake the fibre, so the canceller does, and queues it;
//! * a waker has won, and has been here: it has left the queueing to the canceller;
//! * a waker has won, and is still to come: it will queue the fibre.
//!
//! If the fibre is not parked, the canceller only sets the bit: `left` sees it in the word that it
//! swaps, so no wait begins unnoticed. Then `left` sets `HELD`, and the processor is the canceller.
//!
//! # Waits at home
//!
//! A wait at home (see [`crate::wait::waiter`]) leaves the state alone: it is Running all the time.
//! If the wait has a limit, the fibre says so in `wait`, by the bit `AT_HOME` of the waiter's
//! address, and clears the bit when it goes on. A canceller that finds the fibre Running sets
//! `VISITED`, makes every running thread execute a memory barrier, and then looks at `wait`. Either
//! the canceller sees the waiter there; or the fibre sees the bit `CANCELLED`, as it looks for it
//! after it has said that it waits. If the canceller sees the waiter, the fibre stays until the
//! canceller is done: it looks for `VISITED` before its frame ends. The fibre pays for plain
//! accesses, and the canceller for a system call.
//!
//! # Waits in the panic hook
//!
//! A fibre that waits in the panic hook does not leave its stack for good (see
//! `processor/hold.rs`). So it is Running until its waker makes it Woken; the fibre checks for that
//! in `stay()`. A canceller only sets the bit; the fibre sees that, too, and claims its waiter
//! itself.
//!
//! # Rousing
//!
//! A cluster that moves its fibres, and is stopped, *rouses* those that are parked
//! (`processor/rouse.rs`): they go on in the middle of their waits. Whoever rouses a fibre holds
//! it, as a canceller does, then adds a wake-up, and queues it. The fibre withdraws its waiter. If
//! nobody has claimed that, nobody will wake the fibre, and it unwinds. Else its waker adds a
//! second wake-up, or has done so and left the queueing to whoever held the fibre. So the fibre
//! parks once more, and takes that.
//!
//! Invariants:
//!
//! 1. `HELD` has one owner. It is set by the canceller that sets `CANCELLED`; by `left`, which
//!    needs a running fibre, and a held fibre does not run; or by `hold`, which needs a fibre that
//!    has been cancelled and is not held. `VISITED` is set and cleared by the canceller that sets
//!    `CANCELLED`.
//! 2. `wait` is written by the running fibre, and read by the owner of `HELD`; with `AT_HOME`, by
//!    the owner of `VISITED`.
//!
//! # Memory ordering
//!
//! At home, `wait` and the bits of the word are Dekker's: the fibre and the canceller each write
//! one and then read the other, the fibre with a [`light_barrier`] in between, the canceller with a
//! heavy one. The canceller leaves by a release, which the fibre acquires.
//!
//! The word is changed by acquire-release read-modify-writes only: `left` releases the
//! fibre's stack, with `wait`, to whoever wakes or cancels it; `wake` releases what the
//! waker did before (the outcome, the data handed over) to the fibre; and giving up
//! `HELD` releases the canceller's use of the frame to the waker.

use crate::sync::{AtomicPtr, AtomicU32, Backoff, Ordering, light_barrier, planted};
use crate::wait::waiter::{Waiter, Wakeable};
use std::mem::offset_of;
use std::ptr;

/// The fibre has been cancelled. Never cleared.
const CANCELLED: u32 = 1;
/// A canceller uses the fibre's waiter.
const HELD: u32 = 2;
/// A canceller looks for a wait at home.
const VISITED: u32 = 4;
/// What [`Word::left`] adds to `RUNNING`: the stack has been left.
const PARKED: u32 = 1 << 3;
/// What [`Word::wake`] adds to `RUNNING`: the wake-up came first. Both together make a whole
/// turn, and the carry out of these bits counts the waits.
const WOKEN: u32 = 3 << 3;
/// The part of the word that is the state.
const STATE: u32 = 3 << 3;
/// The state of a fibre that may run.
const RUNNING: u32 = 0;

/// A bit of a waiter's address: the fibre waits by it, at home.
const AT_HOME: usize = 1;

/// What the waker or the canceller of a fibre has to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// Put the fibre into a ready queue: its stack is free.
    Enqueue,
    /// Nothing: the fibre, or the holder of the fibre, will notice.
    Noticed,
}

/// What the canceller of a fibre has to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// Nothing.
    Done,
    /// Put the fibre into a ready queue.
    Enqueue,
    /// Call [`RunState::visit`] soon, after a heavy barrier: the fibre may wait for that.
    Visit,
}

/// What the canceller that sets the bit finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The bit is set.
    Cancelled,
    /// The fibre is parked, and now held by the caller.
    Parked,
    /// The fibre is not parked, and is now visited by the caller.
    Running,
}

/// What the processor has to do with a fibre after it has left the stack.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Forget the fibre: a waker will queue it.
    Parked,
    /// Queue the fibre: the wake-up came before the stack was left, or the wait was cancelled.
    WokenEarly,
}

/// What the word says about a stack that has been left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parking {
    /// A waker will queue the fibre.
    Parked,
    /// The wake-up came first.
    WokenEarly,
    /// The fibre has been cancelled, and is now held by the caller.
    Held,
}

/// The state of one fibre, and the wait that may be cancelled.
#[derive(Debug)]
pub struct RunState<F> {
    /// The state word; its bits are touched by its own methods only.
    word: Word,
    /// Since when it waits, if that is noted; see `wait_times`.
    since: AtomicU32,
    /// The waiter of the wait it is parked in; null if that cannot be cancelled.
    wait: AtomicPtr<Waiter<F>>,
}

impl<F: Wakeable> Default for RunState<F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Wakeable> RunState<F> {
    /// Where it is noted since when the fibre waits, for debuggers.
    pub const SINCE: usize = offset_of!(Self, since);

    /// The state of a fibre that may run.
    #[must_use]
    pub fn new() -> Self {
        Self {
            word: Word(AtomicU32::new(RUNNING)),
            since: AtomicU32::new(0),
            wait: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Called by the fibre before it leaves its stack in order to park, with its waiter if the
    /// wait can be cancelled.
    ///
    /// # Safety
    ///
    /// The waiter stays where it is until the fibre goes on.
    #[inline]
    pub unsafe fn begin_wait(&self, cancellable: Option<&Waiter<F>>) {
        let waiter = cancellable.map_or(ptr::null(), ptr::from_ref);
        self.wait.store(waiter.cast_mut(), Ordering::Relaxed);
    }

    /// Called by the fibre before it leaves its stack in order to wait at home, by a waiter that
    /// can be cancelled. `true`: the fibre has been cancelled already, and its canceller may not
    /// come.
    ///
    /// # Safety
    ///
    /// The waiter stays where it is until [`end_wait_at_home`](Self::end_wait_at_home).
    #[inline]
    #[must_use]
    pub unsafe fn begin_wait_at_home(&self, waiter: &Waiter<F>) -> bool {
        let said = ptr::from_ref(waiter).cast_mut();
        let said = said.map_addr(|address| address | AT_HOME);
        self.wait.store(said, Ordering::Release);
        light_barrier();
        self.is_cancelled()
    }

    /// Called by the fibre that goes on after a wait at home. Afterwards no canceller touches the
    /// waiter. Blocks the thread for the few instructions of a canceller that does.
    #[inline]
    pub fn end_wait_at_home(&self, waiter: &Waiter<F>) {
        self.wait
            .store(ptr::from_ref(waiter).cast_mut(), Ordering::Relaxed);
        light_barrier();
        if self.word.0.load(Ordering::Acquire) & VISITED != 0
            && !planted("state: a wait at home ends while a canceller looks at it")
        {
            self.wait_for_visitor();
        }
    }

    /// Waits until the canceller has left; see [`end_wait_at_home`](Self::end_wait_at_home).
    #[cold]
    fn wait_for_visitor(&self) {
        let mut backoff = Backoff::new();
        while self.word.0.load(Ordering::Acquire) & VISITED != 0 {
            backoff.wait();
        }
    }

    /// The address of the waiter of its last wait that could be cancelled. The waiter may be gone.
    #[inline]
    pub fn last_wait(&self) -> *const Waiter<F> {
        let wait = self.wait.load(Ordering::Relaxed).cast_const();
        wait.map_addr(|address| address & !AT_HOME)
    }

    /// Notes since when the fibre waits. Called by the fibre itself.
    pub fn set_since(&self, since: u32) {
        self.since.store(since, Ordering::Relaxed);
    }

    /// Since when the fibre waits, if it does and that is noted.
    pub fn since(&self) -> u32 {
        self.since.load(Ordering::Relaxed)
    }

    /// Called by the processor, back on its own stack, for a fibre that parks.
    #[inline]
    pub fn left(&self) -> Left {
        match self.word.left() {
            Parking::Parked => Left::Parked,
            Parking::WokenEarly => Left::WokenEarly,
            Parking::Held => match self.end_wait() {
                Wake::Enqueue => Left::WokenEarly,
                Wake::Noticed => Left::Parked,
            },
        }
    }

    /// Called by the fibre, still on its stack: consumes a wake-up that has
    /// come already, so that it need not leave at all.
    #[inline]
    #[must_use]
    pub fn stay(&self) -> bool {
        self.word.stay()
    }

    /// Called by the fibre, still on its stack, in a wait that has begun: cancels the wait if the
    /// fibre has been cancelled and nobody has ended the wait. `true`: the wait is over, and nobody
    /// will wake the fibre.
    #[must_use]
    pub fn give_up(&self) -> bool {
        if !self.is_cancelled() {
            return false;
        }
        let waiter = self.wait.load(Ordering::Relaxed);
        // SAFETY: the waiter of a wait that has begun lies in a frame of the calling fibre. The
        // fibre is not at home, so the address has no mark. Any other claimant does so by the same
        // word.
        unsafe { waiter.as_ref() }.is_some_and(|waiter| {
            waiter.cancel().is_some()
                || planted("state: a held fibre gives up a wait that its waker has won")
        })
    }

    /// Called by the winner of the fibre's waiter, on any thread.
    #[inline]
    pub fn wake(&self) -> Wake {
        self.word.wake()
    }

    /// Cancels the fibre: its cancellable wait, if it is in one, and all later ones. Any
    /// thread; after the first call it does nothing.
    pub fn cancel(&self) -> Cancel {
        match self.word.cancel() {
            Found::Cancelled => Cancel::Done,
            Found::Running => Cancel::Visit,
            Found::Parked => match self.end_wait() {
                Wake::Enqueue => Cancel::Enqueue,
                Wake::Noticed => Cancel::Done,
            },
        }
    }

    /// The second step of a [`cancel`](Self::cancel): cancels the wait at home that the fibre is
    /// in, if it is. `true`: the caller has to queue the fibre at its home.
    pub fn visit(&self) -> bool {
        let wait = self.wait.load(Ordering::Acquire);
        let at_home = wait.addr() & AT_HOME != 0;
        let waiter = wait.map_addr(|address| address & !AT_HOME);
        // SAFETY: the fibre is in that wait, and does not leave its frame while it is visited.
        let won = at_home && unsafe { &*waiter }.cancel().is_some();
        self.word.0.fetch_and(!VISITED, Ordering::Release);
        won
    }

    /// Cancels all later waits of a fibre that does not run, and is in none.
    pub fn cancel_later(&self) {
        self.word.0.fetch_or(CANCELLED, Ordering::Relaxed);
    }

    /// Whether the fibre has been cancelled.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.word.0.load(Ordering::Relaxed) & CANCELLED != 0
    }

    /// Cancels the wait of a fibre that the caller holds, if that can be cancelled, and lets go.
    #[cold]
    fn end_wait(&self) -> Wake {
        let waiter = self.wait.load(Ordering::Relaxed);
        // SAFETY: the fibre is held, so the frame with its waiter stays.
        let won = unsafe { waiter.as_ref() }.is_some_and(|waiter| waiter.cancel().is_some());
        if won {
            self.word.wake_held();
            return Wake::Enqueue;
        }
        self.word.let_go()
    }

    /// Holds a fibre that has been cancelled and is parked: until the caller lets it go by
    /// [`rouse_held`](Self::rouse_held) or [`let_go`](Self::let_go), it does not run. `false`: it
    /// runs, or has been woken. Blocks the thread for the few instructions of another holder.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.word.hold()
    }

    /// Lets a fibre that the caller holds go on in the middle of its wait. The caller queues it.
    /// If its waiter has been claimed, the fibre parks once more.
    pub fn rouse_held(&self) {
        self.word.wake_held();
    }

    /// Lets a fibre that the caller holds go, as if it had not been held.
    pub fn let_go(&self) -> Wake {
        self.word.let_go()
    }

    /// Whether the fibre is parked at this moment; for reports only.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.word.0.load(Ordering::Relaxed) & STATE == PARKED
    }
}

/// The word alone: each method is one transition.
#[derive(Debug)]
struct Word(AtomicU32);

impl Word {
    /// Adds the wake-up; see [`RunState::wake`].
    #[inline]
    fn wake(&self) -> Wake {
        let before = self.0.fetch_add(WOKEN, Ordering::AcqRel);
        debug_assert!(
            matches!(before & STATE, RUNNING | PARKED),
            "a fibre was woken twice"
        );
        if before & (STATE | HELD) == PARKED {
            Wake::Enqueue
        } else {
            Wake::Noticed
        }
    }

    /// Adds that the stack is left, see [`RunState::left`]; holds a fibre that has been cancelled.
    #[inline]
    fn left(&self) -> Parking {
        let word = self.0.load(Ordering::Relaxed);
        let next = word.wrapping_add(PARKED);
        if word & (STATE | CANCELLED) == RUNNING
            && self
                .0
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        {
            return Parking::Parked;
        }
        self.left_late()
    }

    /// The part of [`left`](Self::left) for fibres that have been woken or cancelled.
    #[cold]
    fn left_late(&self) -> Parking {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let parked = word.wrapping_add(PARKED);
            let (next, parking) = match (word & STATE, word & CANCELLED) {
                (RUNNING, 0) => (parked, Parking::Parked),
                (RUNNING, _) => (parked | HELD, Parking::Held),
                _ => (parked, Parking::WokenEarly),
            };
            match self
                .0
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return parking,
                Err(now) => word = now,
            }
        }
    }

    /// Consumes an early wake-up; see [`RunState::stay`].
    #[inline]
    fn stay(&self) -> bool {
        let woken = self.0.load(Ordering::Relaxed) & STATE == WOKEN;
        if woken {
            self.0.fetch_add(PARKED, Ordering::AcqRel);
        }
        woken
    }

    /// Sets the bit, and holds a fibre that is parked, or visits one that is not.
    fn cancel(&self) -> Found {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if word & CANCELLED != 0 {
                return Found::Cancelled;
            }
            let (also, found) = match word & STATE {
                PARKED => (HELD, Found::Parked),
                _ => (VISITED, Found::Running),
            };
            let next = word | CANCELLED | also;
            match self
                .0
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return found,
                Err(now) => word = now,
            }
        }
    }

    /// Holds a parked fibre; see [`RunState::hold`].
    fn hold(&self) -> bool {
        let mut backoff = Backoff::new();
        loop {
            let word = self.0.load(Ordering::Relaxed);
            if word & (STATE | CANCELLED) != PARKED | CANCELLED {
                return false;
            }
            let is_free = word & HELD == 0 || planted("state: a fibre that is held is roused");
            let next = word | HELD;
            if is_free
                && self
                    .0
                    .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                return true;
            }
            // Another thread looks at it for some instructions.
            backoff.wait();
        }
    }

    /// Lets a held fibre go with the caller's wake-up: nobody else will wake it, or it parks once
    /// more for who does.
    fn wake_held(&self) {
        self.0.fetch_add(WOKEN - HELD, Ordering::AcqRel);
    }

    /// Lets a held fibre go after a waker has claimed its waiter. If that waker has been here, the
    /// caller queues the fibre.
    fn let_go(&self) -> Wake {
        let before = self.0.fetch_sub(HELD, Ordering::AcqRel);
        if before & STATE == PARKED {
            Wake::Noticed
        } else {
            Wake::Enqueue
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wait::waiter::Outcome;
    use std::ptr::NonNull;

    /// Something that waits, and that nobody resumes.
    struct Sleeper;

    impl Wakeable for Sleeper {
        unsafe fn resume(_: NonNull<Self>) {
            unreachable!("what wakes it says that it is to be queued");
        }

        unsafe fn resume_at_home(_: NonNull<Self>) {
            unreachable!("the same");
        }
    }

    /// Makes a wait of the sleeper.
    fn waiter(sleeper: &mut Sleeper) -> Waiter<Sleeper> {
        // SAFETY: it outlives the test, and nobody resumes it.
        unsafe { Waiter::for_fibre(NonNull::from(sleeper)) }
    }

    /// Parks a fibre in a wait that cannot be cancelled.
    fn park(state: &RunState<Sleeper>) -> Left {
        // SAFETY: there is no waiter.
        unsafe { state.begin_wait(None) };
        state.left()
    }

    #[test]
    fn a_fibre_parks_and_is_woken() {
        let state = RunState::<Sleeper>::new();
        assert!(!state.is_parked() && !state.is_cancelled() && !state.stay());
        for _ in 0..3 {
            assert_eq!(park(&state), Left::Parked);
            assert!(state.is_parked());
            assert_eq!(state.wake(), Wake::Enqueue);
            assert!(!state.is_parked());
            // The wake-up comes before the stack is left, which is found there, or at once.
            assert_eq!(state.wake(), Wake::Noticed);
            assert_eq!(park(&state), Left::WokenEarly);
            assert!(!state.is_parked());
            assert_eq!(state.wake(), Wake::Noticed);
            assert!(state.stay());
            assert!(!state.stay() && !state.is_parked());
        }
    }

    #[test]
    fn a_cancelled_wait_ends_and_lets_go() {
        let mut sleeper = Sleeper;
        let waiter = waiter(&mut sleeper);
        let state = RunState::new();
        // SAFETY: the waiter stays where it is.
        unsafe { state.begin_wait(Some(&waiter)) };
        assert!(!state.give_up());
        assert_eq!(state.left(), Left::Parked);
        assert_eq!(state.cancel(), Cancel::Enqueue);
        assert_eq!(waiter.outcome(), Outcome::Cancelled);
        assert!(state.is_cancelled() && !state.is_parked());
        assert_eq!(state.cancel(), Cancel::Done);
        // Nobody holds it any more: the next waits are as ever.
        assert_eq!(park(&state), Left::Parked);
        assert!(state.is_parked());
        assert_eq!(state.wake(), Wake::Enqueue);
        assert!(!state.is_parked());
    }

    #[test]
    fn one_that_was_cancelled_before_gives_up() {
        let mut sleeper = Sleeper;
        let [held, left, home] = [(); 3].map(|()| waiter(&mut sleeper));
        let state = RunState::new();
        state.cancel_later();
        assert!(state.is_cancelled());
        assert_eq!(state.cancel(), Cancel::Done);
        // SAFETY: the waiters stay where they are.
        unsafe { state.begin_wait(Some(&held)) };
        assert!(state.give_up());
        assert_eq!(held.outcome(), Outcome::Cancelled);
        assert!(!state.give_up());
        // SAFETY: the same.
        unsafe { state.begin_wait(Some(&left)) };
        assert_eq!(state.left(), Left::WokenEarly);
        assert_eq!(left.outcome(), Outcome::Cancelled);
        // SAFETY: the same.
        assert!(unsafe { state.begin_wait_at_home(&home) });
        state.end_wait_at_home(&home);
    }

    #[test]
    fn the_last_wait_is_told_wherever_it_was() {
        let mut sleeper = Sleeper;
        let [parked, home] = [(); 2].map(|()| waiter(&mut sleeper));
        let state = RunState::new();
        // SAFETY: the waiters stay where they are.
        unsafe { state.begin_wait(Some(&parked)) };
        assert!(ptr::eq(state.last_wait(), &parked));
        // SAFETY: the same.
        assert!(!unsafe { state.begin_wait_at_home(&home) });
        assert!(ptr::eq(state.last_wait(), &home));
        state.end_wait_at_home(&home);
        assert!(ptr::eq(state.last_wait(), &home));
        assert_eq!(state.since(), 0);
        state.set_since(7);
        assert_eq!(state.since(), 7);
    }

    #[test]
    fn who_visits_ends_a_wait_at_home_and_nothing_else() {
        let mut sleeper = Sleeper;
        let home = waiter(&mut sleeper);
        let state = RunState::new();
        // SAFETY: the waiter stays where it is.
        assert!(!unsafe { state.begin_wait_at_home(&home) });
        assert_eq!(state.cancel(), Cancel::Visit);
        assert!(state.visit());
        assert_eq!(home.outcome(), Outcome::Cancelled);
        state.end_wait_at_home(&home);
        // It has left: the visit has ended, and the next one finds nothing.
        assert!(!state.visit());
    }
}
