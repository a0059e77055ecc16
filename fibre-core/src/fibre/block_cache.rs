//! The memory of ended fibres, kept for the next ones of the same processor.
//!
//! A server makes and ends a fibre for each connection or job, always of the same few types. The
//! allocator takes 60 to 130 instructions for each malloc and free, more when many are freed at
//! once; a list of blocks takes ten. Blocks come in a few sizes, and a block goes to the list of
//! the processor that gives up the last reference. The next fibre is likely to be spawned there.
//! Lists are short: beyond [`MAX_BLOCKS`] blocks, memory goes back to the allocator, so the memory
//! of a burst does not stay.
//!
//! With the feature `sanitizer` the cache keeps nothing, so that AddressSanitizer sees every use of
//! freed memory.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Sizes are multiples of this: a cache line.
const GRAIN: usize = 64;

/// How many sizes are kept: up to 512 bytes.
pub(super) const SIZES: usize = 8;

/// The alignment of all blocks that are kept.
const ALIGNMENT: usize = 16;

/// The most blocks of one size that are kept.
const MAX_BLOCKS: u32 = if cfg!(feature = "sanitizer") { 0 } else { 1024 };

/// A block that is not in use.
struct Free {
    /// The next one of the list; null at its end.
    next: *mut Self,
}

/// Blocks of one size.
#[derive(Debug)]
struct List {
    /// The block given back last, which is the likeliest to be in the cache.
    first: Cell<*mut Free>,
    /// How many there are.
    length: Cell<u32>,
}

/// The cache of one processor, used by its thread only.
#[derive(Debug)]
pub(crate) struct BlockCache([List; SIZES]);

impl BlockCache {
    /// A cache without blocks.
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| List {
            first: Cell::new(ptr::null_mut()),
            length: Cell::new(0),
        }))
    }

    /// Where the words are that name the first blocks.
    pub(super) fn words(&self) -> [usize; SIZES] {
        self.0.each_ref().map(|list| list.first.as_ptr().addr())
    }

    /// Returns memory for `layout`, kept or new. `None`: the allocator has none.
    #[inline]
    pub(crate) fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        if let Some(size) = size_of(layout)
            && let Some(block) = self.0[size].pop()
        {
            return Some(block);
        }
        allocate(layout)
    }

    /// Takes back the memory of an ended fibre.
    ///
    /// # Safety
    ///
    /// `block` came from [`take`](Self::take) of any cache or from [`allocate`], for this `layout`,
    /// and it is not in use.
    #[inline]
    pub(crate) unsafe fn put(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: passed on; the sizes that are kept have room for a `Free`.
        unsafe {
            match size_of(layout) {
                Some(size) if self.0[size].length.get() < MAX_BLOCKS => self.0[size].push(block),
                _ => release(block, layout),
            }
        }
    }
}

impl Drop for BlockCache {
    fn drop(&mut self) {
        for (size, list) in self.0.iter().enumerate() {
            while let Some(block) = list.pop() {
                // SAFETY: a block of the list of this size, which is not in use.
                unsafe { dealloc(block.as_ptr(), layout_of(size)) };
            }
        }
    }
}

impl List {
    /// Takes the block that was given back last.
    #[inline]
    fn pop(&self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: blocks of the list are ours, and begin with a `Free`.
        self.first.set(unsafe { first.as_ref() }.next);
        self.length.set(self.length.get() - 1);
        Some(first.cast())
    }

    /// Keeps a block in this list.
    ///
    /// # Safety
    ///
    /// The block is of this list's size, and is not in use.
    #[inline]
    unsafe fn push(&self, block: NonNull<u8>) {
        let block = block.cast::<Free>();
        // SAFETY: the caller's promise; blocks are large enough and aligned for a `Free`.
        unsafe {
            block.write(Free {
                next: self.first.get(),
            });
        }
        self.first.set(block.as_ptr());
        self.length.set(self.length.get() + 1);
    }
}

/// Allocates memory, which a cache may keep later. `None`: the allocator has none.
pub(crate) fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: no layout of a fibre is empty: it has a control block.
    NonNull::new(unsafe { alloc(rounded(layout)) })
}

/// Gives memory back to the allocator.
///
/// # Safety
///
/// As for [`BlockCache::put`].
pub(crate) unsafe fn release(block: NonNull<u8>, layout: Layout) {
    // SAFETY: allocated with the same rounding.
    unsafe { dealloc(block.as_ptr(), rounded(layout)) };
}

/// The list for a layout. `None`: such blocks are not kept.
#[inline]
fn size_of(layout: Layout) -> Option<usize> {
    let size = layout.size().div_ceil(GRAIN).wrapping_sub(1);
    (size < SIZES && layout.align() <= ALIGNMENT).then_some(size)
}

/// The layout of the blocks of a list.
fn layout_of(size: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the size far from overflowing.
    unsafe { Layout::from_size_align_unchecked((size + 1) * GRAIN, ALIGNMENT) }
}

/// The layout that is allocated for `layout`: that of its list, or itself.
#[inline]
fn rounded(layout: Layout) -> Layout {
    size_of(layout).map_or(layout, layout_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn blocks_come_back_for_the_same_size_only() {
        let cache = BlockCache::new();
        let block = cache.take(layout(130, 8)).unwrap();
        // SAFETY: just taken, and unused.
        unsafe { cache.put(block, layout(130, 8)) };
        let larger = cache.take(layout(193, 8)).unwrap();
        let kept = cache.take(layout(192, 16)).unwrap();
        assert_ne!(larger, block);
        assert_eq!(kept == block, MAX_BLOCKS > 0);
        // SAFETY: both were taken for these layouts.
        unsafe {
            cache.put(larger, layout(193, 8));
            cache.put(kept, layout(192, 16));
        }
    }

    #[test]
    fn large_and_aligned_ones_are_not_kept() {
        let cache = BlockCache::new();
        for layout in [layout(513, 8), layout(64, 64)] {
            let block = cache.take(layout).unwrap();
            assert_eq!(block.as_ptr() as usize % layout.align(), 0);
            // SAFETY: just taken, and unused.
            unsafe { cache.put(block, layout) };
        }
        assert!(cache.0.iter().all(|list| list.length.get() == 0));
    }

    #[test]
    fn a_burst_does_not_stay() {
        let cache = BlockCache::new();
        let layout = layout(100, 8);
        for _ in 0..MAX_BLOCKS + 10 {
            // SAFETY: just allocated, and unused.
            unsafe { cache.put(allocate(layout).unwrap(), layout) };
        }
        assert_eq!(cache.0[1].length.get(), MAX_BLOCKS);
    }
}
