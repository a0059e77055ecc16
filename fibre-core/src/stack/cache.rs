//! A processor's own stacks of the default size.

use super::{Stack, StackError, pool};
use std::cell::UnsafeCell;

/// How many stacks a cache keeps before it gives half of them to the pool.
const CAPACITY: usize = 1024;

/// Last-in first-out: the stack that just became free is still in the CPU's cache.
/// One thread only.
#[derive(Debug)]
pub struct StackCache {
    /// Usable bytes of the stacks kept here.
    size: usize,
    /// The stacks; the youngest last.
    free: UnsafeCell<Vec<Stack>>,
}

impl StackCache {
    /// An empty cache for stacks of `size` bytes.
    #[must_use]
    pub const fn new(size: usize) -> Self {
        Self {
            size,
            free: UnsafeCell::new(Vec::new()),
        }
    }

    /// Takes a stack of `size` bytes, which need not be the cached size.
    ///
    /// # Errors
    ///
    /// [`StackError`], when neither cache nor pool has one and none can be made.
    #[inline]
    pub fn take(&self, size: usize) -> Result<Stack, StackError> {
        if size == self.size {
            // SAFETY: one thread, and the borrow ends in this expression.
            if let Some(stack) = unsafe { &mut *self.free.get() }.pop() {
                return Ok(stack);
            }
        }
        pool::acquire(size)
    }

    /// Gives a stack back that nobody runs on.
    #[inline]
    pub fn put(&self, stack: Stack) {
        if stack.size() != self.size {
            return pool::release(stack);
        }
        // SAFETY: one thread; the pool does not call back.
        let free = unsafe { &mut *self.free.get() };
        if free.len() == CAPACITY {
            free.drain(..CAPACITY / 2).for_each(pool::release);
        }
        free.push(stack);
    }
}

impl Drop for StackCache {
    fn drop(&mut self) {
        self.free.get_mut().drain(..).for_each(pool::release);
    }
}
