//! What a layer above keeps with a processor: a list of things of its own, so that it need not take a lock for one.
//!
//! The list is the processor's thread's only. What is left in it when the processor ends is given back to who
//! has said how.

use super::Processor;
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

impl Pocket {
    /// An empty one.
    pub(super) const fn new() -> Self {
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

/// Calls `f` with the pocket of the processor that this thread is; `None` for a plain thread. `f` neither blocks nor
/// yields, and keeps no reference.
#[inline]
pub fn with_pocket<R>(f: impl FnOnce(Option<&Pocket>) -> R) -> R {
    // SAFETY: not null means that this thread is that processor.
    f(unsafe { Processor::current().as_ref() }.map(|here| &here.pocket))
}
