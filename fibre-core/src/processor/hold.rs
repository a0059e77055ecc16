//! Holding a fibre that waits in the panic hook.
//!
//! Until the hook returns, a caller that sets the hook would block the kernel thread (see
//! docs/decisions/0004). So the processor runs no other fibre meanwhile. It sleeps for increasing
//! periods. After each of them it delivers events, fires timers, obeys requests, and lets the fibre
//! check whether its wait has ended. So waits for input, output, deadlines, and locks of other
//! processors' fibres can end while this processor runs no other fibre.
//!
//! What the fibre waits for may be another fibre of this processor. So the processor holds it for
//! [`MAX_PAUSE`] without a pause, and then runs the others once. A sleep is known to end, so it
//! counts for [`SLEEP_COUNTS`] at most: one does not let the others run, but many do, as the fibre
//! may sleep until another one has done something.
//!
//! A destructor may wait for long, but is not a hook: its fibre leaves its stack like any other.

use super::Processor;
use crate::fibre::ControlBlock;
use crate::queue::Runnable;
use crate::wait::timer::BATCH;
use crate::wait::wait_object::WaitKind;
use std::time::{Duration, Instant};

/// How long a fibre is held before others run: longer than another thread takes for what a hook
/// waits for. Counted in moments as they should be, so it is longer where many threads want the
/// CPUs, and other threads are late, too.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The most that a sleep counts.
const SLEEP_COUNTS: Duration = Duration::from_millis(2);

impl Processor {
    /// Begins to hold the running fibre for one wait, or one yield.
    pub(crate) fn begin_to_hold(&self, block: &ControlBlock) {
        let awaited = block.wait_slot.awaited();
        let sleeps = awaited.is_some_and(|awaited| awaited.kind() == WaitKind::Sleep);
        let counts = if sleeps { SLEEP_COUNTS } else { Duration::MAX };
        self.held.begin(block.id(), counts);
    }

    /// Whether the held fibre should let others run. If it comes back, it is held anew then.
    pub(crate) fn has_held_for_long(&self) -> bool {
        let long = self.held.time.get() >= MAX_PAUSE;
        if long {
            self.held.restart();
            // What is there for all comes here, too, unless others have nothing to run.
            self.plan_service(0);
        }
        long
    }

    /// Lets a moment pass, sees to what is due, and runs the fibre again.
    pub(super) fn hold(&self, fibre: Runnable) {
        self.held.pass();
        self.poll_events();
        self.fire_timers(Instant::now(), BATCH);
        if self.domain.control.is_any() {
            self.plan_service(0);
        }
        self.next.successor.fill(fibre);
    }
}
