//! What a layer above keeps with a processor: a list of things of its own, so that it need not take a lock for one.
//!
//! The list is the processor's thread's only. What is left in it when the processor ends is given back to who
//! has said how.

use std::cell::Cell;
use std::ptr;

/// See the module text.
#[derive(Debug)]
pub struct Pocket {
    /// What the layer above makes of it; null at first.
    pub list: Cell<*mut ()>,
    /// How many things that are.
    pub count: Cell<usize>,
    /// What becomes of the list in the end.
    pub end: Cell<Option<fn(*mut ())>>,
}

impl Default for Pocket {
    fn default() -> Self {
        Self {
            list: Cell::new(ptr::null_mut()),
            count: Cell::new(0),
            end: Cell::new(None),
        }
    }
}

impl Drop for Pocket {
    fn drop(&mut self) {
        if let Some(end) = self.end.get() {
            end(self.list.get());
        }
    }
}
