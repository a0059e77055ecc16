//! The wake side of suspension: the first waker wins.
//!
//! A [`Waiter`] lies on the stack of whoever waits. It is handed to a list, a slot
//! and perhaps a timer; each of them may [`Waiter::claim`] it, and one
//! compare-and-swap on its *outcome* decides who does:
//!
//! ```text
//!   WAITING ──► token ≥ 0 | TIMED_OUT | CANCELLED          (once)
//! ```
//!
//! The winner gets a [`Resume`], the right and the duty to let the waiting fibre or
//! thread go on. Everybody else gets `None` and forgets the waiter.
//!
//! Invariants:
//!
//! 1. Whoever holds a pointer to a waiter reaches it under the lock of the list
//!    (or by the word of the slot) that the pointer came from, and the waiting
//!    side takes the waiter out of there, under the same lock, before its frame
//!    ends. So `claim` is called under that lock, `Resume::resume` after it. A canceller
//!    reaches it while it holds the parked fibre (see `fibre/state.rs`), which has the
//!    same power.
//! 2. The waiting side goes on only by consuming the winner's resume, never by
//!    merely seeing the outcome. So the winner may touch the waiter until it
//!    resumes; [`Resume`] therefore carries a copy of all that it needs.
//!
//! **At home.** A waker must not let a fibre run before its stack has been left, which takes a word
//! that both change. It takes none if the fibre can only run on the processor that it waits on,
//! which takes it from its queue after it has left its stack: so a wait of
//! a fibre that stays is ended by queueing the fibre there.
//!
//! # Memory ordering
//!
//! The outcome is written with release and read with acquire; what else the
//! winner did before `resume` travels by the fibre's state word or the thread's
//! futex.

use crate::sync::{AtomicU32, Futex, Ordering};
use crate::wall_clock::WallTime;
use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// Nobody has won yet.
const WAITING: u32 = 0;
/// The deadline won.
const TIMED_OUT: u32 = 1;
/// A canceller won.
const CANCELLED: u32 = 2;
/// Tokens are stored above this.
const FIRST_TOKEN: u32 = 3;

/// How a wait ended.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A waker won, and left this token.
    Woken(u32),
    /// The deadline passed first. The waiter is out of every list.
    TimedOut,
    /// The fibre has been cancelled. The waiter is out of every list.
    Cancelled,
    /// The wait did not take place: the condition held already.
    NotParked,
}

/// What may end a wait besides a waker. As small as an `Instant`, and passed in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing.
    None,
    /// That the fibre is cancelled. Threads are not.
    Cancellation,
    /// That this moment comes, or that the fibre is cancelled.
    Deadline(Instant),
    /// That the clock which people set shows this, or that the fibre is cancelled.
    Wall(WallTime),
}

impl Limit {
    /// Cancellation, and a deadline if there is one.
    #[inline]
    #[must_use]
    pub fn of(deadline: Option<Instant>) -> Self {
        deadline.map_or(Self::Cancellation, Self::Deadline)
    }

    /// Cancellation, and the moment that comes after `timeout`, unless that is beyond the
    /// clock's range.
    #[must_use]
    pub fn after(timeout: Duration) -> Self {
        Self::of(Instant::now().checked_add(timeout))
    }

    /// The moment at which the wait ends at the latest, if that is one of the monotonic clock.
    #[inline]
    #[must_use]
    pub fn deadline(self) -> Option<Instant> {
        match self {
            Self::Deadline(deadline) => Some(deadline),
            Self::None | Self::Cancellation | Self::Wall(_) => None,
        }
    }

    /// When to look whether the limit has come, as far as that is a matter of time; `None` if it has.
    #[must_use]
    pub fn next_look(self) -> Option<Instant> {
        match self {
            Self::Deadline(deadline) => {
                Some(deadline).filter(|&deadline| Instant::now() < deadline)
            }
            Self::Wall(moment) => moment.next_look(),
            Self::None | Self::Cancellation => None,
        }
    }

    /// Whether time ends the wait.
    #[inline]
    #[must_use]
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Deadline(_) | Self::Wall(_))
    }
}

/// Something that can be let go on; implemented by the fibre's control block.
pub trait Wakeable {
    /// Lets the one who waits go on. Called once per wait, by the winner.
    ///
    /// # Safety
    ///
    /// `this` waits, and the caller has won its waiter.
    unsafe fn resume(this: NonNull<Self>);

    /// Lets the one who waits at home go on. Called once per wait, by the winner.
    ///
    /// # Safety
    ///
    /// `this` waits at home, and the caller has won its waiter.
    unsafe fn resume_at_home(this: NonNull<Self>);
}

/// Who waits, as a copy that outlives the waiter.
#[derive(Debug)]
enum Target<F> {
    /// A fibre, by its control block.
    Fibre(NonNull<F>),
    /// A fibre that waits at home.
    AtHome(NonNull<F>),
    /// A kernel thread, by the word it sleeps on.
    Thread(NonNull<ThreadParker>),
}

impl<F> Clone for Target<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Target<F> {}

/// One wait of one fibre or thread. See the module text.
#[derive(Debug)]
pub struct Waiter<F> {
    /// Who has won.
    outcome: AtomicU32,
    /// Who waits.
    target: Target<F>,
    /// Lists hold its address.
    _pinned: PhantomPinned,
}

// SAFETY: the outcome is atomic, and the target is only used by the one winner,
// through `Wakeable::resume` and `ThreadParker::unpark`, both made for any thread.
unsafe impl<F> Send for Waiter<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Waiter<F> {}

#[cfg(loom)]
impl<F> crate::sync::EndOfFrame for Waiter<F> {
    fn end_of_frame(&mut self) {
        self.outcome.end_of_frame();
    }
}

impl<F: Wakeable> Waiter<F> {
    /// A wait of this fibre.
    #[must_use]
    pub fn for_fibre(fibre: NonNull<F>) -> Self {
        Self::new(Target::Fibre(fibre))
    }

    /// A wait of this fibre at home, see the module text.
    #[inline]
    #[must_use]
    pub fn at_home(fibre: NonNull<F>) -> Self {
        Self::new(Target::AtHome(fibre))
    }

    /// A wait of the thread that owns `parker`.
    #[must_use]
    pub fn for_thread(parker: &ThreadParker) -> Self {
        Self::new(Target::Thread(NonNull::from(parker)))
    }

    fn new(target: Target<F>) -> Self {
        Self {
            outcome: AtomicU32::new(WAITING),
            target,
            _pinned: PhantomPinned,
        }
    }

    /// Tries to be the one who ends this wait, leaving `token` (below 2³¹).
    ///
    /// Call it under the lock that gives access to the waiter, and resume after
    /// that lock is released.
    pub fn claim(&self, token: u32) -> Option<Resume<F>> {
        debug_assert!(token < 1 << 31, "a token of more than 31 bits");
        self.decide(FIRST_TOKEN + token)
    }

    /// Ends this wait, leaving `token`, with nobody to compete with: a store instead of a
    /// compare-and-swap.
    ///
    /// # Safety
    ///
    /// The wait has no [`Limit`], and nobody else can claim the waiter.
    #[inline]
    pub unsafe fn claim_alone(&self, token: u32) -> Resume<F> {
        let target = self.target;
        self.outcome.store(FIRST_TOKEN + token, Ordering::Release);
        Resume { target }
    }

    /// What [`claim`](Self::claim) returned, for one who claims many first and resumes them
    /// later.
    ///
    /// # Safety
    ///
    /// The caller has won this waiter, and has resumed nobody for it.
    #[inline]
    pub unsafe fn claimed(&self) -> Resume<F> {
        let target = self.target;
        Resume { target }
    }

    /// The fibre that waits, if it is one.
    #[inline]
    pub fn fibre(&self) -> Option<NonNull<F>> {
        match self.target {
            Target::Fibre(fibre) | Target::AtHome(fibre) => Some(fibre),
            Target::Thread(_) => None,
        }
    }

    /// Tries to end this wait because its deadline has passed.
    pub fn time_out(&self) -> Option<Resume<F>> {
        self.decide(TIMED_OUT)
    }

    /// Tries to end this wait because its fibre has been cancelled.
    ///
    /// Call it while the fibre is held, or as the fibre itself.
    pub fn cancel(&self) -> Option<Resume<F>> {
        self.decide(CANCELLED)
    }

    /// The one compare-and-swap.
    fn decide(&self, outcome: u32) -> Option<Resume<F>> {
        let target = self.target;
        self.outcome
            .compare_exchange(WAITING, outcome, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
            .then_some(Resume { target })
    }

    /// Whether somebody has won already. A hint to spare work; see invariant 2.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.outcome.load(Ordering::Relaxed) != WAITING
    }

    /// Whether it was not a waker who has won. After the resume has been consumed, or as
    /// the fibre itself.
    #[inline]
    pub fn has_given_up(&self) -> bool {
        self.outcome.load(Ordering::Relaxed) < FIRST_TOKEN
    }

    /// Reads who has won, after the resume has been consumed.
    #[inline]
    pub fn outcome(&self) -> Outcome {
        let outcome = self.outcome.load(Ordering::Acquire);
        match outcome.checked_sub(FIRST_TOKEN) {
            Some(token) => Outcome::Woken(token),
            None if outcome == TIMED_OUT => Outcome::TimedOut,
            None => Outcome::Cancelled,
        }
    }
}

/// The right and the duty of a winner: to let the waiting side go on.
#[must_use = "the waiting side sleeps until it is resumed"]
#[derive(Debug)]
pub struct Resume<F> {
    target: Target<F>,
}

// SAFETY: see `Waiter`.
unsafe impl<F> Send for Resume<F> {}

impl<F: Wakeable> Resume<F> {
    /// Lets the waiting fibre or thread go on. Blocks nothing; any thread.
    #[inline]
    pub fn resume(self) {
        match self.target {
            // SAFETY: we have won its waiter, so it waits for us (invariant 2).
            Target::Fibre(fibre) => unsafe { F::resume(fibre) },
            // SAFETY: the same.
            Target::AtHome(fibre) => unsafe { F::resume_at_home(fibre) },
            // SAFETY: the same; the thread leaves its frame only after this.
            Target::Thread(parker) => unsafe { ThreadParker::unpark(parker) },
        }
    }

    /// The fibre, to be run next instead of being queued, if it waits at home and `here` is that.
    ///
    /// # Errors
    ///
    /// The right, to be used otherwise.
    #[inline]
    pub fn successor(self, here: impl FnOnce(NonNull<F>) -> bool) -> Result<NonNull<F>, Self> {
        match self.target {
            Target::AtHome(fibre) if here(fibre) => Ok(fibre),
            Target::AtHome(_) | Target::Fibre(_) | Target::Thread(_) => Err(self),
        }
    }
}

/// The word that a waiting kernel thread sleeps on, in its own frame.
#[derive(Debug)]
pub struct ThreadParker(Futex);

impl ThreadParker {
    /// A parker that has not been resumed.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "one per wait, never a default")]
    pub fn new() -> Self {
        Self(Futex::new(0))
    }

    /// Blocks the thread until the winner resumes it.
    pub fn park(&self) {
        while self.0.load() == 0 {
            self.0.wait(0, None);
        }
    }

    /// Blocks the thread until it is resumed (`true`) or the limit comes, if that is a matter of time.
    #[must_use]
    pub fn park_within(&self, limit: Limit) -> bool {
        if !limit.is_timed() {
            self.park();
            return true;
        }
        while self.0.load() == 0 {
            let Some(look) = limit.next_look() else {
                return false;
            };
            self.0.wait(0, Some(look));
        }
        true
    }

    /// Resumes the thread. Touches nothing after the word has changed but its
    /// address.
    ///
    /// # Safety
    ///
    /// The thread has not been resumed since it began to wait.
    unsafe fn unpark(this: NonNull<Self>) {
        // SAFETY: it is in its frame until the swap below.
        let word = unsafe { &raw const (*this.as_ptr()).0 };
        // SAFETY: the same.
        unsafe { (*word).swap(1) };
        Futex::wake_one(word);
    }
}
