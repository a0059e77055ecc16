//! Memory for when there is none: the allocator of the library.
//!
//! A C program expects an error number of a call that finds no memory, but many allocations below
//! these calls cannot fail: those of std when it starts a thread, of lists that grow. So the
//! allocator takes what `malloc` refuses from a reserve, which is there from the beginning and
//! costs nothing until it is touched. Calls that make something and can fail ask [`is_low`] first,
//! and return `EAGAIN` or `ENOMEM` while less than half of the reserve is left; the other half is
//! for objects that exist already. Blocks that the reserve has no room for are null, as with
//! `malloc`.
//!
//! Two allocations are out of its reach: std takes the record of a thread that it starts from
//! `malloc` itself, and glibc that of a destructor of a thread-local; both end the process if they
//! get none. They do so when processors start, so before that the library tries whether `malloc`
//! has any memory ([`system_has_some`]).
//!
//! Blocks have sizes of powers of two. Each size has a list of those that have come back; others
//! are cut from the part that has never been used. Only allocations that `malloc` has refused come
//! here, so one lock is enough.

use fibre_core::internal::{ShortGuard, ShortLock};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the reserve.
const SIZE: usize = 4 << 20;
/// The smallest block.
const SMALLEST: usize = 64;
/// How many sizes of blocks there are: up to 256 KiB.
const SIZES: usize = 13;
/// How often the lock is asked for. In a forked child its owner may not be there to release it.
const TRIES: usize = 10_000;

/// The allocator of all Rust code of the library.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The allocator: `malloc`, then the reserve. See the module text.
struct Allocator;

/// The reserve's memory.
#[repr(align(4096))]
struct Memory(UnsafeCell<[u8; SIZE]>);

// SAFETY: its parts are handed out, each to one owner.
unsafe impl Sync for Memory {}

/// The memory of the reserve.
static MEMORY: Memory = Memory(UnsafeCell::new([0; SIZE]));

/// The free part of the reserve.
static REST: ShortLock<Rest> = ShortLock::new(Rest {
    begun: 0,
    free: [ptr::null_mut(); SIZES],
});

/// Bytes in blocks that are allocated.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The free part of the reserve.
struct Rest {
    /// Bytes at its beginning that have been cut into blocks.
    begun: usize,
    /// By size, the block that has come back last, which begins with the address of the one before.
    free: [*mut *mut u8; SIZES],
}

// SAFETY: it owns the blocks, which belong to no thread.
unsafe impl Send for Rest {}

/// Whether so much of the reserve is used that nothing should be made.
#[inline]
pub fn is_low() -> bool {
    USED.load(Ordering::Relaxed) > SIZE / 2
}

/// Whether `malloc` has what a few threads take.
pub fn system_has_some() -> bool {
    /// More memory than a few threads take.
    type Ample = [u8; 64 << 10];
    let layout = Layout::new::<Ample>();
    // SAFETY: the layout is not empty, and the block is given back as it came.
    unsafe {
        // The compiler need not allocate a block at all that no code looks at.
        let block = black_box(System.alloc(layout));
        System.dealloc(block, layout);
        !block.is_null()
    }
}

// SAFETY: blocks are the system's, or disjoint parts of the reserve of at least the size and
// alignment of the layout. Nothing unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { take(layout) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        let block = unsafe { System.alloc_zeroed(layout) };
        if block.is_null() {
            let block = take(layout);
            if !block.is_null() {
                // SAFETY: it has as many bytes.
                unsafe { block.write_bytes(0, layout.size()) };
            }
            return block;
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_ours(block) {
            return put(block, layout);
        }
        // SAFETY: passed on.
        unsafe { System.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_ours(block) {
            // SAFETY: passed on.
            let moved = unsafe { System.realloc(block, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller's promise is that of this layout; the old block is left as it is if
        // there is no new one.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// Whether a block is of the reserve.
#[inline]
fn is_ours(block: *mut u8) -> bool {
    block.addr().wrapping_sub(MEMORY.0.get().addr()) < SIZE
}

/// Which size of block a layout needs; `None`: the reserve has none so large.
fn size_of(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(SMALLEST);
    let size = (bytes.checked_next_power_of_two()? / SMALLEST).ilog2() as usize;
    (size < SIZES).then_some(size)
}

/// The lock, unless it cannot be had.
fn rest() -> Option<ShortGuard<'static, Rest>> {
    (0..TRIES).find_map(|_| {
        let rest = REST.try_lock();
        if rest.is_none() {
            std::thread::yield_now();
        }
        rest
    })
}

/// A block of the reserve, or null.
#[cold]
fn take(layout: Layout) -> *mut u8 {
    let (Some(size), Some(mut rest)) = (size_of(layout), rest()) else {
        return ptr::null_mut();
    };
    let bytes = SMALLEST << size;
    let block = match NonNull::new(rest.free[size]) {
        Some(free) => {
            // SAFETY: blocks that have come back begin with the address of the next one.
            rest.free[size] = unsafe { free.read() }.cast();
            free.as_ptr().cast()
        }
        None => {
            // Blocks are aligned to their sizes.
            let begin = rest.begun.next_multiple_of(bytes);
            if begin + bytes > SIZE {
                return ptr::null_mut();
            }
            rest.begun = begin + bytes;
            // SAFETY: within the reserve.
            unsafe { MEMORY.0.get().cast::<u8>().add(begin) }
        }
    };
    USED.fetch_add(bytes, Ordering::Relaxed);
    block
}

/// Takes a block of the reserve back. It is lost if the lock cannot be had.
#[cold]
fn put(block: *mut u8, layout: Layout) {
    let (Some(size), Some(mut rest)) = (size_of(layout), rest()) else {
        return;
    };
    let free: *mut *mut u8 = block.cast();
    // SAFETY: no caller has the block, and it is large enough and aligned for an address.
    unsafe { free.write(rest.free[size].cast()) };
    rest.free[size] = free;
    USED.fetch_sub(SMALLEST << size, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_aligned_and_used_again() {
        let layouts = [(1, 1), (64, 8), (65, 64), (3000, 4096), (128 << 10, 16)];
        let layouts = layouts.map(|(size, align)| Layout::from_size_align(size, align).unwrap());
        for _ in 0..3 {
            let before = USED.load(Ordering::Relaxed);
            let blocks = layouts.map(|layout| (take(layout), layout));
            for (index, (block, layout)) in blocks.into_iter().enumerate() {
                assert!(is_ours(block) && block.addr() % layout.align() == 0);
                // SAFETY: our block.
                unsafe { block.write_bytes(index as u8, layout.size()) };
            }
            for (index, (block, layout)) in blocks.into_iter().enumerate() {
                // SAFETY: our block, written above.
                let last = unsafe { block.add(layout.size() - 1).read() };
                assert_eq!(usize::from(last), index);
                put(block, layout);
            }
            assert_eq!(USED.load(Ordering::Relaxed), before);
        }
        assert!(REST.lock().begun < SIZE / 2);
        assert!(take(Layout::new::<[u8; 257 << 10]>()).is_null());
    }
}
