//! How much of its stack a fibre uses.

use crate::park::running;
use crate::stack::{bounds_at, depth_at};
use std::ops::Range;

/// How many bytes of the caller's stack have been used, up to the deepest point: by the calling
/// fibre, or by fibres that had the stack before and have ended a moment ago. In steps of 4 KiB.
/// `None` on a plain thread.
///
/// Asks the kernel, which takes about a microsecond. In a cluster that wipes its stacks
/// ([`ClusterBuilder::wipe_stacks`](crate::ClusterBuilder::wipe_stacks)) only the fibre itself
/// counts.
///
/// ```
/// let used = fibre_core::spawn(|| {
///     let large = std::hint::black_box([0_u8; 20_000]);
///     assert_eq!(large[17], 0);
///     fibre_core::stack_used()
/// });
/// assert!(used.join().unwrap() >= Some(20_000));
/// assert_eq!(fibre_core::stack_used(), None);
/// ```
#[must_use]
pub fn stack_used() -> Option<usize> {
    running()?;
    let here = 0_u8;
    depth_at((&raw const here).addr())
}

/// Where the stack of the calling fibre lies, from its lowest usable byte to one past its highest. `None` on a plain
/// thread.
///
/// ```
/// let here = 0_u8;
/// assert_eq!(fibre_core::stack_bounds(), None);
/// let inside = fibre_core::spawn(|| {
///     let here = 0_u8;
///     fibre_core::stack_bounds().is_some_and(|stack| stack.contains(&(&raw const here).addr()))
/// });
/// assert!(inside.join().unwrap());
/// ```
#[must_use]
pub fn stack_bounds() -> Option<Range<usize>> {
    running()?;
    let here = 0_u8;
    bounds_at((&raw const here).addr())
}
