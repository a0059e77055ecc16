//! When a processor next looks at timers, events and the queues of others: after a number of
//! switches, which adapts to their length.

use std::cell::Cell;
use std::time::Instant;

/// The time of the next service. For the processor's own thread only.
pub(super) struct Service {
    /// Switches left until then.
    pub(super) left: Cell<u32>,
    /// The value that `left` was set to, less the switches that have been cut off since.
    pub(super) planned: Cell<u32>,
    /// Switches from one service to the next.
    pub(super) interval: Cell<u32>,
    /// When the last service was.
    pub(super) last: Cell<Instant>,
    /// How often the processor has found no fibre since switches were last added up.
    pub(super) vain_looks: Cell<u32>,
}

impl Service {
    /// The first service of a processor, with this interval from then on. It comes at once: there
    /// may be orders already.
    pub(super) fn new(epoch: Instant, interval: u32) -> Self {
        Self {
            left: Cell::new(0),
            planned: Cell::new(0),
            interval: Cell::new(interval),
            last: Cell::new(epoch),
            vain_looks: Cell::new(0),
        }
    }
}
