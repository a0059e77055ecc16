//! Counting the fibres of a scope.
//!
//! The count begins at one, for the body of the scope. The fibre or body that counts down to zero
//! finishes the completion that the scope's owner waits for. It does not touch the count
//! afterwards, because the count lies in the owner's frame.

use crate::fibre::ControlBlock;
#[cfg(doc)]
use crate::queue::Link;
use crate::wait::completion::Completion;
use crate::wait::waiter::Waiter;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The count of one scope.
#[derive(Debug)]
pub(crate) struct Children {
    /// Fibres that have not ended, plus one while the body runs.
    pending: AtomicUsize,
    /// Whether a fibre that was not joined has panicked.
    panicked: AtomicBool,
    /// Whether one has been unwound by its cluster's end.
    unwound: AtomicBool,
    /// From what they are exempt, as the owner is; see [`Link`].
    exemptions: u8,
    /// The completion of the last end.
    ended: Completion,
}

impl Children {
    /// No fibre yet, and a body that runs, with the exemptions of its owner.
    pub(crate) fn new(exemptions: u8) -> Self {
        Self {
            pending: AtomicUsize::new(1),
            panicked: AtomicBool::new(false),
            unwound: AtomicBool::new(false),
            exemptions,
            ended: Completion::new(),
        }
    }

    /// A pointer for the children.
    pub(crate) fn as_ref(&self) -> ChildrenRef {
        ChildrenRef(NonNull::from(self))
    }

    /// Counts one end.
    pub(crate) fn one_ended(&self) {
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _ = self.ended.finish::<ControlBlock>();
        }
    }

    /// Hangs the owner's waiter here; `false`: all have ended.
    pub(crate) fn publish(&self, waiter: &Waiter<ControlBlock>) -> bool {
        self.ended.publish(waiter)
    }

    /// Whether a fibre that was not joined has panicked. After the end.
    pub(crate) fn have_panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }

    /// Whether a fibre that was not joined has been unwound by its cluster's end. After the end.
    pub(crate) fn have_been_unwound(&self) -> bool {
        self.unwound.load(Ordering::Relaxed)
    }
}

/// A scope's count, as its children know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildrenRef(NonNull<Children>);

// SAFETY: points to atomics and a completion, made for any thread.
unsafe impl Send for ChildrenRef {}

impl ChildrenRef {
    /// Counts a fibre that is about to be spawned.
    ///
    /// # Safety
    ///
    /// The scope's body is running, or a child that has not ended.
    pub(crate) unsafe fn add(self) {
        // SAFETY: the owner waits until the count is zero.
        unsafe { self.0.as_ref() }
            .pending
            .fetch_add(1, Ordering::Relaxed);
    }

    /// From what the fibres are exempt.
    ///
    /// # Safety
    ///
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn exemptions(self) -> u8 {
        // SAFETY: the owner waits until the count is zero.
        unsafe { self.0.as_ref() }.exemptions
    }

    /// Counts the end of a fibre. Each fibre calls it once, as the last thing it does with borrowed
    /// data.
    ///
    /// # Safety
    ///
    /// The fibre was counted and has not been counted down.
    pub(crate) unsafe fn child_ended(self) {
        // SAFETY: the owner waits until the count is zero.
        unsafe { self.0.as_ref() }.one_ended();
    }

    /// Notes that a fibre has panicked, or been `unwound`, that will not be joined.
    ///
    /// # Safety
    ///
    /// As for [`add`](Self::add).
    pub(crate) unsafe fn unasked_panic(self, unwound: bool) {
        // SAFETY: the owner waits until the count is zero.
        let children = unsafe { self.0.as_ref() };
        let noted = match unwound {
            true => &children.unwound,
            false => &children.panicked,
        };
        noted.store(true, Ordering::Relaxed);
    }
}
