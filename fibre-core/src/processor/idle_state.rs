//! What a processor remembers of having found nothing to run.

use super::calls::Calls;
use super::spin::Spin;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// What a processor remembers of having found nothing to run.
pub(super) struct IdleState {
    /// How often in a row the queue was not empty and yet gave nothing.
    pub(super) refusals: Cell<u32>,
    /// Whether its last sleep was ended by another thread, and it has found nothing to run since.
    pub(super) woken: Cell<bool>,
    /// Whether the next rest begins with a spin.
    pub(super) spin: Spin,
    /// Whether it has taken part in the work since it last stood aside.
    pub(super) took_part: Cell<bool>,
    /// How often it has been called, if it is a spare one.
    pub(super) calls: Calls,
}

impl IdleState {
    /// The state of a processor that begins, and spins for so long at most.
    pub(super) fn new(epoch: Instant, spin: Duration) -> Self {
        Self {
            refusals: Cell::new(0),
            woken: Cell::new(false),
            spin: Spin::new(spin),
            took_part: Cell::new(false),
            calls: Calls::new(epoch),
        }
    }
}
