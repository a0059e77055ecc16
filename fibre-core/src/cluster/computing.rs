//! Reports fibres that compute while others wait for their processor to a layer above.
//!
//! The monitor (`monitor`) sees them when it looks for stuck processors (`spares`). It reports a
//! fibre if two things hold: its processor's thread has had [`LONG`] of CPU time since the last
//! switch; and another fibre, which no other processor takes, is ready there or has reached its
//! deadline. It reports the fibre again when that has computed for twice as long, since the layer
//! above may have failed to pass the first report on. So the monitor does not report a program that
//! computes with all of its fibres, or with one, nor a thread that waits for a CPU.

use super::processor_state::ProcessorState;
use crate::scheduler::domain::Domain;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The CPU time that a fibre may use before it is told.
const LONG: Duration = Duration::from_millis(200);

/// What is called with such a fibre's processor and the CPU time that it has taken.
type Tell = fn(ProcessorState, Duration);

/// The function of the layer above.
static TELL: OnceLock<Tell> = OnceLock::new();

/// Has `tell` called when a fibre computes for long while others wait for its processor, on the
/// monitor's thread, which must not wait. For a layer above; the first call counts.
pub fn on_computing(tell: fn(ProcessorState, Duration)) {
    let _ = TELL.set(tell);
}

/// Tells of a processor that runs `running`, and has computed for so long without a switch. Returns
/// whether it has. The monitor only.
pub(super) fn tell(domain: &Domain, index: usize, running: usize, computed: Duration) -> bool {
    let Some(tell) = TELL.get() else {
        return false;
    };
    let stats = domain.stats(index);
    let Some(thread) = stats.thread() else {
        return false;
    };
    if computed < LONG || domain.settings.computes || !is_waited_for(domain, index) {
        return false;
    }
    let state = ProcessorState {
        cluster: std::ptr::from_ref(domain).addr(),
        index,
        thread,
        running,
        services: stats.services(),
    };
    tell(state, computed);
    true
}

/// Whether a fibre is ready at a processor, or would be if its deadline was noticed.
fn is_waited_for(domain: &Domain, index: usize) -> bool {
    let queue = &domain.queues()[index];
    let late = domain.timers(index).next();
    queue.has_own() || queue.has_shared() || late.is_some_and(|late| late <= Instant::now())
}
