//! How much of its stack a fibre uses.

use crate::processor::running;
use crate::stack::{self, bounds_at, depth_at};
use std::ops::Range;

/// How many bytes of the caller's stack have been used, up to the deepest point: by the calling
/// fibre, or by earlier fibres on the same stack that ended a moment ago. In steps of 4 KiB. `None`
/// on a plain thread.
///
/// Asks the kernel, which takes about a microsecond. In a cluster that wipes its stacks
/// ([`ClusterBuilder::wipe_stacks`](crate::ClusterBuilder::wipe_stacks)) only the fibre itself
/// counts.
///
/// ```
/// let used = fibre::spawn(|| {
///     let large = std::hint::black_box([0_u8; 20_000]);
///     assert_eq!(large[17], 0);
///     fibre::stack_used()
/// });
/// assert!(used.join().unwrap() >= Some(20_000));
/// assert_eq!(fibre::stack_used(), None);
/// ```
#[must_use]
pub fn stack_used() -> Option<usize> {
    running()?;
    let here = 0_u8;
    depth_at((&raw const here).addr())
}

/// The address range of the calling fibre's stack, from its lowest usable byte to one past its
/// highest. `None` on a plain thread.
///
/// ```
/// let here = 0_u8;
/// assert_eq!(fibre_core::internal::stack_bounds(), None);
/// let inside = fibre::spawn(|| {
///     let here = 0_u8;
///     let bounds = fibre_core::internal::stack_bounds();
///     bounds.is_some_and(|stack| stack.contains(&(&raw const here).addr()))
/// });
/// assert!(inside.join().unwrap());
/// ```
#[must_use]
pub fn stack_bounds() -> Option<Range<usize>> {
    running()?;
    let here = 0_u8;
    bounds_at((&raw const here).addr())
}

/// The address range of the fibre's stack on which an address lies, from its lowest usable byte to
/// one past its highest. `None`: it lies on none. For reports, from any thread.
#[must_use]
pub fn stack_bounds_at(address: usize) -> Option<Range<usize>> {
    bounds_at(address)
}

/// Shows all mappings of stacks, each first alone, and then with each of its stacks that a fibre is
/// on. For a copy of the process with one thread, where no mapping comes or goes. Takes no lock and
/// no memory.
pub fn owned_stacks(f: &mut dyn FnMut(Range<usize>, Option<Range<usize>>)) {
    stack::owned_stacks(f);
}
