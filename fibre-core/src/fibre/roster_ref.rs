//! A processor's own roster as others see it: how to reach it, and how to look while a fibre runs.

use super::{ControlBlock, FibreRef, Roster};
use crate::queue::Link;
use crate::sync::glances::Glances;
use crate::sync::{AtomicPtr, Ordering};
use std::ptr::NonNull;

/// A processor's own roster. It exists only as long as the processor does.
#[derive(Debug)]
pub(crate) struct RosterRef {
    /// The roster.
    roster: NonNull<Roster>,
    /// The means to look at it while a fibre runs.
    glances: NonNull<Glances>,
    /// The node of that fibre.
    running: NonNull<AtomicPtr<Link>>,
}

// SAFETY: each use of it is argued where it is used.
unsafe impl Send for RosterRef {}

impl RosterRef {
    /// The reference to this roster.
    ///
    /// # Safety
    ///
    /// The three are a processor's, which stays where it is for as long as this exists.
    pub(crate) unsafe fn new(
        roster: &Roster,
        glances: &Glances,
        running: &AtomicPtr<Link>,
    ) -> Self {
        Self {
            roster: NonNull::from(roster),
            glances: NonNull::from(glances),
            running: NonNull::from(running),
        }
    }

    /// Returns the roster.
    ///
    /// # Safety
    ///
    /// Nobody changes the roster meanwhile.
    pub(crate) unsafe fn get(&self) -> &Roster {
        // SAFETY: the processor is there, as `new` was promised.
        unsafe { self.roster.as_ref() }
    }

    /// The address of the fibre that the processor ran a moment ago; null if there was none.
    pub(crate) fn last(&self) -> *const ControlBlock {
        // SAFETY: the processor is there, as `new` was promised.
        let running = unsafe { self.running.as_ref() };
        // The block begins with its node.
        running.load(Ordering::Relaxed).cast_const().cast()
    }

    /// [`Glances::look`] at the roster, with the fibre that the processor runs.
    pub(crate) fn look<R>(&self, look: impl FnOnce(FibreRef) -> R) -> Option<R> {
        // SAFETY: the processor is there, as `new` was promised.
        let (glances, running) = unsafe { (self.glances.as_ref(), self.running.as_ref()) };
        // What runs is a fibre, and its block begins with the node.
        glances.look(running, |node| look(node.cast()))
    }
}
