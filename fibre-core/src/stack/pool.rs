//! All stacks of the process that no processor has: one list per size.
//!
//! Touched when a processor's cache runs dry or over; everything here is under
//! one lock, so it may be slow and simple.

use super::{GUARD_SIZE, PAGE, Stack, StackError, guard};
use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::num::NonZeroUsize;

/// The most stacks that one slab holds.
const STACKS_PER_SLAB: usize = 64;

/// Bytes that a slab does not exceed, unless a single stack does.
const SLAB_LENGTH: usize = 32 << 20;

/// Bytes at the top of a pooled stack that keep their pages: what even the shallowest
/// fibre will touch again. Stacks that come here are more than the processors use at
/// present, so the memory of the rest goes back to the kernel.
const KEPT: usize = PAGE;

/// Distinct colours; the last one still leaves most of the top page.
const COLOURS: usize = 32;

/// The pools, by size; there are few sizes.
static POOLS: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

/// The stacks of one size.
struct Pool {
    /// Usable bytes of each.
    size: usize,
    /// Given back.
    free: Vec<Stack>,
    /// Never handed out yet: where the next one begins.
    next: usize,
    /// How many of those the newest slab has left.
    left: usize,
    /// Handed out so far, for the colours.
    made: usize,
}

/// Takes a stack of `size` bytes (see [`super::round_size`]).
///
/// # Errors
///
/// [`StackError`], when the kernel gives no memory or no guard.
pub(super) fn acquire(size: usize) -> Result<Stack, StackError> {
    with_pool(size, |pool| pool.free.pop().map_or_else(|| pool.make(), Ok))
}

/// Gives a stack back, and its pages, but for the top one, to the kernel.
pub(super) fn release(stack: Stack) {
    trim(&stack);
    with_pool(stack.size, |pool| pool.free.push(stack));
}

/// Runs `f` on the pool of this size.
fn with_pool<R>(size: usize, f: impl FnOnce(&mut Pool) -> R) -> R {
    let mut pools = POOLS.lock();
    let index = pools
        .iter()
        .position(|pool| pool.size == size)
        .unwrap_or_else(|| {
            pools.push(Pool {
                size,
                free: Vec::new(),
                next: 0,
                left: 0,
                made: 0,
            });
            pools.len() - 1
        });
    f(&mut pools[index])
}

impl Pool {
    /// Bytes from one stack to the next.
    fn stride(&self) -> usize {
        self.size + GUARD_SIZE
    }

    /// Maps a new slab.
    fn refill(&mut self) -> Result<(), StackError> {
        let too_much = StackError::NoMemory(Errno::NOMEM);
        let stride = self.size.checked_add(GUARD_SIZE).ok_or(too_much)?;
        let stacks = (SLAB_LENGTH / stride).clamp(1, STACKS_PER_SLAB);
        self.next = map_slab(stride * stacks)?;
        self.left = stacks;
        Ok(())
    }

    /// Cuts a stack off the newest slab.
    fn make(&mut self) -> Result<Stack, StackError> {
        if self.left == 0 {
            self.refill()?;
        }
        // SAFETY: the next piece of a slab is ours and untouched.
        unsafe { guard::install(std::ptr::with_exposed_provenance_mut(self.next))? };
        let limit = NonZeroUsize::new(self.next).unwrap_or(NonZeroUsize::MIN);
        let colour = self.made % COLOURS * 64;
        self.next += self.stride();
        self.left -= 1;
        self.made += 1;
        Ok(Stack::new(limit, self.size, colour))
    }
}

/// Reserves `length` bytes of lazily committed memory.
fn map_slab(length: usize) -> Result<usize, StackError> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let kind = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, kind) }
        .map_err(StackError::NoMemory)?;
    // Huge pages would commit 2 MiB for a stack that uses 4 KiB. Kernels built
    // without them answer EINVAL, which is as good.
    // SAFETY: our mapping.
    let _ = unsafe { madvise(start, length, Advice::LinuxNoHugepage) };
    Ok(start.expose_provenance())
}

/// Gives the pages of a stack back.
fn trim(stack: &Stack) {
    let start = stack.guard().end;
    let Some(deep) = stack.size.checked_sub(KEPT).filter(|deep| *deep >= PAGE) else {
        return;
    };
    // An error would only mean that the pages stay.
    // SAFETY: nobody runs on this stack, and nothing below its base is read again
    // before it is written.
    let _ = unsafe {
        madvise(
            std::ptr::with_exposed_provenance_mut(start),
            deep,
            Advice::LinuxDontNeed,
        )
    };
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use corosensei::stack::Stack as _;

    #[test]
    fn stacks_are_apart_coloured_and_reused() {
        let size = 48 * 1024;
        let stacks: Vec<Stack> = (0..70).map(|_| acquire(size).unwrap()).collect();
        let mut bases: Vec<usize> = stacks.iter().map(|stack| stack.base().get()).collect();
        let colours: std::collections::HashSet<usize> =
            bases.iter().map(|base| base % PAGE).collect();
        assert!(colours.len() >= COLOURS, "only {} colours", colours.len());
        bases.sort_unstable();
        assert!(bases.windows(2).all(|pair| pair[1] - pair[0] >= GUARD_SIZE));
        let last = stacks.last().unwrap().base();
        stacks.into_iter().for_each(release);
        assert_eq!(acquire(size).unwrap().base(), last);
    }
}
