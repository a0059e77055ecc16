//! Holding a fibre that waits in the panic hook.
//!
//! Until the hook returns, a caller that sets the hook would block the kernel thread (see
//! docs/decisions/0004). So the processor runs nobody else meanwhile. It sleeps for ever longer
//! moments. After each of them it delivers events, fires timers, obeys orders, and lets the fibre
//! look whether its wait has ended. So input, output and deadlines need no other fibre to run, nor
//! do locks that fibres of other processors hold.
//!
//! What the fibre waits for may be another fibre of this processor. So it is held for [`MAX_PAUSE`]
//! without a pause, and then the others run once. A sleep, which is known to end, counts for
//! [`SLEEP_COUNTS`] at most: one does not let them run, but many do, as the fibre may sleep until
//! another one has done something.
//!
//! A destructor may wait for long, and is no hook: its fibre leaves its stack as any other.

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
