//! Where the next fibre that is spawned at a processor goes.

use crate::queue::Link;
use std::cell::Cell;
use std::ptr;

/// The processor that is next.
pub(super) struct SpawnTurn {
    /// The processor that it goes to, unless something else is chosen.
    pub(super) turn: Cell<usize>,
    /// The fibre with a next spawn that goes where the fewest live, for comparison only.
    pub(super) spreader: Cell<*mut Link>,
}

impl SpawnTurn {
    /// The turn of a processor that begins.
    pub(super) fn new() -> Self {
        Self {
            turn: Cell::new(0),
            spreader: Cell::new(ptr::dangling_mut()),
        }
    }
}
