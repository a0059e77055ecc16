//! The wake side of suspension: the first waker wins.
//!
//! A [`Waiter`] lies on the stack of the waiting fibre or thread. It is handed to a list, a slot
//! and perhaps a timer; each of them may [`Waiter::claim`] it, and one compare-and-swap on its
//! *outcome* decides which of them does:
//!
//! ```text
//!   WAITING ──► token ≥ 0 | TIMED_OUT | CANCELLED          (once)
//! ```
//!
//! The winner gets a [`Resume`], the right and the duty to let the waiting fibre or thread go on.
//! All others get `None` and forget the waiter.
//!
//! Invariants:
//!
//! 1. A thread that holds a pointer to a waiter reaches it under the lock of the list (or by the
//!    word of the slot) that the pointer came from, and the waiting side takes the waiter out of
//!    there, under the same lock, before its frame ends. So `claim` is called under that lock,
//!    `Resume::resume` after it. A canceller reaches it while it holds the parked fibre (see
//!    `fibre/state.rs`), which has the same power.
//! 2. The waiting side goes on only by consuming the winner's resume, never by merely seeing the
//!    outcome. So the winner may touch the waiter until it resumes it; [`Resume`] therefore carries
//!    a copy of everything it needs.
//!
//! The waiting side is a fibre, a kernel thread, or a task of asynchronous code (`task_wait`).
//!
//! **At home.** A waker must not let a fibre run before its stack has been left. In general that
//! needs a word that both the waker and the fibre's processor change. It needs none if the fibre
//! can only run on the processor that it waits on: that processor takes the fibre from its queue
//! only after it has left the fibre's stack. So the waker of such a fibre just queues it there.
//!
//! # Memory ordering
//!
//! The outcome is written with release and read with acquire; what else the
//! winner did before `resume` travels by the fibre's state word or the thread's
//! futex.

use crate::sync::{AtomicU32, Futex, Ordering};
use crate::wait::limit::Limit;
use std::marker::PhantomPinned;
use std::ptr::NonNull;

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

/// A waiting side that a winner can resume; implemented by the fibre's control block.
pub trait Wakeable {
    /// Lets the waiting fibre go on. Called once per wait, by the winner.
    ///
    /// # Safety
    ///
    /// `this` waits, and the caller has won its waiter.
    unsafe fn resume(this: NonNull<Self>);

    /// Lets a fibre that waits at home go on. Called once per wait, by the winner.
    ///
    /// # Safety
    ///
    /// `this` waits at home, and the caller has won its waiter.
    unsafe fn resume_at_home(this: NonNull<Self>);
}

/// The waiting side, as a copy that outlives the waiter.
#[derive(Debug)]
enum Target<F> {
    /// A fibre, by its control block.
    Fibre(NonNull<F>),
    /// A fibre that waits at home.
    AtHome(NonNull<F>),
    /// A kernel thread or a task, by what wakes it.
    Other(NonNull<Parker>),
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
    /// How the wait ended, or that it has not.
    outcome: AtomicU32,
    /// The waiting side.
    target: Target<F>,
    /// Not movable, as lists hold its address.
    _pinned: PhantomPinned,
}

// SAFETY: the outcome is atomic, and the target is only used by the one winner,
// through `Wakeable::resume` and `ThreadParker::unpark`, both made for any thread.
unsafe impl<F> Send for Waiter<F> {}
// SAFETY: the same holds for shared references.
unsafe impl<F> Sync for Waiter<F> {}

#[cfg(loom)]
impl<F> crate::sync::EndOfFrame for Waiter<F> {
    fn end_of_frame(&mut self) {
        self.outcome.end_of_frame();
    }
}

impl<F: Wakeable> Waiter<F> {
    /// A wait of this fibre.
    ///
    /// # Safety
    ///
    /// The fibre is alive until the wait has ended, and is resumed by this waiter only.
    ///
    /// ```compile_fail,E0133
    /// let waiter = fibre_core::internal::Waiter::for_fibre(std::ptr::NonNull::dangling());
    /// waiter.claim(0).unwrap().resume();
    /// ```
    #[must_use]
    pub unsafe fn for_fibre(fibre: NonNull<F>) -> Self {
        Self::new(Target::Fibre(fibre))
    }

    /// A wait of this fibre at home, see the module text.
    ///
    /// # Safety
    ///
    /// As for [`for_fibre`](Self::for_fibre); and the fibre runs nowhere else before it goes on.
    ///
    /// ```compile_fail,E0133
    /// let waiter = fibre_core::internal::Waiter::at_home(std::ptr::NonNull::dangling());
    /// waiter.claim(0).unwrap().resume();
    /// ```
    #[inline]
    #[must_use]
    pub unsafe fn at_home(fibre: NonNull<F>) -> Self {
        Self::new(Target::AtHome(fibre))
    }

    /// A wait of the thread that owns `parker`.
    ///
    /// # Safety
    ///
    /// The parker outlives the wait, until it has been resumed.
    #[must_use]
    pub unsafe fn for_thread(parker: &ThreadParker) -> Self {
        Self::new(Target::Other(NonNull::from(parker).cast()))
    }

    /// A wait of what this parker wakes.
    ///
    /// # Safety
    ///
    /// The parker may be used by the winner of the wait, until it has been.
    pub(crate) unsafe fn for_parker(parker: NonNull<Parker>) -> Self {
        Self::new(Target::Other(parker))
    }

    fn new(target: Target<F>) -> Self {
        Self {
            outcome: AtomicU32::new(WAITING),
            target,
            _pinned: PhantomPinned,
        }
    }

    /// Tries to win this wait, leaving `token` (below 2³¹).
    ///
    /// Call it under the lock that gives access to the waiter, and resume after
    /// that lock is released.
    pub fn claim(&self, token: u32) -> Option<Resume<F>> {
        debug_assert!(token < 1 << 31, "a token of more than 31 bits");
        self.decide(FIRST_TOKEN + token)
    }

    /// Ends this wait, leaving `token`, for a winner without competitors: a store instead of a
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

    /// What [`claim`](Self::claim) returned, for a waker that claims many waiters first and resumes
    /// them later.
    ///
    /// # Safety
    ///
    /// The caller has won this waiter, and has not resumed it yet.
    #[inline]
    pub unsafe fn claimed(&self) -> Resume<F> {
        let target = self.target;
        Resume { target }
    }

    /// The fibre that waits, if the waiting side is a fibre.
    #[inline]
    pub fn fibre(&self) -> Option<NonNull<F>> {
        match self.target {
            Target::Fibre(fibre) | Target::AtHome(fibre) => Some(fibre),
            Target::Other(_) => None,
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

    /// Makes the one compare-and-swap.
    fn decide(&self, outcome: u32) -> Option<Resume<F>> {
        let target = self.target;
        self.outcome
            .compare_exchange(WAITING, outcome, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
            .then_some(Resume { target })
    }

    /// Whether the wait has a winner already. A hint to spare work; see invariant 2.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.outcome.load(Ordering::Relaxed) != WAITING
    }

    /// Whether the winner was no waker. Called after the resume has been consumed, or by the fibre
    /// itself.
    #[inline]
    pub fn has_given_up(&self) -> bool {
        self.outcome.load(Ordering::Relaxed) < FIRST_TOKEN
    }

    /// Reads how the wait ended, after the resume has been consumed.
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

// SAFETY: as for `Waiter`.
unsafe impl<F> Send for Resume<F> {}

impl<F: Wakeable> Resume<F> {
    /// Lets the waiting fibre or thread go on. Blocks nothing; any thread.
    #[inline(always)]
    pub fn resume(self) {
        match self.target {
            // SAFETY: we have won its waiter, so it waits for us (invariant 2).
            Target::Fibre(fibre) => unsafe { F::resume(fibre) },
            // SAFETY: we have won its waiter, so it waits for us (invariant 2).
            Target::AtHome(fibre) => unsafe { F::resume_at_home(fibre) },
            // SAFETY: we have won its waiter; what it wakes leaves the parker only after this.
            Target::Other(parker) => unsafe { ((*parker.as_ptr()).wake)(parker) },
        }
    }

    /// The fibre, to be run next instead of being queued, if it waits at home and `here` is its
    /// home.
    ///
    /// # Errors
    ///
    /// The resume itself, to be used otherwise.
    #[inline]
    pub fn successor(self, here: impl FnOnce(NonNull<F>) -> bool) -> Result<NonNull<F>, Self> {
        match self.target {
            Target::AtHome(fibre) if here(fibre) => Ok(fibre),
            Target::AtHome(_) | Target::Fibre(_) | Target::Other(_) => Err(self),
        }
    }
}

/// What wakes a waiting side that is no fibre. It is the beginning of what the function expects.
#[derive(Debug)]
pub(crate) struct Parker {
    /// Wakes it. Called once for each wait, by the winner, with this parker.
    wake: unsafe fn(NonNull<Parker>),
}

impl Parker {
    /// What calls this function to wake.
    pub(crate) const fn new(wake: unsafe fn(NonNull<Self>)) -> Self {
        Self { wake }
    }
}

/// The word that a waiting kernel thread sleeps on, in its own frame.
#[repr(C)]
#[derive(Debug)]
pub struct ThreadParker {
    /// How the thread is woken.
    head: Parker,
    /// The word: not zero once the thread has been resumed.
    word: Futex,
}

impl ThreadParker {
    /// A parker that has not been resumed.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "one per wait, never a default")]
    pub fn new() -> Self {
        Self {
            head: Parker::new(Self::unpark),
            word: Futex::new(0),
        }
    }

    /// Blocks the thread until the winner resumes it.
    pub fn park(&self) {
        while self.word.load() == 0 {
            self.word.wait(0, None);
        }
    }

    /// Blocks the thread until it is resumed (`true`) or the limit comes, if that is a matter of
    /// time.
    #[must_use]
    pub fn park_within(&self, limit: Limit) -> bool {
        if !limit.is_timed() {
            self.park();
            return true;
        }
        while self.word.load() == 0 {
            let Some(look) = limit.next_look() else {
                return false;
            };
            self.word.wait(0, Some(look));
        }
        true
    }

    /// Resumes the thread. After the word has changed, only its address is used.
    ///
    /// # Safety
    ///
    /// It is the head of a thread's parker. The thread has not been resumed since it began to wait.
    unsafe fn unpark(this: NonNull<Parker>) {
        // SAFETY: the thread is in its frame until the swap below.
        let word = unsafe { &raw const (*this.cast::<Self>().as_ptr()).word };
        // SAFETY: the thread is in its frame until this swap.
        unsafe { (*word).swap(1) };
        Futex::wake_one(word);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wait::no_fibre::NoFibre;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn a_thread_waits_as_long_as_it_may() {
        let parker = ThreadParker::new();
        assert!(!parker.park_within(Limit::Deadline(Instant::now())));
        let begun = Instant::now();
        let limit = Duration::from_millis(20);
        assert!(!parker.park_within(Limit::Deadline(begun + limit)));
        assert!(begun.elapsed() >= limit);
        for limit in [
            Limit::None,
            Limit::Cancellation,
            Limit::after(Duration::MAX / 4),
        ] {
            let parker = ThreadParker::new();
            // SAFETY: the parker outlives the wait.
            let waiter = unsafe { Waiter::<NoFibre>::for_thread(&parker) };
            assert_eq!(waiter.fibre(), None);
            thread::scope(|scope| {
                scope.spawn(|| {
                    assert!(!waiter.is_claimed());
                    waiter.claim(7).unwrap().resume();
                });
                assert!(parker.park_within(limit));
            });
            assert_eq!(waiter.outcome(), Outcome::Woken(7));
            assert!(waiter.is_claimed() && !waiter.has_given_up());
            assert!(waiter.claim(8).is_none() && waiter.time_out().is_none());
        }
    }

    /// A fibre runs next instead of being queued only if it waits at home, and its home is here.
    #[test]
    fn a_successor_is_at_home() {
        let mut fibre = NoFibre;
        let fibre = NonNull::from(&mut fibre);
        for here in [true, false] {
            // SAFETY: nobody resumes it.
            let waiters = unsafe { [Waiter::at_home(fibre), Waiter::for_fibre(fibre)] };
            for (waiter, at_home) in waiters.iter().zip([true, false]) {
                assert_eq!(waiter.fibre(), Some(fibre));
                let successor = waiter.claim(0).unwrap().successor(|fibre_here| {
                    assert_eq!(fibre_here, fibre);
                    here
                });
                assert_eq!(successor.ok(), (at_home && here).then_some(fibre));
            }
        }
        // SAFETY: nobody resumes it.
        let late = unsafe { Waiter::for_fibre(fibre) };
        assert!(late.time_out().is_some() && late.has_given_up());
        assert_eq!(late.outcome(), Outcome::TimedOut);
    }
}
