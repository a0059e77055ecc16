//! What a selection waits for: the contract between the arms of `select!` and their engine.
//!
//! A selection has one [`Waiter`], which hangs in the lists of all its arms. The first to claim it
//! has chosen; everybody else loses the claim, and goes on to the next waiter. So a selection is
//! woken once, and what its other arms wait for stays where it is.
//!
//! One selection, as an arm sees it:
//!
//! ```text
//!   attempt ──► Some: chosen
//!      │
//!      └─► None; all arms do so ──► enter ──► Ready: this selection claims its own waiter ──┐
//!      ▲                              │                                                     │
//!      │                              └─► Waits ──► somebody claims the waiter, or nobody   │
//!      │                                               │                                    │
//!      │            leave, for every arm that waits ◄──┴────────────────────────────────────┤
//!      │                              │                                                     │
//!      │                              ├─► Here: woken ──► Some: chosen                      │
//!      └── None ◄─────────────────────┴─► Elsewhere                          attempt ◄──────┘
//! ```

use crate::park::Waiter;
use std::fmt;
use std::time::Instant;

/// What one arm of a `select!` waits for, and how it is completed. Arms are made by the methods
/// whose names end in `_arm`, one beside each call that waits: `Event::wait_arm` beside
/// `Event::wait`.
///
/// # How to write one
///
/// Most crates need not: map an arm of this library ([`map`](Self::map)), or have a
/// `fibre::select::Watchers` in the object and look at the object in a closure. An arm of its own
/// wait list keeps to these rules. They are not checked, and memory safety depends on those of
/// [`enter`](Self::enter) and [`leave`](Self::leave); so an arm that keeps the waiter's address
/// has unsafe code of its own.
///
/// 1. [`attempt`](Self::attempt) completes the arm if that can be done without waiting. What it
///    takes is in what it returns; `None` means that nothing has been taken.
/// 2. [`enter`](Self::enter) hangs the waiter where wakers find it, under the lock that they claim
///    it under, and looks under that lock whether there is anything to wait for. It takes nothing.
///    It does not block, panic, allocate under a short lock, or let other fibres run.
/// 3. A waker takes the waiter out of the list, claims it, gives the lock back, and resumes it. A
///    waker whose claim fails has found a selection that has been chosen otherwise: what it
///    brings is for the next waiter.
/// 4. [`leave`](Self::leave) takes the waiter out, under the same lock. After that no waker
///    reaches the waiter. It says whether a waker of *this* arm has won the claim.
/// 5. [`woken`](Self::woken) completes the arm after that. If a waker hands over what it brings,
///    this cannot fail; if it only says that there is something, another caller may have been
///    faster, and the selection goes on.
/// 6. An arm that was entered and left without being woken has lost nothing, and kept nothing.
///
/// An arm may be tried, entered and left again and again, by one fibre or thread at a time.
///
/// ```
/// use fibre::select::{Arm, Watchers};
/// use fibre::{select, sync::Mutex};
///
/// /// A stack that fibres wait at.
/// #[derive(Default)]
/// struct Stack {
///     values: Mutex<Vec<u32>>,
///     pushed: Watchers,
/// }
///
/// impl Stack {
///     fn push(&self, value: u32) {
///         self.values.lock().push(value);
///         self.pushed.notify_one();
///     }
///
///     /// Waits for a value.
///     fn pop_arm(&self) -> impl Arm<Output = u32> + '_ {
///         self.pushed.watch(|| self.values.lock().pop())
///     }
/// }
///
/// let stack = Stack::default();
/// fibre::scope(|scope| {
///     scope.spawn(|| stack.push(7));
///     let popped = select! {
///         value = stack.pop_arm() => value,
///         default(std::time::Duration::from_secs(10)) => 0,
///     };
///     assert_eq!(popped, 7);
/// });
/// ```
pub trait Arm {
    /// What the arm yields when it has been chosen.
    type Output;

    /// Completes the arm, if that can be done without waiting; blocks nothing.
    fn attempt(&mut self) -> Option<Self::Output>;

    /// When to try the arm again, if nobody wakes it before; `None` if only wakers know.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Hangs the waiter up.
    ///
    /// # Safety
    ///
    /// The arm is in no list. It and the waiter stay where they are until the caller has called
    /// [`leave`](Self::leave), which it does if this returns [`Entered::Waits`]. Meanwhile the
    /// caller calls nothing else of the arm.
    unsafe fn enter(&self, waiter: &Waiter) -> Entered;

    /// Takes the waiter down, if a waker has not.
    ///
    /// # Safety
    ///
    /// [`enter`](Self::enter) has returned [`Entered::Waits`] for this waiter, and this is the one
    /// call after that.
    unsafe fn leave(&self, waiter: &Waiter) -> Left;

    /// Completes the arm after a waker of it has claimed the waiter, leaving this token; blocks
    /// nothing. `None`: in vain.
    fn woken(&mut self, token: u32) -> Option<Self::Output> {
        let _ = token;
        self.attempt()
    }

    /// Whether the arm can be woken from outside of the process, as by a descriptor. Reports of
    /// deadlocks ask that.
    fn is_from_outside(&self) -> bool {
        false
    }

    /// The same arm as one of those that enter their lists all at once; always, or never.
    ///
    /// # Safety
    ///
    /// The caller is a selection, which has the arm for itself, and calls nothing else of it
    /// between the first and the last call of the joint arm; or it is this method of an arm that
    /// has this one for itself, and passes on what it gets.
    #[doc(hidden)]
    unsafe fn joint(&self) -> Option<&dyn LockedArm> {
        None
    }

    /// An arm that yields what `f` makes of this one's output.
    ///
    /// ```
    /// use fibre::select::{self, Arm};
    /// use std::time::Duration;
    ///
    /// let late = fibre::select! {
    ///     late = select::after(Duration::from_millis(1)).map(|_| "late") => late,
    /// };
    /// assert_eq!(late, "late");
    /// ```
    fn map<R, F: FnMut(Self::Output) -> R>(self, f: F) -> Map<Self, F>
    where
        Self: Sized,
    {
        Map { arm: self, f }
    }
}

/// What has come of entering an arm.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The waiter hangs there.
    Waits,
    /// It does not, as the arm can perhaps be completed now. An arm must not say so again and
    /// again without reason.
    Ready,
}

/// What has come of a wait at an arm.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// A waker of this arm has claimed the waiter.
    Here,
    /// Something else has ended the wait, or nobody can tell, as what was waited for stays as it
    /// is.
    Elsewhere,
}

/// An arm that can serve an arm of another selection, so that both must be found at once: all of
/// them are looked at, and enter their lists, with all their locks held.
///
/// Its methods use cells. [`Arm::woken`] takes the output, whether the arm has been carried out by
/// a waker or under the locks.
#[doc(hidden)]
pub trait LockedArm {
    /// Where its lock is: locks are taken in this order, and each once.
    fn address(&self) -> usize;

    /// Takes the lock.
    fn lock(&self);

    /// Gives the lock back, if this arm has taken it.
    fn unlock(&self);

    /// Carries it out, if that can be done now.
    ///
    /// # Safety
    ///
    /// One of the selection's arms has the lock.
    unsafe fn attempt_locked(&self) -> bool;

    /// Enters the line.
    ///
    /// # Safety
    ///
    /// As for `attempt_locked`, and for [`Arm::enter`].
    unsafe fn enter_locked(&self, waiter: &Waiter);

    /// Leaves the line. Takes the lock for itself.
    fn leave_line(&self) -> Left;

    /// Does what was left to be done after the locks have been given back.
    fn carry_out(&self);
}

/// What [`Arm::map`] returns.
#[derive(Debug, Clone)]
#[must_use = "an arm waits in a selection only"]
pub struct Map<A, F> {
    /// The arm.
    arm: A,
    /// What is made of its output.
    f: F,
}

impl<A: Arm, R, F: FnMut(A::Output) -> R> Arm for Map<A, F> {
    type Output = R;

    fn attempt(&mut self) -> Option<R> {
        self.arm.attempt().map(&mut self.f)
    }

    fn due(&self) -> Option<Instant> {
        self.arm.due()
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        unsafe { self.arm.enter(waiter) }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        // SAFETY: passed on.
        unsafe { self.arm.leave(waiter) }
    }

    fn woken(&mut self, token: u32) -> Option<R> {
        self.arm.woken(token).map(&mut self.f)
    }

    fn is_from_outside(&self) -> bool {
        self.arm.is_from_outside()
    }

    unsafe fn joint(&self) -> Option<&dyn LockedArm> {
        // SAFETY: passed on.
        unsafe { self.arm.joint() }
    }
}

/// Makes a reference to an arm, of either kind, an arm.
macro_rules! forward {
    ($($reference:ty),+) => {
        $(
            /// The arm behind it.
            impl<A: Arm + ?Sized> Arm for $reference {
                type Output = A::Output;

                fn attempt(&mut self) -> Option<A::Output> {
                    (**self).attempt()
                }

                fn due(&self) -> Option<Instant> {
                    (**self).due()
                }

                unsafe fn enter(&self, waiter: &Waiter) -> Entered {
                    // SAFETY: passed on.
                    unsafe { (**self).enter(waiter) }
                }

                unsafe fn leave(&self, waiter: &Waiter) -> Left {
                    // SAFETY: passed on.
                    unsafe { (**self).leave(waiter) }
                }

                fn woken(&mut self, token: u32) -> Option<A::Output> {
                    (**self).woken(token)
                }

                fn is_from_outside(&self) -> bool {
                    (**self).is_from_outside()
                }

                unsafe fn joint(&self) -> Option<&dyn LockedArm> {
                    // SAFETY: passed on.
                    unsafe { (**self).joint() }
                }
            }
        )+
    };
}

forward!(&mut A, Box<A>);

/// The arm, if there is one; without one, it is never chosen.
impl<A: Arm> Arm for Option<A> {
    type Output = A::Output;

    fn attempt(&mut self) -> Option<A::Output> {
        self.as_mut()?.attempt()
    }

    fn due(&self) -> Option<Instant> {
        self.as_ref()?.due()
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        match self {
            // SAFETY: passed on.
            Some(arm) => unsafe { arm.enter(waiter) },
            None => Entered::Waits,
        }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        match self {
            // SAFETY: passed on.
            Some(arm) => unsafe { arm.leave(waiter) },
            None => Left::Elsewhere,
        }
    }

    fn woken(&mut self, token: u32) -> Option<A::Output> {
        self.as_mut()?.woken(token)
    }

    fn is_from_outside(&self) -> bool {
        self.as_ref().is_some_and(A::is_from_outside)
    }

    unsafe fn joint(&self) -> Option<&dyn LockedArm> {
        // SAFETY: passed on.
        unsafe { self.as_ref()?.joint() }
    }
}

impl fmt::Debug for dyn LockedArm + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joint").finish_non_exhaustive()
    }
}
