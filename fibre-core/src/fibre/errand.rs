//! One word of a fibre with two uses: until it starts, a stack that it got when it was spawned;
//! from then on, what it waits for.
//!
//! A processor takes the stack out before it lists the fibre as started, and those who want to know
//! what fibres wait for look at listed ones only; so the two uses do not meet.
//!
//! The fibre notes what it waits for when it is about to leave its stack, and strikes that out when it
//! goes on. Who looks at a fibre that does not run sees the truth, which may be that
//! it has been woken; who looks at others sees what was true a moment ago.
//!
//! # Memory ordering
//!
//! Relaxed. Who takes the stack has the fibre from whoever put it there. Whoever may rely on what
//! it sees knows from elsewhere that the fibre does not run.

use crate::awaited::Awaited;
use crate::stack::Stack;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module text.
#[derive(Debug)]
pub struct Errand(AtomicU64);

impl Errand {
    /// No stack, and no wait.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Keeps a stack for the first run. It is leaked unless it is taken.
    pub fn reserve(&self, stack: Stack) {
        let stack = Box::into_raw(Box::new(stack));
        self.0
            .store(stack.expose_provenance() as u64, Ordering::Relaxed);
    }

    /// Takes the stack out, if there is one.
    ///
    /// # Safety
    ///
    /// The fibre has not started, and is the caller's.
    #[inline]
    pub unsafe fn take_stack(&self) -> Option<Stack> {
        let word = self.0.load(Ordering::Relaxed) as usize;
        if word == 0 {
            return None;
        }
        self.end_wait();
        // SAFETY: as the fibre has not started, it is the address of a box.
        let stack: Box<Stack> = unsafe { Box::from_raw(ptr::with_exposed_provenance_mut(word)) };
        Some(*stack)
    }

    /// Notes what the fibre waits for. The fibre itself.
    #[inline]
    pub fn note(&self, awaited: Awaited) {
        self.0.store(awaited.bits(), Ordering::Relaxed);
    }

    /// Notes that it waits for nothing. The fibre itself.
    #[inline]
    pub fn end_wait(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// What the fibre, which has started, waits for.
    pub fn awaited(&self) -> Option<Awaited> {
        Awaited::from_bits(self.0.load(Ordering::Relaxed))
    }
}
