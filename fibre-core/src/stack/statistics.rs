//! How many stacks there are, and how deep they have been used.
//!
//! Nothing is counted while fibres run: a caller that asks makes the runtime look at every slab. A
//! stack's owner word says whether it is in use, and the kernel says what is in memory.

use super::size::{CLASSES, class_size};
use super::slab::{self, Slab, Stack};
use super::{pages, pool, thread_block};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The stacks of one size, of the whole process. See [`stack_statistics`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackClass {
    /// Bytes reserved for each.
    pub size: usize,
    /// How many there are.
    pub existing: usize,
    /// How many have a fibre on them.
    pub in_use: usize,
    /// How many have no fibre on them and keep pages, for the next fibres.
    pub cached: usize,
    /// Bytes of all of them that are in memory; what lies below a megabyte that has not been
    /// touched is not seen.
    pub resident: usize,
    /// The deepest use, in bytes, of those that were looked at: all that are in memory now, and a
    /// sample of those with memory that went back to the kernel. In steps of 4 KiB.
    pub deepest: usize,
}

/// How many stacks there are of each size, how many are in use, what they occupy and how deep they
/// have been used; only for sizes that exist. Helps to choose a stack size, with
/// [`stack_used`](crate::stack_used). Takes about half a microsecond per stack, and no new ones are
/// made meanwhile.
///
/// ```
/// fibre::spawn(|| {
///     let class = fibre::stack_statistics()[0];
///     assert!(class.in_use >= 1 && class.in_use <= class.existing);
///     assert!(class.deepest <= class.size);
/// })
/// .join()
/// .unwrap();
/// ```
#[must_use]
pub fn stack_statistics() -> Vec<StackClass> {
    let classes = (0..CLASSES).map(|class| pool::frozen(class, || look_at(class)));
    classes.filter(|class| class.existing > 0).collect()
}

/// How many stacks there are, of the whole process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackCounts {
    /// How many there are, of all sizes.
    pub existing: usize,
    /// How many of them no cluster has at hand, as their fibres have ended some time ago.
    pub free: usize,
    /// Bytes of addresses that all of them have reserved; [`stack_statistics`] says how many of
    /// these are in memory.
    pub reserved: usize,
}

/// How many stacks there are: numbers that are there anyway, and may be a moment apart.
#[must_use]
pub(crate) fn stack_counts() -> StackCounts {
    let mut counts = StackCounts::default();
    for slab in slab::all().filter(|slab| slab.whole().start != 0) {
        let made = slab.made.load(Ordering::Relaxed);
        let free = slab.free.load(Ordering::Relaxed);
        counts.existing += made;
        counts.free += (0..made).filter(|index| free >> index & 1 != 0).count();
        counts.reserved += made * class_size(slab.class);
    }
    counts
}

/// Thread blocks of fibres with thread-locals of their own, in the whole process: see
/// [`ClusterBuilder::own_thread_locals`](crate::ClusterBuilder::own_thread_locals).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadBlockCounts {
    /// How many have been made. The runtime makes one to try whether it can.
    pub born: u64,
    /// How many the C library has ended.
    pub ended: u64,
    /// How many belong to fibres that have begun and have not ended.
    pub in_fibres: u64,
}

impl ThreadBlockCounts {
    /// The counts, if so many belong to fibres.
    pub(crate) fn with(in_fibres: u64) -> Self {
        let [born, ended] = thread_block::counts();
        Self {
            born,
            ended,
            in_fibres,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn existing(&self) -> u64 {
        self.born.saturating_sub(self.ended)
    }

    /// How many there are for fibres to come.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.existing().saturating_sub(self.in_fibres)
    }
}

/// Looks at all stacks of a class. Their mappings stay meanwhile.
fn look_at(class: usize) -> StackClass {
    let mut seen = StackClass {
        size: class_size(class),
        existing: 0,
        in_use: 0,
        cached: 0,
        resident: 0,
        deepest: 0,
    };
    let slabs = slab::all().filter(|slab| slab.class == class && slab.whole().start != 0);
    for slab in slabs {
        let made = slab.made.load(Ordering::Relaxed);
        let free = slab.free.load(Ordering::Relaxed);
        seen.existing += made;
        (0..made)
            .filter(|index| free >> index & 1 == 0)
            .for_each(|index| seen.add(slab, index));
    }
    pages::note_deepest(class, seen.deepest);
    seen.deepest = pages::deepest(class);
    seen
}

impl StackClass {
    /// Counts a stack that the pool does not have. The caller holds the lock of the slab's class.
    fn add(&mut self, slab: &'static Slab, index: usize) {
        // The value serves only to find where the stack lies.
        let stack: Stack = slab.stack(index);
        let (depth, resident) = pages::depth_and_residence(stack.guard().end, stack.base().get());
        self.resident += resident;
        self.deepest = self.deepest.max(depth);
        // SAFETY: the mapping stays under the lock of its class (invariant 1 of slabs).
        if unsafe { slab.owner(index) }.is_null() {
            self.cached += usize::from(resident > 0);
        } else {
            self.in_use += 1;
        }
    }
}

/// The usable bytes of the stack that this address lies on; `None`: on none of ours.
pub(crate) fn bounds_at(address: usize) -> Option<Range<usize>> {
    let (slab, index) = slab::find(address)?;
    let stack: Stack = slab.stack(index);
    Some(stack.guard().end..stack.base().get())
}

/// Shows all mappings of stacks, and in each the stacks that fibres are on, with what lies above
/// them. Takes no lock and no memory. No mapping may come or go meanwhile.
pub(crate) fn owned_stacks(f: &mut dyn FnMut(Range<usize>, Option<Range<usize>>)) {
    for slab in slab::all() {
        let whole = slab.whole();
        if whole.start == 0 {
            continue;
        }
        let all = whole.start..whole.start + whole.length;
        f(all.clone(), None);
        for index in 0..slab.made.load(Ordering::Relaxed).min(slab.capacity()) {
            // SAFETY: the caller's promise that the mapping stays.
            if !unsafe { slab.owner(index) }.is_null() {
                let stack: Stack = slab.stack(index);
                f(all.clone(), Some(stack.guard().end..stack.base().get()));
            }
        }
    }
}

/// How deep the stack that this address lies on has been used; `None`: on none of ours.
pub(crate) fn depth_at(address: usize) -> Option<usize> {
    let (slab, index) = slab::find(address)?;
    let stack: Stack = slab.stack(index);
    let (depth, _) = pages::depth_and_residence(stack.guard().end, stack.base().get());
    Some(depth)
}
