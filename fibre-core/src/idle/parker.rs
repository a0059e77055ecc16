//! How a processor's kernel thread sleeps.
//!
//! One word per processor, a binary semaphore with a record of *how* the thread sleeps, so that a
//! waker knows how to wake it:
//!
//! ```text
//!   AWAKE ──► ON_FUTEX | IN_DRIVER ──► NOTIFIED ──► AWAKE
//!     └──────────────────────────────►┘
//! ```
//!
//! A notification that comes while the thread is awake ends its next sleep at once. By default a
//! processor sleeps on its futex. A layer above may install a [`Driver`]: another way to sleep (in
//! `epoll_wait`, say) that also tells the processor of events that make fibres ready. Several
//! processors may share one driver, which then says each time which of them sleep in it.
//!
//! # Memory ordering
//!
//! All accesses are acquire-release read-modify-writes of the one word; what the
//! waker did before is visible to the thread after its sleep.

use crate::sync::Futex;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// The thread runs.
const AWAKE: u32 = 0;
/// The thread sleeps on the word itself.
const ON_FUTEX: u32 = 1;
/// The thread sleeps in its [`Driver`].
const IN_DRIVER: u32 = 2;
/// A waker wants the thread to run.
const NOTIFIED: u32 = 3;

/// Another way for an idle processor to sleep, given to core by a layer above.
///
/// Errors are the implementation's to handle: a sleep that ends early is
/// harmless, one that never ends is not.
pub trait Driver: Send + Sync {
    /// What the layer above looks for behind the trait object.
    fn of_layer_above(&self) -> &dyn Any {
        &()
    }

    /// Delivers the events that are there, without sleeping. Called by the processor now and then
    /// while it is busy, and by another one for it if it does not come to that, see
    /// [`needs_watch`](Self::needs_watch).
    fn poll(&self);

    /// Whether it is this processor's turn to call [`poll`](Self::poll) before it sleeps: asked
    /// when it has found nothing else to do, and once more after it has said that it will sleep.
    fn is_due(&self) -> bool {
        false
    }

    /// How many events the last [`poll`](Self::poll) or [`sleep`](Self::sleep) has delivered, if
    /// they are this processor's, which then runs as many fibres before it polls again. A hint.
    fn delivered(&self) -> u32 {
        0
    }

    /// What it has done so far, for metrics.
    fn traffic(&self) -> PollCounts {
        PollCounts::default()
    }

    /// Whether events stay where they are while a processor is busy with one fibre, so that an idle
    /// one should watch it: the same for the life of the driver.
    fn needs_watch(&self) -> bool {
        true
    }

    /// Called by a processor that is about to sleep. `true`: it sleeps in [`sleep`](Self::sleep),
    /// and calls [`leave`](Self::leave) afterwards; `false`: it sleeps on its futex.
    fn enter(&self) -> bool {
        true
    }

    /// Sleeps until there are events, and delivers them; or until
    /// [`interrupt`](Self::interrupt) or the deadline. Blocks the thread.
    fn sleep(&self, deadline: Option<Instant>);

    /// Called by a processor if [`enter`](Self::enter) was true for it, whether it slept or not.
    fn leave(&self) {}

    /// Makes a sleep end, or the next one if none is going on. Any thread.
    fn interrupt(&self);

    /// Called by the processor when it ends, or by the last of those that share the driver: no
    /// processor will sleep here any more. May block the thread.
    fn retire(&self);
}

/// What a [`Driver`] has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PollCounts {
    /// Calls of the kernel, sleeps included.
    pub polls: u64,
    /// Calls that found nothing.
    pub empty: u64,
    /// Events that they have found, interrupts included.
    pub events: u64,
}

/// The word.
#[derive(Debug)]
pub struct Parker(Futex);

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Parker {
    /// The parker of a thread that is awake.
    #[must_use]
    pub fn new() -> Self {
        Self(Futex::new(AWAKE))
    }

    /// Sleeps until notified, until the deadline, or, with a `driver`, until events come. The owner
    /// thread only. May end early. `true`: a waker has ended it.
    pub fn sleep(&self, driver: Option<&Arc<dyn Driver>>, deadline: Option<Instant>) -> bool {
        match driver.filter(|driver| driver.enter()) {
            Some(driver) => {
                if self.0.exchange(AWAKE, IN_DRIVER) {
                    driver.sleep(deadline);
                }
                driver.leave();
            }
            None => {
                if self.0.exchange(AWAKE, ON_FUTEX) {
                    self.0.wait(ON_FUTEX, deadline);
                }
            }
        }
        self.0.swap(AWAKE) == NOTIFIED
    }

    /// Whether the owner's next sleep would end at once; for models.
    #[cfg(loom)]
    pub fn is_notified(&self) -> bool {
        self.0.load() == NOTIFIED
    }

    /// Ends the owner's sleep, or its next one. Any thread.
    ///
    /// `driver` returns what the owner installed, if it did.
    pub fn unpark<'a>(&self, driver: impl FnOnce() -> Option<&'a Arc<dyn Driver>>) {
        match self.0.swap(NOTIFIED) {
            ON_FUTEX => Futex::wake_one(&raw const self.0),
            IN_DRIVER => {
                if let Some(driver) = driver() {
                    driver.interrupt();
                }
            }
            _awake_or_notified => {}
        }
    }
}
