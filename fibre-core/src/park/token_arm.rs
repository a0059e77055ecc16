//! The cancellation of a token, as an arm of `select!`.

use crate::park::Waiter;
use crate::park::arm::{Arm, Entered, Left};
use crate::park::cancel::CancelToken;
use std::ptr::NonNull;

/// An arm of `select!` for the cancellation of a token; made by [`CancelToken::cancelled_arm`].
#[derive(Debug)]
#[must_use = "an arm waits in a selection only"]
pub struct CancelledArm<'a> {
    /// The token.
    token: &'a CancelToken,
}

impl CancelToken {
    /// An arm of `select!` that is chosen once the token has been cancelled, by whomever. It is a
    /// wait for the token, and not for the caller's own cancellation: for that, end a selection by
    /// `within(Limit::Cancellation)`.
    ///
    /// ```
    /// use fibre::{CancelToken, channel::unbounded, select};
    ///
    /// let (_sender, receiver) = unbounded::<u32>();
    /// let stop = CancelToken::new();
    /// let stops = stop.child();
    /// let worker = fibre::spawn(move || {
    ///     select! {
    ///         recv(receiver) -> _ => "a job",
    ///         _ = stops.cancelled_arm() => "stopped",
    ///     }
    /// });
    /// stop.cancel();
    /// assert_eq!(worker.join().unwrap(), "stopped");
    /// ```
    pub fn cancelled_arm(&self) -> CancelledArm<'_> {
        CancelledArm { token: self }
    }
}

impl Arm for CancelledArm<'_> {
    type Output = ();

    fn attempt(&mut self) -> Option<()> {
        self.token.is_cancelled().then_some(())
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: the waiter stays where it is until `leave`.
        match unsafe { self.token.as_group().watch(NonNull::from(waiter)) } {
            true => Entered::Waits,
            false => Entered::Ready,
        }
    }

    unsafe fn leave(&self, waiter: &Waiter) -> Left {
        self.token.as_group().unwatch(NonNull::from(waiter));
        // A token that has been cancelled stays so.
        Left::Elsewhere
    }
}
