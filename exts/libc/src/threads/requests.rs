//! The requests to end a thread, and what it has said of them.

use crate::entry::cancellation_point;
use fibre_core::internal::raise_shield;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a thread knows of requests to end it.
pub(super) struct Requests {
    /// Whether there was one. Relaxed: the fibre that is cancelled after that learns of both.
    made: AtomicBool,
    /// Whether they are not to act. The thread's own, as all that follows.
    are_disabled: Cell<bool>,
    /// Whether its type is the asynchronous one.
    are_asynchronous: Cell<bool>,
    /// Whether the thread ends already.
    are_over: Cell<bool>,
}

impl Requests {
    /// No request, for a thread with the state and the type that POSIX gives it first.
    pub(super) const fn new() -> Self {
        Self {
            made: AtomicBool::new(false),
            are_disabled: Cell::new(false),
            are_asynchronous: Cell::new(false),
            are_over: Cell::new(false),
        }
    }

    /// Makes a request.
    pub(super) fn make(&self) {
        self.made.store(true, Ordering::Relaxed);
    }

    /// Whether they are not to act.
    pub(super) fn are_disabled(&self) -> &Cell<bool> {
        &self.are_disabled
    }

    /// Whether the type is the asynchronous one.
    pub(super) fn are_asynchronous(&self) -> &Cell<bool> {
        &self.are_asynchronous
    }

    /// Whether the calling thread, which has these, is to end.
    pub(super) fn are_due(&self) -> bool {
        let act = !self.are_disabled.get() && !self.are_over.get();
        act && self.made.load(Ordering::Relaxed)
    }

    /// Notes that the calling thread ends. From now on it notices no request.
    pub(super) fn end(&self) {
        if !self.are_over.replace(true) {
            raise_shield();
        }
    }

    /// Ends the calling thread if that is to happen at once.
    pub(super) fn act_at_once(&self) {
        if self.are_asynchronous.get() {
            cancellation_point();
        }
    }
}
