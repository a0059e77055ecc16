//! Bringing in what a fibre will need before it runs.
//!
//! With a thousand connections, what a fibre left behind has fallen out of the caches when it goes on: its
//! control block, both ends of its stack in use, and the translations of their addresses. To come by them one after the other
//! takes as long as all the rest of what the runtime does for a request. So who is about to make a system call asks
//! for those of the next fibre before it ([`foresee`](crate::foresee)), and who is about to wake many asks for those of the
//! ones after next ([`Traces`]). It is the CPU that is asked; nothing waits, and nothing
//! need be where it is asked for.

use super::Processor;
use crate::fibre::{ControlBlock, FibreRef};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of a cache line.
const LINE: usize = 64;

/// How far below its wait a stack was left.
const BELOW: usize = 2 * LINE;

/// How much of a stack is used by those who wait.
const FRAMES: usize = 10 * LINE;

/// How much of a stack is used where it begins.
const ROOT: usize = 5 * LINE;

/// How much of that a wait, and its end, touches on the waker's side.
const NODE: usize = 4 * LINE;

impl Processor {
    /// Asks for what the next fibre needs.
    #[inline]
    pub fn foresee(&self) {
        let Some(next) = self.ready().first_local() else {
            return;
        };
        // SAFETY: in the queue, hence alive.
        if let Some(after) = unsafe { next.as_ref() }.next(Ordering::Relaxed) {
            fetch(
                after.as_ptr().cast_const().cast(),
                size_of::<ControlBlock>(),
            );
        }
        // SAFETY: as above; ready queues hold fibres only.
        let block = unsafe { ControlBlock::from_node(next) };
        // SAFETY: as above.
        let block = unsafe { block.as_ref() };
        let last_wait = block.state.last_wait();
        if let Some(root) = block.suspender.get()
            && !last_wait.is_null()
        {
            fetch(last_wait.cast::<u8>().wrapping_sub(BELOW), FRAMES);
            fetch(root.address().cast::<u8>().wrapping_sub(ROOT), ROOT + LINE);
        }
    }
}

/// Where what is needed to wake a fibre lies. All zeros at first.
#[derive(Debug, Default)]
pub struct Traces {
    /// Its wait, on its stack.
    wait: AtomicPtr<()>,
    /// Its control block.
    block: AtomicPtr<()>,
}

impl Traces {
    /// Left by a fibre that is about to wait in a frame near this address.
    #[inline]
    pub fn leave<T>(&self, near: &T) {
        let block = crate::park::running().map_or(ptr::null_mut(), FibreRef::as_ptr);
        self.block.store(block.cast(), Ordering::Relaxed);
        self.wait
            .store(ptr::from_ref(near).cast_mut().cast(), Ordering::Relaxed);
    }

    /// Asks for what is needed to wake it.
    #[inline]
    pub fn follow(&self) {
        let wait = self.wait.load(Ordering::Relaxed);
        let block = self.block.load(Ordering::Relaxed);
        fetch(wait.cast_const().cast::<u8>().wrapping_sub(NODE / 2), NODE);
        fetch(block.cast_const().cast(), size_of::<ControlBlock>());
    }
}

/// Asks for something that somebody will use soon.
#[inline]
pub fn fetch_all<T>(what: &T) {
    fetch(ptr::from_ref(what).cast(), size_of::<T>());
}

/// Asks for so many bytes.
#[inline]
fn fetch(begin: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        // SAFETY: every such CPU has it, and it does nothing where there is nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(begin.wrapping_add(offset).cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It may be asked for anything.
    #[test]
    fn nothing_need_be_there() {
        let traces = Traces::default();
        traces.follow();
        let gone = {
            let near = 0;
            traces.leave(&near);
            ptr::from_ref(&near)
        };
        traces.follow();
        assert_eq!(
            traces.wait.load(Ordering::Relaxed).cast_const().cast(),
            gone
        );
        fetch(ptr::null(), 3 * LINE);
    }
}
