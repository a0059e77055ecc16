//! Prefetches what a fibre will need before it runs.
//!
//! With a thousand connections, what a fibre left behind has fallen out of the caches when it goes
//! on: its control block, the end of its stack in use, and the translations of their addresses.
//! Fetching these one after the other takes as long as all other work of the runtime for a request.
//! So a fibre that is about to make a system call first asks for the next fibre's
//! ([`prefetch_next`](crate::internal::prefetch_next)), and a waker of many fibres asks for those
//! of the fibres after next ([`WakeHints`]). These are hints to the CPU: nothing waits, and the
//! addresses need not be valid.

use super::Processor;
use crate::arch;
use crate::fibre::{ControlBlock, FibreRef};
use crate::queue::Link;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines below its wait of a stack that was left.
const BELOW: usize = 2;

/// Lines of a stack that a waiting fibre uses there.
const FRAMES: usize = 10;

/// Lines of a wait that its waker touches.
const NODE: usize = 4;

/// Lines of a control block.
const BLOCK: usize = size_of::<ControlBlock>().div_ceil(LINE);

impl Processor {
    /// Asks for what the next fibre needs.
    #[inline]
    pub(crate) fn prefetch_next(&self) {
        self.own().look_at_first(prefetch_next);
    }
}

/// Asks for what this fibre needs, which is in the queue of its processor and stays there
/// meanwhile.
#[inline]
fn prefetch_next(next: NonNull<Link>) {
    // SAFETY: a block (invariant 3 of `Runnable`) that is alive as long as it is queued.
    let block = unsafe { next.cast::<ControlBlock>().as_ref() };
    if let Some(after) = block.link().next(Ordering::Relaxed) {
        fetch::<BLOCK>(after.as_ptr().cast_const().cast(), 0);
    }
    let last_wait = block.state.last_wait();
    if !last_wait.is_null() {
        fetch::<FRAMES>(last_wait.cast(), BELOW);
    }
}

/// The addresses of what is needed to wake a fibre. All zeros at first. They stay when the fibre
/// goes on, and are kept as complements: a search for stuck fibres takes them for numbers, not for
/// references that could wake the fibre.
#[derive(Debug, Default)]
pub struct WakeHints {
    /// Its wait, on its stack.
    wait: AtomicUsize,
    /// Its control block.
    block: AtomicUsize,
}

impl WakeHints {
    /// Leaves the hints of a fibre that is about to wait in a frame near this address.
    #[inline]
    pub fn leave<T>(&self, near: &T) {
        let block = crate::processor::running().map_or(ptr::null_mut(), FibreRef::as_ptr);
        self.block.store(!block.addr(), Ordering::Relaxed);
        let wait = ptr::from_ref(near).addr();
        self.wait.store(!wait, Ordering::Relaxed);
    }

    /// Asks for what is needed to wake the fibre.
    #[inline]
    pub fn follow(&self) {
        let wait = self.wait.load(Ordering::Relaxed);
        let block = self.block.load(Ordering::Relaxed);
        fetch::<NODE>(ptr::without_provenance(!wait), NODE / 2);
        fetch::<BLOCK>(ptr::without_provenance(!block), 0);
    }
}

/// Asks for an object that will be used soon.
#[inline]
pub fn fetch_all<T>(what: &T) {
    let begin = ptr::from_ref(what).cast::<u8>();
    for line in 0..const { size_of::<T>().div_ceil(LINE) } {
        fetch::<1>(begin.wrapping_add(line * LINE), 0);
    }
}

/// Asks for `LINES` lines around an address; `below` of them lie below it.
#[inline]
fn fetch<const LINES: usize>(around: *const u8, below: usize) {
    let begin = around.wrapping_sub(below * LINE);
    for line in 0..LINES {
        arch::prefetch(begin.wrapping_add(line * LINE).cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any address may be asked for.
    #[test]
    fn nothing_need_be_there() {
        let hints = WakeHints::default();
        hints.follow();
        let gone = {
            let near = 0;
            hints.leave(&near);
            ptr::from_ref(&near).addr()
        };
        hints.follow();
        assert_eq!(!hints.wait.load(Ordering::Relaxed), gone);
        fetch::<3>(ptr::null(), 1);
    }
}
