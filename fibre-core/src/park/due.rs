//! Moments, as arms of selections.

use crate::park::Waiter;
use crate::park::arm::{Arm, Entered, Left};
use std::time::{Duration, Instant};

/// An arm of `select!` for a moment; made by [`at`] and [`after`]. It yields that moment, again and
/// again.
#[derive(Debug, Clone)]
#[must_use = "an arm waits in a selection only"]
pub struct DueArm {
    /// The moment; `None` for never.
    due: Option<Instant>,
}

/// An arm that is chosen once `duration` has passed, counted from this call. It yields the moment
/// at which that is so. To limit a loop, make it before the loop, and have `&mut` it as an arm.
///
/// ```
/// use fibre::{channel::unbounded, select, select::after};
/// use std::time::Duration;
///
/// let (_sender, receiver) = unbounded::<u32>();
/// let mut end = after(Duration::from_millis(2));
/// let mut ticks = 0;
/// loop {
///     select! {
///         recv(receiver) -> _ => unreachable!("nobody sends"),
///         _ = after(Duration::from_micros(100)) => ticks += 1,
///         _ = &mut end => break,
///     }
/// }
/// assert!(ticks > 0);
/// ```
pub fn after(duration: Duration) -> DueArm {
    at(Instant::now().checked_add(duration))
}

/// An arm that is chosen at this moment, or at once if it has passed; `None` is never.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let deadline = Instant::now() + Duration::from_millis(1);
/// let due = fibre::select! { due = fibre::select::at(deadline) => due };
/// assert!(due == deadline && Instant::now() >= deadline);
/// ```
pub fn at(moment: impl Into<Option<Instant>>) -> DueArm {
    DueArm { due: moment.into() }
}

impl Arm for DueArm {
    type Output = Instant;

    fn attempt(&mut self) -> Option<Instant> {
        self.due.filter(|&due| Instant::now() >= due)
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    unsafe fn enter(&self, _: &Waiter) -> Entered {
        Entered::Waits
    }

    unsafe fn leave(&self, _: &Waiter) -> Left {
        Left::Elsewhere
    }
}
