//! The end of a fibre, as an arm of `select!`.

use crate::park::Waiter;
use crate::park::arm::{Arm, Entered, Left};
use crate::spawn::join::{JoinHandle, Result};
use std::fmt;

/// An arm of `select!` for the end of a fibre; made by [`JoinHandle::finished_arm`].
#[must_use = "an arm waits in a selection only"]
pub struct FinishedArm<'a, T> {
    /// The handle. Nobody else can wait by it meanwhile: a fibre's end has one waiter.
    handle: &'a mut JoinHandle<T>,
}

/// An arm of `select!` for the result of a fibre; made by [`JoinHandle::join_arm`].
#[must_use = "an arm waits in a selection only"]
pub struct JoinArm<'a, T> {
    /// The handle, which is taken out when the arm is chosen.
    handle: &'a mut Option<JoinHandle<T>>,
}

impl<T> JoinHandle<T> {
    /// An arm of `select!` that is chosen once the fibre has ended. The result stays with the
    /// handle, for a [`join`](Self::join) that does not block then. If another arm is chosen,
    /// nothing has happened to the handle.
    ///
    /// ```
    /// use fibre::{channel::unbounded, select};
    ///
    /// let (_sender, receiver) = unbounded::<u32>();
    /// let mut fibre = fibre::spawn(|| 6 * 7);
    /// select! {
    ///     recv(receiver) -> _ => unreachable!("nobody sends"),
    ///     () = fibre.finished_arm() => {}
    /// }
    /// assert_eq!(fibre.join().unwrap(), 42);
    /// ```
    ///
    /// # Panics
    ///
    /// If a fibre waits for its own end.
    pub fn finished_arm(&mut self) -> FinishedArm<'_, T> {
        self.refuse_self();
        FinishedArm { handle: self }
    }

    /// [`join`](Self::join) as an arm of `select!`, for a handle that may be gone already. If the
    /// arm is chosen, the handle is taken out, and the arm yields the fibre's result. Without a
    /// handle, it is never chosen.
    ///
    /// ```
    /// use fibre::{JoinHandle, select};
    ///
    /// let mut fibres = [2, 3].map(|number| Some(fibre::spawn(move || 10 * number)));
    /// let mut sum = 0;
    /// while fibres.iter().any(Option::is_some) {
    ///     let [one, other] = &mut fibres;
    ///     select! {
    ///         result = JoinHandle::join_arm(one) => sum += result.unwrap(),
    ///         result = JoinHandle::join_arm(other) => sum += result.unwrap(),
    ///     }
    /// }
    /// assert_eq!(sum, 50);
    /// ```
    ///
    /// # Panics
    ///
    /// If a fibre joins itself.
    pub fn join_arm(handle: &mut Option<Self>) -> JoinArm<'_, T> {
        handle.iter().for_each(Self::refuse_self);
        JoinArm { handle }
    }

    /// Hangs the waiter at the fibre's end.
    fn enter(&self, waiter: &Waiter) -> Entered {
        match self.completion().publish_limited(waiter) {
            true => Entered::Waits,
            false => Entered::Ready,
        }
    }

    /// Takes the waiter down from there. An end stays an end.
    fn leave(&self, waiter: &Waiter) -> Left {
        self.completion().withdraw(waiter);
        Left::Elsewhere
    }
}

impl<T> Arm for FinishedArm<'_, T> {
    type Output = ();

    fn attempt(&mut self) -> Option<()> {
        self.handle.is_finished().then_some(())
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        self.handle.enter(waiter)
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        self.handle.leave(waiter)
    }
}

impl<T> Arm for JoinArm<'_, T> {
    type Output = Result<T>;

    fn attempt(&mut self) -> Option<Result<T>> {
        self.handle
            .take_if(|handle| handle.is_finished())
            .map(JoinHandle::join)
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        let entered = self.handle.as_ref().map(|handle| handle.enter(waiter));
        entered.unwrap_or(Entered::Waits)
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        let left = self.handle.as_ref().map(|handle| handle.leave(waiter));
        left.unwrap_or(Left::Elsewhere)
    }
}

impl<T> fmt::Debug for FinishedArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FinishedArm").field(&self.handle).finish()
    }
}

impl<T> fmt::Debug for JoinArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinArm").field(&self.handle).finish()
    }
}
