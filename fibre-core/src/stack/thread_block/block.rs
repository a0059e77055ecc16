//! A thread control block, and the stack that it lies on.

use crate::arch;
use crate::stack::slab::Stack;
use std::ptr;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Where blocks have the word of [`ThreadBlock::departed`], from their thread pointers on. Zero, as
/// long as no stack has had a block. Debuggers read it, too.
pub(crate) static DEPARTED_PLACE: AtomicIsize = AtomicIsize::new(0);

/// Whether any stack has had a block.
pub(super) fn exist() -> bool {
    DEPARTED_PLACE.load(Ordering::Relaxed) != 0
}

/// Notes that there is one.
pub(super) fn note_exist() {
    DEPARTED_PLACE.store(departed_place(), Ordering::Relaxed);
}

/// Where blocks have that word, which is not at their thread pointers.
fn departed_place() -> isize {
    arch::current_place() + arch::DEPARTED
}

/// A thread control block, by its thread pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadBlock(usize);

impl ThreadBlock {
    /// The block at this thread pointer.
    pub(super) fn of(thread_pointer: usize) -> Self {
        Self(thread_pointer)
    }

    /// The thread pointer.
    #[inline(always)]
    pub(in crate::stack) fn thread_pointer(self) -> usize {
        self.0
    }

    /// A place in the block, so far from its thread pointer.
    #[inline(always)]
    pub(super) fn at<T>(self, distance: isize) -> *mut T {
        ptr::with_exposed_provenance_mut(self.0.wrapping_add_signed(distance))
    }

    /// Sets the two words that the runtime asks its thread for, and notes the thread pointer of the
    /// kernel thread that is about to run the fibre; zero for none.
    ///
    /// # Safety
    ///
    /// No thread uses the block.
    #[inline(always)]
    pub(in crate::stack) unsafe fn set_current(
        self,
        ready: *const (),
        processor: *const (),
        carrier: usize,
    ) {
        let place = arch::current_place();
        // SAFETY: every block has these words.
        unsafe {
            self.at::<[*const (); 2]>(place).write([ready, processor]);
            self.at::<usize>(place + arch::CARRIER).write(carrier);
        }
    }

    /// The word with the stack pointer that the block's kernel thread left.
    pub(super) fn departed(self) -> *mut usize {
        self.at(departed_place())
    }

    /// Where a fibre's stack begins below it: a multiple of 16.
    pub(in crate::stack) fn base(self) -> usize {
        // SAFETY: every block has the word, and it is written once.
        let departed = unsafe { self.departed().read() };
        departed & !15
    }
}

impl Stack {
    /// The stack's block.
    ///
    /// # Safety
    ///
    /// It has one.
    #[inline(always)]
    pub(in crate::stack) unsafe fn thread_block(&self) -> ThreadBlock {
        ThreadBlock(self.thread_word().load(Ordering::Relaxed))
    }

    /// The stack's block, if it has one.
    pub(super) fn block(&self) -> Option<ThreadBlock> {
        let pointer = self.thread_word().load(Ordering::Relaxed);
        (pointer != 0).then_some(ThreadBlock(pointer))
    }

    /// Where a computation on the stack may begin: below its block, if it has one.
    pub(in crate::stack) fn free_base(&self) -> usize {
        let block = exist().then(|| self.block()).flatten();
        block.map_or(self.base().get(), ThreadBlock::base)
    }

    /// Bytes at the stack's top that its block, if it has one, needs.
    pub(in crate::stack) fn kept_for_block(&self) -> usize {
        if !exist() {
            return 0;
        }
        let top = self.guard().end + self.length();
        self.block().map_or(0, |block| top - block.base())
    }
}
