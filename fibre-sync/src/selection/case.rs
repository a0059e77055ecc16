//! An arm in a selection, with its outcome.

use fibre_core::internal::{LockedArm, Waiter};
use fibre_core::{Arm, Entered, Left};
use std::fmt;
use std::time::Instant;

/// An arm that takes part in a selection, whatever its output is.
///
/// # Safety
///
/// The candidate has its arm for itself, and its methods are those of the arm.
pub unsafe trait Candidate {
    /// Whether it can be chosen.
    fn is_open(&self) -> bool;

    /// [`Arm::attempt`]; `true`: the output is here.
    fn attempt(&mut self) -> bool;

    /// [`Arm::due`].
    fn due(&self) -> Option<Instant>;

    /// [`Arm::enter`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn enter(&self, waiter: &Waiter) -> Entered;

    /// [`Arm::leave`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn leave(&self, waiter: &Waiter) -> Left;

    /// [`Arm::woken`]; `true`: the output is here.
    fn woken(&mut self, token: u32) -> bool;

    /// [`Arm::is_from_outside`].
    fn is_from_outside(&self) -> bool;

    /// [`Arm::joint`].
    ///
    /// # Safety
    ///
    /// The caller is the selection that the candidate stands in.
    unsafe fn joint(&self) -> Option<&dyn LockedArm>;
}

/// An arm of `select!`, and its output once it has been chosen.
pub struct Case<A: Arm> {
    /// The arm.
    arm: A,
    /// Whether it can be chosen.
    open: bool,
    /// What it has yielded.
    output: Option<A::Output>,
}

impl<A: Arm> Case<A> {
    /// An arm that can be chosen if `open`, which is its guard.
    pub fn new(open: bool, arm: A) -> Self {
        let output = None;
        Self { arm, open, output }
    }

    /// Takes the output, if the arm has been chosen.
    pub fn take(&mut self) -> Option<A::Output> {
        self.output.take()
    }

    /// Gives back an output that `fits` the arm's pattern. Otherwise drops it, and leaves the arm
    /// out from now on. Returns whether it fits.
    pub fn keep(&mut self, output: A::Output, fits: bool) -> bool {
        self.output = fits.then_some(output);
        self.open = fits;
        fits
    }
}

// SAFETY: the case owns the arm; or the reference that is the arm borrows another one for itself.
unsafe impl<A: Arm> Candidate for Case<A> {
    fn is_open(&self) -> bool {
        self.open
    }

    fn attempt(&mut self) -> bool {
        self.output = self.arm.attempt();
        self.output.is_some()
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

    fn woken(&mut self, token: u32) -> bool {
        self.output = self.arm.woken(token);
        self.output.is_some()
    }

    fn is_from_outside(&self) -> bool {
        self.arm.is_from_outside()
    }

    unsafe fn joint(&self) -> Option<&dyn LockedArm> {
        // SAFETY: passed on.
        unsafe { self.arm.joint() }
    }
}

impl<A: Arm> fmt::Debug for Case<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("open", &self.open)
            .field("chosen", &self.output.is_some())
            .finish_non_exhaustive()
    }
}
