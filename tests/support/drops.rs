//! Values that count how often they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Makes values and counts those that are gone.
#[derive(Debug, Clone, Default)]
pub struct Drops(Arc<AtomicUsize>);

/// A value whose drop is counted, once.
#[derive(Debug)]
pub struct Counted {
    /// Where the drop is counted.
    drops: Arc<AtomicUsize>,
    /// Seen by a second drop of the same memory.
    alive: bool,
}

impl Drops {
    /// A counter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// A value to be counted.
    pub fn value(&self) -> Counted {
        Counted {
            drops: Arc::clone(&self.0),
            alive: true,
        }
    }

    /// How many values are gone.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if !std::mem::replace(&mut self.alive, false) {
            super::die(format_args!("a value was dropped twice"));
        }
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs a closure when it is dropped.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
