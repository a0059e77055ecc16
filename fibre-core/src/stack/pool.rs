//! The system level: all stacks of the process that no cluster has, cold.
//!
//! One pool per class, each under a lock of its own. Stacks come here without pages and get
//! their top page when many are taken at once. A pool keeps address space and guards for
//! [`KEPT_SLABS`] slabs that nobody uses; beyond that, whole mappings are given up, and the
//! page tables under them.

use super::error::StackError;
use super::size::CLASSES;
use super::slab::{COLOURS, STACKS_PER_SLAB, Slab, Stack, slab_length};
use super::system::{self, Advice};
use super::{guard, pages};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unused slabs that a class keeps: 65,536 stacks of the default size.
const KEPT_SLABS: usize = 1024;

/// Taking at least so many at once has their top pages fetched: it is a burst.
const WORTH_WARMING: usize = 8;

/// The pools, by class.
static POOLS: [Mutex<Pool>; CLASSES] = [const { Mutex::new(Pool::new()) }; CLASSES];

/// A bit for each class of which a stack has been refused, and none has come since.
static SCARCE: AtomicU64 = AtomicU64::new(0);

/// The stacks of one class.
pub(super) struct Pool {
    /// Slabs of which some stacks are here.
    partial: Vec<&'static Slab>,
    /// How many of those are here as a whole.
    unused: usize,
    /// The slab that is not yet used up.
    newest: Option<&'static Slab>,
    /// Records without mappings.
    spare: Vec<&'static Slab>,
    /// Stacks mapped so far, for the colours.
    mapped: usize,
}

/// Takes stacks of a class, at least one and at most `wanted`, which are appended to `stacks`.
///
/// # Errors
///
/// [`StackError`], when the kernel gives no memory or no guard for a single one.
pub(super) fn take(class: usize, wanted: usize, stacks: &mut Vec<Stack>) -> Result<(), StackError> {
    let before = stacks.len();
    let taken = POOLS[class].lock().take(class, wanted, stacks);
    let bit = 1 << class;
    match taken {
        Err(_) => SCARCE.fetch_or(bit, Ordering::Relaxed),
        Ok(()) if is_scarce(class) => SCARCE.fetch_and(!bit, Ordering::Relaxed),
        Ok(()) => 0,
    };
    let new = &stacks[before..];
    if new.len() >= WORTH_WARMING {
        pages::warm(new);
    }
    taken
}

/// Whether the last attempt to have a stack of this class has failed.
#[inline]
pub fn is_scarce(class: usize) -> bool {
    SCARCE.load(Ordering::Relaxed) >> class & 1 != 0
}

/// Whether that is so of any class.
#[inline]
pub fn is_any_scarce() -> bool {
    SCARCE.load(Ordering::Relaxed) != 0
}

/// Takes back stacks of one class that nobody runs on, and gives their memory to the kernel.
pub(super) fn put(class: usize, stacks: impl ExactSizeIterator<Item = Stack>) {
    /// At a time: the lock is not held for long.
    const BATCH: usize = STACKS_PER_SLAB;
    let mut batch = Vec::with_capacity(stacks.len().min(BATCH));
    let mut stacks = stacks;
    loop {
        batch.extend(stacks.by_ref().take(BATCH));
        if batch.is_empty() {
            return;
        }
        pages::release_all(&batch);
        POOLS[class].lock().put(batch.drain(..));
        if is_scarce(class) {
            SCARCE.fetch_and(!(1 << class), Ordering::Relaxed);
        }
    }
}

/// A stack straight from the system.
pub fn take_one(class: usize) -> Result<Stack, StackError> {
    let mut stacks = Vec::with_capacity(1);
    take(class, 1, &mut stacks)?;
    match stacks.pop() {
        Some(stack) => Ok(stack),
        None => unreachable!("the pool gave no stack and no error"),
    }
}

/// Gives a stack straight to the system.
#[cold]
pub fn put_cold(stack: Stack) {
    put(stack.class(), std::iter::once(stack));
}

/// Runs `f` while no mapping of this class comes or goes.
pub(super) fn frozen<R>(class: usize, f: impl FnOnce() -> R) -> R {
    let _pool = POOLS[class].lock();
    f()
}

impl Pool {
    /// An empty pool.
    const fn new() -> Self {
        Self {
            partial: Vec::new(),
            unused: 0,
            newest: None,
            spare: Vec::new(),
            mapped: 0,
        }
    }

    /// See [`take`].
    fn take(
        &mut self,
        class: usize,
        wanted: usize,
        stacks: &mut Vec<Stack>,
    ) -> Result<(), StackError> {
        let before = stacks.len();
        while stacks.len() < before + wanted
            && let Some(slab) = self.partial.last().copied()
        {
            let free = slab.free.load(Ordering::Relaxed);
            self.unused -= usize::from(is_unused(slab));
            let left = free & (free - 1);
            slab.free.store(left, Ordering::Relaxed);
            if left == 0 {
                self.partial.pop();
            }
            stacks.push(slab.stack(free.trailing_zeros() as usize));
        }
        if stacks.len() > before {
            return Ok(());
        }
        self.make(class, wanted, stacks)
    }

    /// Makes new stacks: what the newest slab has left, at most `wanted`.
    fn make(
        &mut self,
        class: usize,
        wanted: usize,
        stacks: &mut Vec<Stack>,
    ) -> Result<(), StackError> {
        let slab = match self.newest {
            Some(slab) => slab,
            None => self.map(class)?,
        };
        let first = slab.made.load(Ordering::Relaxed);
        let count = wanted.min(slab.capacity() - first);
        // SAFETY: these pieces of the slab have not been handed out.
        let count = unsafe { guard::install(slab, first, count)? };
        let made = first + count;
        slab.made.store(made, Ordering::Relaxed);
        if made == slab.capacity() {
            self.newest = None;
        }
        stacks.extend((first..made).map(|index| slab.stack(index)));
        Ok(())
    }

    /// Maps a new slab.
    fn map(&mut self, class: usize) -> Result<&'static Slab, StackError> {
        let length = slab_length(class).ok_or(StackError::NoMemory(Errno::NOMEM))?;
        let start = system::map(length).map_err(StackError::NoMemory)?;
        let colour = self.mapped % COLOURS;
        let spare = self.spare.pop();
        let slab = spare.unwrap_or_else(|| Slab::register(class, colour));
        slab.set_start(start);
        // Huge pages would commit 2 MiB for a stack that uses 4 KiB. Kernels built
        // without them answer EINVAL, which is as good.
        // SAFETY: our mapping.
        let _ = unsafe { system::advise(slab.whole(), Advice::NoHugePages) };
        self.mapped += slab.capacity();
        self.newest = Some(slab);
        Ok(slab)
    }

    /// See [`put`].
    fn put(&mut self, stacks: impl Iterator<Item = Stack>) {
        for stack in stacks {
            let slab = stack.slab;
            let free = slab.free.load(Ordering::Relaxed);
            let bit = 1 << slab.index_of(stack.guard().start);
            debug_assert!(free & bit == 0, "a stack was given back twice");
            slab.free.store(free | bit, Ordering::Relaxed);
            if free == 0 {
                self.partial.push(slab);
            }
            self.unused += usize::from(is_unused(slab));
        }
        if self.unused > KEPT_SLABS {
            self.give_up_mappings();
        }
    }

    /// Gives up half of the slabs that nobody uses.
    fn give_up_mappings(&mut self) {
        let Self {
            partial,
            unused,
            spare,
            ..
        } = self;
        partial.retain(|slab| {
            if *unused <= KEPT_SLABS / 2 || !is_unused(slab) {
                return true;
            }
            // SAFETY: all of its stacks are here, so nobody uses the mapping.
            let unmapped = unsafe { system::unmap(slab.whole()) }.is_ok();
            if unmapped {
                slab.set_start(0);
                guard::uninstalled(slab);
                spare.push(slab);
                *unused -= 1;
            }
            !unmapped
        });
    }
}

/// Whether all stacks of a slab are here. One that is not yet used up is not.
fn is_unused(slab: &Slab) -> bool {
    slab.free.load(Ordering::Relaxed).count_ones() as usize == slab.capacity()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::size::{GUARD_SIZE, PAGE, class_of};
    use super::super::slab;
    use super::super::system::{Call, faults};
    use super::*;
    use corosensei::stack::Stack as _;

    fn take_all(class: usize, count: usize) -> Vec<Stack> {
        let mut stacks = Vec::new();
        while stacks.len() < count {
            take(class, count - stacks.len(), &mut stacks).unwrap();
        }
        stacks
    }

    #[test]
    fn stacks_are_apart_coloured_and_reused() {
        let _turn = faults::turn();
        let class = class_of(48 * 1024);
        let stacks = take_all(class, 70);
        let mut bases: Vec<usize> = stacks.iter().map(|stack| stack.base().get()).collect();
        let colours: std::collections::HashSet<usize> =
            bases.iter().map(|base| base % PAGE).collect();
        assert!(colours.len() >= COLOURS, "only {} colours", colours.len());
        bases.sort_unstable();
        assert!(bases.windows(2).all(|pair| pair[1] - pair[0] >= GUARD_SIZE));
        put(class, stacks.into_iter());
        let mut again: Vec<usize> = take_all(class, 70)
            .iter()
            .map(|stack| stack.base().get())
            .collect();
        again.sort_unstable();
        assert_eq!(again, bases);
    }

    #[test]
    fn unused_mappings_are_given_up() {
        let _turn = faults::turn();
        let class = class_of(64 << 20);
        let stacks = take_all(class, KEPT_SLABS + 1);
        let slab = stacks[0].slab;
        assert_eq!(slab.capacity(), 1);
        let mapped = || slab::all().filter(|slab| slab.class == class);
        let mapped = || mapped().filter(|slab| slab.whole().start != 0).count();
        assert_eq!(mapped(), KEPT_SLABS + 1);
        put(class, stacks.into_iter());
        assert_eq!(mapped(), KEPT_SLABS / 2);
        let stacks = take_all(class, KEPT_SLABS + 1);
        assert_eq!(mapped(), KEPT_SLABS + 1);
        put(class, stacks.into_iter());
    }

    #[test]
    fn refusals_are_errors_and_pass() {
        let turn = faults::turn();
        let class = class_of(16 << 20);
        let mut stacks = Vec::new();
        let refused = turn.with(Call::Map, Errno::NOMEM, || take(class, 1, &mut stacks));
        assert_eq!(refused, Err(StackError::NoMemory(Errno::NOMEM)));
        assert!(is_scarce(class) && stacks.is_empty());
        take(class, 1, &mut stacks).unwrap();
        assert!(!is_scarce(class));
        put(class, stacks.into_iter());
    }

    #[test]
    fn guards_are_protected_or_refused_never_left_out() {
        let turn = faults::turn();
        let class = class_of(8 << 20);
        let mut stacks = Vec::new();
        // Without markers: by `mprotect`.
        turn.with(Call::Advise, Errno::NOMEM, || {
            take(class, 1, &mut stacks).unwrap()
        });
        let guarded = stacks[0].slab;
        assert_eq!(guarded.protected.load(Ordering::Relaxed), 1);
        // Without that: not at all, and the slab's next stack is the one that was refused.
        turn.with(Call::Advise, Errno::NOMEM, || {
            turn.with(Call::Protect, Errno::NOMEM, || {
                let refused = take(class, 1, &mut stacks);
                assert_eq!(refused, Err(StackError::NoMemory(Errno::NOMEM)));
            });
        });
        assert_eq!(stacks.len(), 1);
        take(class, 1, &mut stacks).unwrap();
        assert!(std::ptr::eq(stacks[1].slab, guarded));
        put(class, stacks.into_iter());
    }
}
