//! The system level: all stacks of the process that no cluster has. They are cold.
//!
//! One pool per class, each under a lock of its own. Stacks come here without pages and get their
//! top page when many are taken at once. A pool keeps address space and guards for [`KEPT_SLABS`]
//! unused slabs. Beyond that it gives up whole mappings, with the page tables under them.
//!
//! A fibre that waits to run may have the *promise* of a stack instead of a stack. Promises are a
//! count: the pool has mapped, ahead of time, as many free stacks as it has promised, and gives
//! these only to fibres that redeem promises. So whatever the kernel can refuse, it refuses when a
//! fibre is made, and no pages or page tables are spent before the fibre runs. The kernel can
//! refuse guards by `mprotect`, too: if these are needed, a promised stack already has its guard.

use super::error::StackError;
use super::size::CLASSES;
use super::slab::{COLOURS, STACKS_PER_SLAB, Slab, Stack, slab_length};
use super::system::{self, Advice};
use super::{guard, pages, thread_block};
use crate::sync::thread_mutex::Mutex;
use rustix::io::Errno;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unused slabs that a class keeps: 65,536 stacks of the default size.
const KEPT_SLABS: usize = 1024;

/// How many stacks taken at once are a burst. Top pages are fetched for one.
const WORTH_WARMING: usize = 8;

/// The pools, by class.
static POOLS: [Mutex<Pool>; CLASSES] = [const { Mutex::new(Pool::new()) }; CLASSES];

/// A bit for each class that has had to refuse a stack, and has had none back since.
static SCARCE: AtomicU64 = AtomicU64::new(0);

/// The stacks of one class.
pub(super) struct Pool {
    /// The slabs that have some of their stacks here.
    partial: Vec<&'static Slab>,
    /// How many of those have all of their stacks here.
    unused: usize,
    /// How many stacks that have been made are here.
    free: usize,
    /// Slabs that are not yet used up; the next stacks are made in the last one.
    fresh: Vec<&'static Slab>,
    /// How many more stacks can be made in these.
    unmade: usize,
    /// How many promises have been given, and neither redeemed nor taken back.
    promised: usize,
    /// How many slabs are mapped.
    slabs: usize,
    /// Records of slabs without mappings.
    spare: Vec<&'static Slab>,
    /// Stacks mapped so far, for the colours.
    mapped: usize,
}

/// Takes stacks of a class, at least one and at most `wanted`, which are appended to `stacks`. With
/// `redeemed`, one of them redeems a promise.
///
/// # Errors
///
/// [`StackError`], when the kernel gives no memory or no guard for a single one; the promise
/// stands.
pub(super) fn take(
    class: usize,
    wanted: usize,
    redeemed: bool,
    stacks: &mut Vec<Stack>,
) -> Result<(), StackError> {
    let before = stacks.len();
    // From here on nothing is lost for want of a place to keep it.
    let room = stacks.try_reserve(wanted).map_err(|_| NO_MEMORY);
    let taken = with_all_addresses(class, || {
        room.and_then(|()| POOLS[class].lock().take(class, wanted, redeemed, stacks))
    });
    let new = &stacks[before..];
    if new.len() >= WORTH_WARMING {
        pages::warm(new);
    }
    taken
}

/// Promises stacks of a class, at least one and at most `wanted`; returns how many.
///
/// # Errors
///
/// [`StackError`], as for [`take`].
pub(super) fn promise(class: usize, wanted: usize) -> Result<usize, StackError> {
    with_all_addresses(class, || POOLS[class].lock().promise(class, wanted))
}

/// Takes back promises that will not be redeemed.
pub(super) fn forgive(class: usize, promises: usize) {
    if promises > 0 {
        POOLS[class].lock().forgive(promises);
    }
}

/// Runs `f`. If it fails, runs it again once no class keeps addresses that are not in use, also
/// not with thread-locals for fibres to come. Notes whether stacks of this class are scarce.
fn with_all_addresses<R>(
    class: usize,
    mut f: impl FnMut() -> Result<R, StackError>,
) -> Result<R, StackError> {
    /// More than any process has.
    const ABSURD: usize = 1 << 47;
    let mut result = f();
    if result.is_err() && slab_length(class).is_some_and(|length| length < ABSURD) {
        for (class, pool) in POOLS.iter().enumerate() {
            let stacks = thread_block::surrender(class);
            pages::release_all(&stacks);
            let mut pool = pool.lock();
            pool.put(stacks.into_iter());
            pool.give_up_mappings(0);
        }
        result = f();
    }
    let bit = 1 << class;
    match result {
        Err(_) => SCARCE.fetch_or(bit, Ordering::Relaxed),
        Ok(_) if is_scarce(class) => SCARCE.fetch_and(!bit, Ordering::Relaxed),
        Ok(_) => 0,
    };
    result
}

/// Whether the last attempt to have a stack of this class has failed.
#[inline]
pub(super) fn is_scarce(class: usize) -> bool {
    SCARCE.load(Ordering::Relaxed) >> class & 1 != 0
}

/// Takes back stacks of one class that are not in use, and gives their memory to the kernel.
pub(super) fn put(class: usize, stacks: impl ExactSizeIterator<Item = Stack>) {
    /// How many at a time: the lock is not held for long.
    const BATCH: usize = STACKS_PER_SLAB;
    let mut batch = Vec::with_capacity(stacks.len().min(BATCH));
    let mut stacks = stacks;
    loop {
        batch.extend(stacks.by_ref().take(BATCH));
        if batch.is_empty() {
            return;
        }
        thread_block::keep(class, &mut batch, !is_scarce(class));
        pages::release_all(&batch);
        POOLS[class].lock().put(batch.drain(..));
        if is_scarce(class) {
            SCARCE.fetch_and(!(1 << class), Ordering::Relaxed);
        }
    }
}

/// The error when the allocator has no memory for the records of stacks.
const NO_MEMORY: StackError = StackError::no_memory(Errno::NOMEM);

/// Takes a stack straight from the system.
pub(crate) fn take_one(class: usize) -> Result<Stack, StackError> {
    let mut stacks = Vec::new();
    take(class, 1, false, &mut stacks)?;
    match stacks.pop() {
        Some(stack) => Ok(stack),
        None => unreachable!("the pool gave no stack and no error"),
    }
}

/// Redeems a promise straight from the system.
pub(super) fn redeem_one(class: usize) -> Result<Stack, StackError> {
    let mut stacks = Vec::new();
    take(class, 1, true, &mut stacks)?;
    match stacks.pop() {
        Some(stack) => Ok(stack),
        None => unreachable!("the pool gave no stack and no error"),
    }
}

/// Gives a stack straight to the system.
#[cold]
pub(crate) fn put_cold(stack: Stack) {
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
            free: 0,
            fresh: Vec::new(),
            unmade: 0,
            promised: 0,
            slabs: 0,
            spare: Vec::new(),
            mapped: 0,
        }
    }

    /// How many stacks can be had without fail, beyond those that have been promised.
    fn unpromised(&self) -> usize {
        let unmade = if guard::may_be_refused() {
            0
        } else {
            self.unmade
        };
        (self.free + unmade).saturating_sub(self.promised)
    }

    /// Takes stacks, see the function [`take`].
    fn take(
        &mut self,
        class: usize,
        wanted: usize,
        redeemed: bool,
        stacks: &mut Vec<Stack>,
    ) -> Result<(), StackError> {
        let before = stacks.len();
        if redeemed {
            self.have_unpromised(class, wanted - 1);
        }
        let mut allowed = self.unpromised() + usize::from(redeemed);
        while stacks.len() < before + wanted.min(allowed)
            && let Some(slab) = self.partial.last().copied()
        {
            let free = slab.free.load(Ordering::Relaxed);
            self.unused -= usize::from(is_unused(slab));
            self.free -= 1;
            let left = free & (free - 1);
            slab.free.store(left, Ordering::Relaxed);
            if left == 0 {
                self.partial.pop();
            }
            stacks.push(slab.stack(free.trailing_zeros() as usize));
        }
        if stacks.len() == before {
            if guard::may_be_refused() {
                // All promised stacks have been made.
                allowed = wanted;
            } else if allowed == 0 {
                self.map(class)?;
                allowed = self.unpromised();
            }
            self.make(class, wanted.min(allowed), stacks)?;
        }
        self.promised -= usize::from(redeemed);
        Ok(())
    }

    /// Maps more, if it can, so that a batch of so many stacks can go with a redeemed one. Fibres
    /// that redeem promises in thousands find all stacks promised to each other, and would get
    /// them one by one; addresses cost less.
    fn have_unpromised(&mut self, class: usize, wanted: usize) {
        if self.unpromised() < wanted && !guard::may_be_refused() {
            // Without more of them, the one that was promised is left.
            let _ = self.map(class);
        }
    }

    /// Promises stacks, see the function [`promise`].
    fn promise(&mut self, class: usize, wanted: usize) -> Result<usize, StackError> {
        if !guard::is_known() {
            self.stock(class, 1)?;
        }
        if self.unpromised() == 0 {
            if guard::may_be_refused() {
                self.stock(class, wanted)?;
            } else {
                self.map(class)?;
            }
        }
        let count = self.unpromised().min(wanted);
        self.promised += count;
        Ok(count)
    }

    /// Takes promises back, see the function [`forgive`].
    fn forgive(&mut self, promises: usize) {
        self.promised -= promises;
        // Slabs with promised stacks cannot go, however many there are.
        let capacity = self.fresh.last().map_or(1, |slab| slab.capacity());
        if self.fresh.len() > KEPT_SLABS && self.unpromised() / capacity > KEPT_SLABS {
            self.give_up_mappings(KEPT_SLABS / 2);
        }
    }

    /// Makes stacks ahead of time, at most `wanted`.
    fn stock(&mut self, class: usize, wanted: usize) -> Result<(), StackError> {
        let mut stacks = Vec::new();
        stacks.try_reserve(wanted).map_err(|_| NO_MEMORY)?;
        self.make(class, wanted, &mut stacks)?;
        self.put(stacks.into_iter());
        Ok(())
    }

    /// Makes new stacks: what the newest slab has left, at most `wanted`.
    fn make(
        &mut self,
        class: usize,
        wanted: usize,
        stacks: &mut Vec<Stack>,
    ) -> Result<(), StackError> {
        if self.fresh.is_empty() {
            self.map(class)?;
        }
        let Some(slab) = self.fresh.last().copied() else {
            unreachable!("one has been mapped")
        };
        let first = slab.made.load(Ordering::Relaxed);
        let count = wanted.min(slab.capacity() - first);
        // SAFETY: these pieces of the slab have not been handed out.
        let count = unsafe { guard::install(slab, first, count)? };
        let made = first + count;
        slab.made.store(made, Ordering::Relaxed);
        self.unmade -= count;
        if made == slab.capacity() {
            self.fresh.pop();
        }
        stacks.extend((first..made).map(|index| slab.stack(index)));
        Ok(())
    }

    /// Maps a new slab, which becomes the one that stacks are made in.
    fn map(&mut self, class: usize) -> Result<(), StackError> {
        let length = slab_length(class).ok_or(NO_MEMORY)?;
        // Before there is a mapping, which would have to be given up again.
        self.make_room()?;
        if self.spare.is_empty() {
            let slab = Slab::register(class, self.mapped % COLOURS).ok_or(NO_MEMORY)?;
            self.spare.push(slab);
        }
        let start = system::map(length).map_err(StackError::no_memory)?;
        let Some(slab) = self.spare.pop() else {
            unreachable!("there is one")
        };
        slab.set_start(start);
        // Huge pages would commit 2 MiB for a stack that uses 4 KiB. Kernels built
        // without them answer EINVAL, which is as good.
        // SAFETY: our mapping.
        let _ = unsafe { system::advise(slab.whole(), Advice::NoHugePages) };
        system::name(slab.whole());
        self.mapped += slab.capacity();
        self.unmade += slab.capacity();
        self.slabs += 1;
        self.fresh.push(slab);
        Ok(())
    }

    /// Makes room in each list for all slabs and one more, so that none grows when a stack comes
    /// back.
    fn make_room(&mut self) -> Result<(), StackError> {
        let Self {
            partial,
            fresh,
            spare,
            slabs,
            ..
        } = self;
        let all = *slabs + spare.len() + 1;
        [partial, fresh, spare]
            .into_iter()
            .try_for_each(|list| list.try_reserve(all - list.len()))
            .map_err(|_| NO_MEMORY)
    }

    /// Takes stacks back, see the function [`put`].
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
            self.free += 1;
            self.unused += usize::from(is_unused(slab));
        }
        if self.unused > KEPT_SLABS {
            self.give_up_mappings(KEPT_SLABS / 2);
        }
    }

    /// Gives up slabs that are not in use and have no promised stacks, but for so many that have
    /// been used, and so many that have not.
    #[cold]
    fn give_up_mappings(&mut self, kept: usize) {
        let mut unpromised = self.unpromised();
        let lists = [
            std::mem::take(&mut self.partial),
            std::mem::take(&mut self.fresh),
        ];
        let [partial, fresh] = lists.map(|mut list| {
            let is_idle = |slab: &Slab| is_unused(slab) || slab.made.load(Ordering::Relaxed) == 0;
            let mut idle = list.iter().filter(|slab| is_idle(slab)).count();
            list.retain(|slab| {
                let goes = idle > kept && is_idle(slab) && unpromised >= slab.capacity();
                let unmapped = goes && self.unmap(slab);
                idle -= usize::from(unmapped);
                unpromised -= if unmapped { slab.capacity() } else { 0 };
                !unmapped
            });
            list
        });
        (self.partial, self.fresh) = (partial, fresh);
    }

    /// Gives up the mapping of a slab that is not in use, and which has been taken off its list.
    fn unmap(&mut self, slab: &'static Slab) -> bool {
        // SAFETY: all of its stacks are here, so nobody uses the mapping.
        let unmapped = unsafe { system::unmap(slab.whole()) }.is_ok();
        if unmapped {
            if is_unused(slab) {
                self.free -= slab.capacity();
                self.unused -= 1;
            } else {
                self.unmade -= slab.capacity();
            }
            slab.set_start(0);
            guard::uninstalled(slab);
            self.spare.push(slab);
            self.slabs -= 1;
        }
        unmapped
    }
}

/// Whether all stacks of a slab are here. One that is not yet used up is not.
fn is_unused(slab: &Slab) -> bool {
    slab.free.load(Ordering::Relaxed).count_ones() as usize == slab.capacity()
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
