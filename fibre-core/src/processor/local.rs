//! What a layer above keeps with a processor: a list of its own objects, so that it needs no lock
//! to take one.
//!
//! The list belongs to the processor's thread. When the processor ends, the remaining objects go to
//! the function that the layer has set for that.

use std::cell::Cell;
use std::ptr;

/// The list of one processor.
#[derive(Debug)]
pub struct ProcessorLocal {
    /// What the layer above makes of it; null at first.
    pub list: Cell<*mut ()>,
    /// How many things are in it.
    pub count: Cell<usize>,
    /// The function that gets the list in the end.
    pub end: Cell<Option<fn(*mut ())>>,
}

impl Default for ProcessorLocal {
    fn default() -> Self {
        Self {
            list: Cell::new(ptr::null_mut()),
            count: Cell::new(0),
            end: Cell::new(None),
        }
    }
}

impl Drop for ProcessorLocal {
    fn drop(&mut self) {
        if let Some(end) = self.end.get() {
            end(self.list.get());
        }
    }
}
