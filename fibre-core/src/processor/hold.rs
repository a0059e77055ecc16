//! Holding a fibre that waits in the panic hook.
//!
//! Until the hook returns, the next panic of the kernel thread would abort the process, and a
//! caller that sets the hook would block the thread (see docs/decisions/0004). So the processor
//! runs nobody else meanwhile. It sleeps for ever longer moments. After each of them it delivers
//! events, fires timers, obeys orders, and lets the fibre look whether its wait has ended. So
//! input, output and deadlines need no other fibre to run, nor do locks that fibres of other
//! processors hold.
//!
//! What the fibre waits for may be another fibre of this processor. So it is held for [`LONGEST`]
//! without a pause, and then the others run once. A sleep, which is known to end, counts for
//! [`SLEEP_COUNTS`] at most: one does not let them run, but many do, as the fibre may sleep until
//! another one has done something.
//!
//! Where the hook cannot be told from a destructor during unwinding (see `panic_hook.rs`), a fibre
//! is held for [`LONGEST_ON_SUSPICION`], and then leaves its stack as any other: a destructor may
//! wait for long, and keeps nobody else from running.

use super::Processor;
use crate::fibre::ControlBlock;
use crate::frames::panic_hook::Whereabouts;
use crate::queue::Runnable;
use crate::wait::timer::BATCH;
use crate::wait::wait_object::WaitKind;
use std::time::{Duration, Instant};

/// How long a fibre is held before others run: longer than another thread takes for what a hook
/// waits for. Counted in moments as they should be, so it is longer where many threads want the
/// CPUs, and other threads are late, too.
const LONGEST: Duration = Duration::from_millis(100);

/// How long a fibre is held that may or may not be in the hook.
const LONGEST_ON_SUSPICION: Duration = Duration::from_millis(20);

/// The most that a sleep counts.
const SLEEP_COUNTS: Duration = Duration::from_millis(2);

/// Why a fibre is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It waits in the panic hook.
    Hook,
    /// It may wait in the panic hook.
    Suspicion,
}

impl Processor {
    /// The reason for which the running fibre, which is at `place` and wants to leave its stack, is
    /// to be held instead, if it is.
    pub(crate) fn reason_to_hold(&self, place: Whereabouts) -> Option<Reason> {
        match place {
            Whereabouts::Inside => Some(Reason::Hook),
            Whereabouts::Outside => None,
            // The fibre that panics may be one of these.
            Whereabouts::Unknown => (self.held.tied.get() == 0).then_some(Reason::Suspicion),
        }
    }

    /// Begins to hold the running fibre for one wait, or one yield.
    pub(crate) fn begin_to_hold(&self, block: &ControlBlock, reason: Reason) {
        let awaited = block.errand.awaited();
        let sleeps = awaited.is_some_and(|awaited| awaited.kind() == WaitKind::Sleep);
        let counts = if sleeps && reason == Reason::Hook {
            SLEEP_COUNTS
        } else {
            Duration::MAX
        };
        self.held.begin(block.id(), counts);
    }

    /// Whether the held fibre should let others run. If it comes back, it is held anew then.
    pub(crate) fn has_held_for_long(&self, reason: Reason) -> bool {
        let longest = match reason {
            Reason::Hook => LONGEST,
            Reason::Suspicion => LONGEST_ON_SUSPICION,
        };
        let long = self.held.time.get() >= longest;
        if long && reason == Reason::Hook {
            self.held.restart();
            // What is there for all comes here, too, unless others have nothing to run.
            self.plan_service(0);
        }
        long
    }

    /// Counts the fibres that have left their stacks while the thread was panicking.
    pub(crate) fn count_tied(&self, change: impl FnOnce(u32) -> u32) {
        self.held.tied.set(change(self.held.tied.get()));
    }

    /// Whether fibres have left their stacks while the thread was panicking, and have not come
    /// back.
    pub(crate) fn has_tied(&self) -> bool {
        self.held.tied.get() > 0
    }

    /// Lets a moment pass, sees to what is due, and runs the fibre again.
    pub(super) fn hold(&self, fibre: Runnable) {
        self.held.pass();
        self.poll_events();
        self.fire_timers(Instant::now(), BATCH);
        if self.domain.orders.is_any() {
            self.plan_service(0);
        }
        self.successor.fill(fibre);
    }
}
