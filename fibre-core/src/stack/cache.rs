//! The processor level: the stacks that its next fibres will run on, hot first.
//!
//! Last-in first-out, so the stack that was freed last, and is still in the CPU's cache, is used
//! next. Stacks at this level keep all their pages; a stack that leaves for the cluster level gives
//! its deep pages back. Batches from below double while demand lasts, so a burst makes few calls
//! and a single fibre makes one stack.

use super::cluster_cache::ClusterCache;
use super::error::StackError;
use super::size::{COMMON, class_size};
use super::slab::Stack;
use super::{decay, pages, pool, thread_block};
use std::cell::{Cell, UnsafeCell};
use std::time::Instant;

/// The most bytes of stacks of one class, if all their pages were in memory.
const MOST_BYTES: usize = 64 << 20;

/// The most stacks of one class.
const MOST: usize = 256;

/// The most stacks of a class that stay, without their deep pages, though they are not needed.
const KEPT: usize = 16;

/// The most that are taken from below at once.
const BATCH: usize = 64;

/// The most promises of stacks of one class that are kept for fibres to come.
const PROMISES: usize = 64;

/// The stacks of one processor. For one thread only.
#[derive(Debug)]
pub(crate) struct StackCache {
    /// The shelves, by class; the largest classes have none.
    shelves: UnsafeCell<[Shelf; COMMON]>,
    /// Whether stacks lose what ended fibres left on them.
    wipes: bool,
    /// When the cache was last looked through for stacks that are not needed.
    looked: Cell<Instant>,
    /// Whether there may be stacks that are not needed: stacks have come since, there are many, or
    /// the look found some.
    unsettled: Cell<bool>,
    /// How many stacks it was asked for and did not have.
    misses: Cell<u64>,
}

/// The stacks of one class.
#[derive(Debug, Default)]
struct Shelf {
    /// The stacks, the youngest last.
    stacks: Vec<Stack>,
    /// The fewest stacks since the last look.
    fewest: usize,
    /// How many of the oldest had no deep pages after the last look.
    shallow: usize,
    /// The number of stacks that makes it necessary to do something: [`KEPT`], or the capacity.
    limit: usize,
    /// How many stacks to take the next time that there are none.
    batch: usize,
    /// Promises that no fibre has: see [`StackCache::promise`].
    promises: usize,
    /// How many promises to get the next time that there are none.
    promise_batch: usize,
}

impl StackCache {
    /// An empty cache; if it `wipes`, stacks are given back to the kernel page by page at the
    /// end of each fibre.
    #[must_use]
    pub(crate) fn new(wipes: bool, now: Instant) -> Self {
        Self {
            shelves: UnsafeCell::default(),
            wipes,
            looked: Cell::new(now),
            unsettled: Cell::new(false),
            misses: Cell::new(0),
        }
    }

    /// How many stacks it was asked for and did not have.
    pub(crate) fn misses(&self) -> u64 {
        self.misses.get()
    }

    /// The shelves. One borrow at a time.
    #[allow(
        clippy::mut_from_ref,
        reason = "one thread, and no borrow outlives a method"
    )]
    fn shelves(&self) -> &mut [Shelf; COMMON] {
        // SAFETY: one thread; methods neither call each other nor user code while they borrow.
        unsafe { &mut *self.shelves.get() }
    }

    /// Takes a stack of this class ([`super::class_of`]), from `cluster_cache` or from the system
    /// if there is none here.
    ///
    /// # Errors
    ///
    /// [`StackError`], when none can be made.
    #[inline]
    pub(crate) fn take(
        &self,
        class: usize,
        cluster_cache: &ClusterCache,
    ) -> Result<Stack, StackError> {
        if class < COMMON {
            let shelf = &mut self.shelves()[class];
            if let Some(stack) = shelf.stacks.pop() {
                shelf.fewest = shelf.fewest.min(shelf.stacks.len());
                return Ok(stack);
            }
        }
        self.take_from_below(class, cluster_cache)
    }

    /// Promises a stack of this class to a fibre, which [`redeem`](Self::redeem)s it, here or at
    /// another processor. Costs addresses, and no memory. Promises come from the system in batches,
    /// and those that were not needed, as a stack was here already, serve the next fibres.
    ///
    /// # Errors
    ///
    /// [`StackError`], when no more stacks can be made.
    #[inline]
    pub(crate) fn promise(
        &self,
        class: usize,
        cluster_cache: &ClusterCache,
    ) -> Result<(), StackError> {
        if let Some(shelf) = self.shelves().get_mut(class)
            && shelf.promises > 0
        {
            shelf.promises -= 1;
            return Ok(());
        }
        self.promise_from_below(class, cluster_cache)
    }

    /// Gets a batch of promises, and gives one of them.
    #[cold]
    fn promise_from_below(
        &self,
        class: usize,
        cluster_cache: &ClusterCache,
    ) -> Result<(), StackError> {
        let Some(shelf) = self.shelves().get_mut(class) else {
            return pool::promise(class, 1).map(drop);
        };
        let wanted = shelf.promise_batch.clamp(1, PROMISES / 2);
        shelf.promise_batch = wanted * 2;
        self.unsettled.set(true);
        let more = pool::promise(class, wanted).or_else(|_| {
            // Unused stacks here would do instead.
            pool::put(class, shelf.stacks.drain(..));
            shelf.fewest = 0;
            cluster_cache.surrender(class);
            pool::promise(class, 1)
        })?;
        shelf.promises += more - 1;
        Ok(())
    }

    /// Takes the stack that a fibre has been promised.
    ///
    /// # Errors
    ///
    /// [`StackError`], when the kernel has no memory for its guard; the promise stands.
    #[inline]
    pub(crate) fn redeem(
        &self,
        class: usize,
        cluster_cache: &ClusterCache,
    ) -> Result<Stack, StackError> {
        let Some(shelf) = self.shelves().get_mut(class) else {
            self.misses.set(self.misses.get() + 1);
            return pool::redeem_one(class);
        };
        if let Some(stack) = shelf.stacks.pop() {
            shelf.fewest = shelf.fewest.min(shelf.stacks.len());
            shelf.keep_promises(class, 1);
            return Ok(stack);
        }
        self.redeem_from_below(class, cluster_cache)
    }

    /// The part of [`redeem`](Self::redeem) for a processor without a stack.
    #[cold]
    fn redeem_from_below(
        &self,
        class: usize,
        cluster_cache: &ClusterCache,
    ) -> Result<Stack, StackError> {
        self.misses.set(self.misses.get() + 1);
        let (shelf, wanted) = self.next_batch(class);
        cluster_cache.take(class, wanted, &mut shelf.stacks);
        if shelf.stacks.is_empty() {
            // What these stand for may go with the one that is redeemed.
            shelf.forgive(class);
            pool::take(class, wanted, true, &mut shelf.stacks)?;
        } else {
            shelf.keep_promises(class, 1);
        }
        match shelf.stacks.pop() {
            Some(stack) => Ok(stack),
            None => unreachable!("the pool gave no stack and no error"),
        }
    }

    /// Takes a promise back: its fibre will not be made.
    pub(crate) fn unpromise(&self, class: usize) {
        match self.shelves().get_mut(class) {
            Some(shelf) => shelf.keep_promises(class, 1),
            None => pool::forgive(class, 1),
        }
    }

    /// A shelf of a common class without stacks, and how many it should take.
    fn next_batch(&self, class: usize) -> (&mut Shelf, usize) {
        let shelf = &mut self.shelves()[class];
        let wanted = shelf.batch.clamp(1, BATCH.min(capacity(class) / 2));
        shelf.batch = wanted * 2;
        shelf.fewest = 0;
        self.unsettled.set(true);
        (shelf, wanted)
    }

    /// Gets a batch, and takes one stack of it.
    #[cold]
    fn take_from_below(
        &self,
        class: usize,
        cluster_cache: &ClusterCache,
    ) -> Result<Stack, StackError> {
        self.misses.set(self.misses.get() + 1);
        if class >= COMMON {
            return pool::take_one(class);
        }
        let (shelf, wanted) = self.next_batch(class);
        cluster_cache.take(class, wanted, &mut shelf.stacks);
        if shelf.stacks.is_empty() {
            pool::take(class, wanted, false, &mut shelf.stacks)?;
        }
        match shelf.stacks.pop() {
            Some(stack) => Ok(stack),
            None => unreachable!("the pool gave no stack and no error"),
        }
    }

    /// Takes back a stack that is not in use.
    #[inline]
    pub(crate) fn put(&self, stack: Stack, cluster_cache: &ClusterCache) {
        let class = stack.class();
        if class >= COMMON || self.wipes {
            return self.put_far(stack);
        }
        let shelf = &mut self.shelves()[class];
        shelf.stacks.push(stack);
        if shelf.stacks.len() > shelf.limit {
            self.unsettled.set(true);
            shelf.grow_or_spill(class, cluster_cache);
        }
    }

    /// Gives a stack that no processor keeps to the system.
    #[cold]
    fn put_far(&self, stack: Stack) {
        if self.wipes {
            thread_block::end_block(&stack);
        }
        pool::put_cold(stack);
    }

    /// When to look for stacks that are not needed, if there may be some.
    #[inline]
    #[must_use]
    pub(crate) fn decay_due(&self, cluster_cache: &ClusterCache) -> Option<Instant> {
        let unsettled = self.unsettled.get() || !cluster_cache.is_empty();
        unsettled.then(|| self.looked.get() + decay::INTERVAL)
    }

    /// Sends on the stacks that were not needed since the last look, if that was long enough ago.
    pub(crate) fn decay(&self, now: Instant, cluster_cache: &ClusterCache) {
        if now < self.looked.get() + decay::INTERVAL {
            return;
        }
        self.looked.set(now);
        let mut unsettled = false;
        for (class, shelf) in self.shelves().iter_mut().enumerate() {
            unsettled |= shelf.decay(class);
        }
        self.unsettled.set(unsettled);
        cluster_cache.decay(now);
    }
}

impl Shelf {
    /// Deals with more stacks than the limit: the limit grows to the capacity; beyond that, the
    /// older half goes to the cluster.
    #[cold]
    fn grow_or_spill(&mut self, class: usize, cluster_cache: &ClusterCache) {
        let capacity = capacity(class);
        if self.stacks.len() <= capacity {
            self.limit = capacity;
            return;
        }
        let half = capacity / 2;
        pages::release_deep(&self.stacks[..half]);
        cluster_cache.put(class, self.stacks.drain(..half));
        self.fewest = self.fewest.saturating_sub(half);
        self.shallow = 0;
    }

    /// Keeps promises for the next fibres, unless there are many, or others are refused stacks.
    #[inline]
    fn keep_promises(&mut self, class: usize, more: usize) {
        self.promises += more;
        if self.promises > PROMISES || pool::is_scarce(class) {
            self.forgive(class);
        }
    }

    /// Gives all promises back.
    #[cold]
    fn forgive(&mut self, class: usize) {
        pool::forgive(class, std::mem::take(&mut self.promises));
    }

    /// Sends stale stacks to the system, and the deep pages of the idle ones that stay. `true`: the
    /// shelf should be looked at again.
    fn decay(&mut self, class: usize) -> bool {
        self.forgive(class);
        self.promise_batch /= 2;
        let stale = if pool::is_scarce(class) {
            // Others have been refused.
            self.stacks.len()
        } else {
            decay::stale(self.fewest.saturating_sub(KEPT))
        };
        pool::put(class, self.stacks.drain(..stale));
        let idle = self.fewest.saturating_sub(stale);
        let shallow = self.shallow.min(self.fewest).saturating_sub(stale);
        if idle > shallow {
            pages::release_deep(&self.stacks[shallow..idle]);
        }
        self.shallow = idle.max(shallow);
        self.fewest = self.stacks.len();
        self.batch /= 2;
        let many = self.stacks.len() > KEPT;
        if !many {
            self.limit = KEPT;
        }
        many || stale > 0 || idle > shallow
    }
}

/// The most stacks of this class that a processor keeps.
fn capacity(class: usize) -> usize {
    (MOST_BYTES / class_size(class)).clamp(KEPT, MOST)
}

impl Drop for StackCache {
    fn drop(&mut self) {
        for (class, shelf) in self.shelves.get_mut().iter_mut().enumerate() {
            pool::put(class, shelf.stacks.drain(..));
            shelf.forgive(class);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::size::class_of;
    use super::super::system::faults;
    use super::*;

    /// When every stack is promised to some fibre, a processor that redeems one by one still gets
    /// them in batches.
    #[test]
    fn promises_are_redeemed_in_batches() {
        /// Enough for many batches.
        const FIBRES: usize = 512;
        let _turn = faults::turn();
        let class = class_of(1 << 20);
        let batch = BATCH.min(capacity(class) / 2);
        let (cache, cluster_cache) = (
            StackCache::new(false, Instant::now()),
            ClusterCache::default(),
        );
        (0..FIBRES).for_each(|_| cache.promise(class, &cluster_cache).unwrap());
        let redeemed: Vec<Stack> = (0..FIBRES)
            .map(|_| cache.redeem(class, &cluster_cache).unwrap())
            .collect();
        // A slab that ends cuts a batch in two, and the first batches are small.
        let misses = cache.misses() as usize;
        assert!(misses <= 3 * FIBRES / batch, "{misses} for {FIBRES}");
        redeemed
            .into_iter()
            .for_each(|stack| cache.put(stack, &cluster_cache));
    }
}
