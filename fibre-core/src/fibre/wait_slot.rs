//! One word of a fibre with two uses. Until the fibre starts, it holds a stack from its spawn, the
//! promise of one, or the mark of an activity. From then on, it says what the fibre waits for.
//!
//! A processor takes the stack out before it lists the fibre as started, and reports about waits
//! look at listed fibres only. So the two uses never overlap.
//!
//! The fibre notes what it waits for when it is about to leave its stack, and clears the note when
//! it goes on. A reader of a fibre that does not run sees the truth, though the fibre may have been
//! woken. A reader of a running fibre sees what was true a moment ago.
//!
//! # Memory ordering
//!
//! Relaxed. The processor that takes the stack has received the fibre from the thread that put the
//! stack there. A reader that relies on what it sees must know from elsewhere that the fibre does
//! not run.

use crate::stack::Stack;
use crate::wait::wait_object::WaitObject;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a fibre that has not started has of its stack.
#[derive(Debug)]
pub(crate) enum Reserved {
    /// Nothing yet.
    Nothing,
    /// The promise of one of its class.
    Promise,
    /// It is an activity, which any stack of its class serves that another one has used.
    Activity,
    /// The stack.
    Stack(Stack),
}

/// The word of a promise, which is no stack's.
const PROMISE: u64 = 1;

/// The word of an activity that does not run.
const ACTIVITY: u64 = 2;

/// The word.
#[derive(Debug)]
pub(crate) struct WaitSlot(AtomicU64);

impl WaitSlot {
    /// No wait, and what is kept for the first run. That is leaked unless it is taken.
    #[inline]
    pub(crate) fn new(reserved: Reserved) -> Self {
        Self(AtomicU64::new(match reserved {
            Reserved::Nothing => 0,
            Reserved::Promise => PROMISE,
            Reserved::Activity => ACTIVITY,
            Reserved::Stack(stack) => stack.into_word(),
        }))
    }

    /// Keeps the promise of a stack for the first run, which has been put off.
    pub(crate) fn keep_promise(&self) {
        self.0.store(PROMISE, Ordering::Relaxed);
    }

    /// Notes that the fibre is an activity that does not run.
    pub(crate) fn go_idle(&self) {
        self.0.store(ACTIVITY, Ordering::Relaxed);
    }

    /// Takes out the reservation.
    ///
    /// # Safety
    ///
    /// The fibre has not started, and is the caller's.
    #[inline]
    pub(crate) unsafe fn take_reserved(&self) -> Reserved {
        match self.0.load(Ordering::Relaxed) {
            0 => Reserved::Nothing,
            word => {
                self.end_wait();
                if word == PROMISE {
                    return Reserved::Promise;
                }
                if word == ACTIVITY {
                    return Reserved::Activity;
                }
                // SAFETY: as the fibre has not started, it is the word of a stack; taken once.
                Reserved::Stack(unsafe { Stack::from_word(word) })
            }
        }
    }

    /// Whether the fibre, which has not started, has the promise of a stack.
    pub(crate) fn is_promised(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PROMISE
    }

    /// Notes what the fibre waits for. Called by the fibre itself.
    #[inline]
    pub(crate) fn note(&self, awaited: WaitObject) {
        self.0.store(awaited.bits(), Ordering::Relaxed);
    }

    /// Notes that the fibre waits for nothing. Called by the fibre itself.
    #[inline]
    pub(crate) fn end_wait(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// What the fibre, which has started, waits for.
    pub(crate) fn awaited(&self) -> Option<WaitObject> {
        self.noted().map(WaitObject::opened)
    }

    /// Whether the fibre, which has started and does not run, is in a wait that is not closed.
    pub(crate) fn is_in_open_wait(&self) -> bool {
        self.noted().is_some_and(|awaited| !awaited.is_closed())
    }

    /// Whether the fibre, which has started and does not run, is in a wait at home that is not
    /// closed.
    pub(crate) fn is_in_open_wait_at_home(&self) -> bool {
        let ends_here = |awaited: WaitObject| !awaited.is_closed() && !awaited.is_away();
        self.noted().is_some_and(ends_here)
    }

    /// Notes that the fibre, which has been woken and does not run, goes on anywhere, if it has
    /// waited at home. Called by who is to queue it.
    pub(crate) fn leave_home(&self) {
        if let Some(awaited) = self.noted() {
            self.note(awaited.away());
        }
    }

    /// The note of the fibre.
    fn noted(&self) -> Option<WaitObject> {
        WaitObject::from_bits(self.0.load(Ordering::Relaxed))
    }
}
