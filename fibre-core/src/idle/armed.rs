//! How a processor goes to sleep, as values that prove its steps.
//!
//! ```text
//!   announce ──► Announced ──arm──► Armed ──sleep──► Announced ──► dropped
//!                    │                └──── there is work ────────────┤
//!                    └── a fibre came: it could not be armed ─────────┘
//! ```
//!
//! 1. **Announce**: the processor enters the idle set, so that new work is sent to it.
//! 2. **Arm**: it puts its mark into its empty queues, so that a push wakes it.
//! 3. It looks once more at all that others could have for it: the holder of an [`Armed`] does.
//! 4. **Sleep**.
//! 5. Dropping the value undoes the steps taken so far.
//!
//! Only an [`Armed`] can sleep, and only the earlier steps make one. So no processor sleeps
//! unannounced. The processor itself must not skip step 3; `tests/loom/idle.rs` checks that.

use crate::idle::shared_queues::SharedQueues;
use std::time::Instant;

/// The queues that wake their consumer, which sleeps in them.
pub trait ConsumerQueues {
    /// Says that the consumer is about to sleep. `false`: there is something in a queue.
    #[must_use]
    fn arm(&self) -> bool;

    /// Ends what [`arm`](Self::arm) began, whatever it returned.
    fn disarm(&self);
}

/// A processor that has said that it has nothing to do.
#[must_use = "dropped, it takes back that it is idle"]
#[derive(Debug)]
pub struct Announced<'a, Q: ConsumerQueues> {
    /// Where it sleeps, and where others learn that it does.
    shared_queues: &'a SharedQueues,
    /// Its place in the group.
    processor: usize,
    /// Its queues.
    queues: Q,
    /// Whether another thread has ended its sleep.
    woken: bool,
}

/// A processor that is woken by whatever is pushed for it.
#[must_use = "dropped, it takes back that it is idle"]
#[derive(Debug)]
pub struct Armed<'a, Q: ConsumerQueues>(Announced<'a, Q>);

impl SharedQueues {
    /// Announces that a processor has nothing to do, and is about to look for the last time. Unless
    /// it `joins` the idle set, it is known to those only that push to its own queues. The
    /// processor only.
    #[inline]
    pub fn announce<Q: ConsumerQueues>(
        &self,
        processor: usize,
        queues: Q,
        joins: bool,
    ) -> Announced<'_, Q> {
        if joins {
            self.idle.enter(processor);
        }
        Announced {
            shared_queues: self,
            processor,
            queues,
            woken: false,
        }
    }
}

impl<'a, Q: ConsumerQueues> Announced<'a, Q> {
    /// Whether another thread has ended the processor's sleep.
    #[must_use]
    pub fn was_woken(&self) -> bool {
        self.woken
    }

    /// Sees to it that a push wakes the processor.
    ///
    /// # Errors
    ///
    /// The value itself, if something has been pushed: the processor must not sleep.
    #[inline]
    pub fn arm(self) -> Result<Armed<'a, Q>, Self> {
        if self.queues.arm() {
            Ok(Armed(self))
        } else {
            Err(self)
        }
    }
}

impl<'a, Q: ConsumerQueues> Armed<'a, Q> {
    /// Blocks the processor's thread until there may be work, or the deadline passes. It is known
    /// as idle until the result is dropped.
    #[inline]
    pub fn sleep(self, deadline: Option<Instant>) -> Announced<'a, Q> {
        let Self(mut awake) = self;
        awake.woken = awake.shared_queues.sleeper(awake.processor).sleep(deadline);
        awake
    }
}

impl<Q: ConsumerQueues> Drop for Announced<'_, Q> {
    #[inline]
    fn drop(&mut self) {
        self.queues.disarm();
        self.shared_queues.idle.leave(self.processor);
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::queue::QueueKind;
    use std::cell::Cell;

    /// Queues that hold something or not, and whether they have been armed.
    #[derive(Debug, Default)]
    struct Queues {
        filled: Cell<bool>,
        armed: Cell<bool>,
    }

    impl ConsumerQueues for &Queues {
        fn arm(&self) -> bool {
            self.armed.set(true);
            !self.filled.get()
        }

        fn disarm(&self) {
            self.armed.set(false);
        }
    }

    #[test]
    fn what_was_announced_is_taken_back() {
        let shared_queues = SharedQueues::new(2, QueueKind::default());
        let queues = Queues::default();
        let is_idle = || shared_queues.idle.is_any();
        let announced = shared_queues.announce(1, &queues, true);
        assert!(is_idle() && !queues.armed.get());
        drop(announced);
        assert!(!is_idle());
        // Refused: it is idle until it has looked for what has come.
        queues.filled.set(true);
        let refused = shared_queues.announce(1, &queues, true).arm().unwrap_err();
        assert!(is_idle() && queues.armed.get());
        drop(refused);
        assert!(!is_idle() && !queues.armed.get());
        queues.filled.set(false);
        let armed = shared_queues.announce(1, &queues, true).arm().unwrap();
        shared_queues.sleeper(1).unpark();
        let awake = armed.sleep(None);
        assert!(is_idle() && queues.armed.get() && awake.was_woken());
        drop(awake);
        assert!(!is_idle() && !queues.armed.get());
    }

    #[test]
    fn who_does_not_join_is_not_claimed() {
        let shared_queues = SharedQueues::new(1, QueueKind::default());
        let queues = Queues::default();
        let armed = shared_queues.announce(0, &queues, false).arm().unwrap();
        assert!(!shared_queues.idle.is_any() && queues.armed.get());
        drop(armed);
        assert!(!queues.armed.get());
    }
}
