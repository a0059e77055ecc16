//! Stacks: reserved in slabs, guarded, coloured, reused.
//!
//! ```text
//!  one slab (a single mapping, pages committed on first touch)
//!  ┌───────┬───────────────────────┬───────┬───────────────────────┬──
//!  │ guard │ ◄──── stack 0  colour │ guard │ ◄──── stack 1  colour │ …
//!  └───────┴───────────────────────┴───────┴───────────────────────┴──
//!    limit                     base
//! ```
//!
//! * A fibre gets its stack when it first runs and gives it back when it ends,
//!   to its processor's [`StackCache`], which is last-in first-out: short
//!   fibres share one hot stack.
//! * Behind the caches is one process-wide [`pool`] per stack size.
//! * Below each stack lie 64 KiB that cannot be touched (see [`guard`]): code built
//!   without stack probes may step over a single page.
//! * The base is lowered by a small multiple of 64 bytes, another one for
//!   each stack: equal offsets would put the hot ends of all stacks into the
//!   same few cache sets.
//! * Slabs are never unmapped; memory is given back page by page.

mod cache;
mod guard;
mod overflow;
mod pool;

pub use cache::StackCache;
pub use overflow::{AlternateStack, Culprit, install as install_overflow_report};

use corosensei::stack::StackPointer;
use std::io;
use std::num::NonZeroUsize;

/// Bytes below each stack that fault.
pub const GUARD_SIZE: usize = 64 * 1024;

/// The smallest stack: room for a panic with a backtrace.
pub const MIN_STACK_SIZE: usize = 32 * 1024;

/// The default reservation. Untouched pages of it cost address space only.
pub const DEFAULT_STACK_SIZE: usize = 256 * 1024;

/// A stack, owned.
#[derive(Debug)]
pub struct Stack {
    /// One past the highest usable byte; 16-byte aligned.
    base: NonZeroUsize,
    /// The lowest byte, which belongs to the guard.
    limit: NonZeroUsize,
    /// Usable bytes reserved, without guard and colour: the pool it belongs to.
    size: usize,
}

impl Stack {
    /// The stack of `size` usable bytes whose guard begins at `limit`.
    fn new(limit: NonZeroUsize, size: usize, colour: usize) -> Self {
        let top = limit.get() + GUARD_SIZE + size;
        let base = NonZeroUsize::new(top - colour).unwrap_or(limit);
        Self { base, limit, size }
    }

    /// Usable bytes reserved.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The addresses whose touching is an overflow.
    #[must_use]
    pub fn guard(&self) -> std::ops::Range<usize> {
        self.limit.get()..self.limit.get() + GUARD_SIZE
    }
}

// SAFETY: base and limit bound memory that belongs to this value alone, stay the
// same for its life, and are aligned to 16: pages and colours are.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// Rounds a wish up to what can be had: a power of two, at least the minimum. So there
/// are few sizes, and few pools.
#[must_use]
pub fn round_size(wish: usize) -> usize {
    let size = wish.max(MIN_STACK_SIZE).checked_next_power_of_two();
    // Beyond all powers of two there is nothing to be had, which the pool will say.
    size.unwrap_or(1 << (usize::BITS - 1))
}

/// The page size. Kernels with pages of more than 32 KiB are not supported: sizes
/// and guards are multiples of that.
const PAGE: usize = 4096;

/// Why there is no stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackError {
    /// The kernel refused memory.
    NoMemory(rustix::io::Errno),
    /// Guards by `mprotect` have used up the mappings a process may have; more of
    /// them would make other people's allocations fail.
    MapLimit(usize),
}

impl std::fmt::Display for StackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoMemory(errno) => write!(f, "no memory for a fibre's stack: {errno}"),
            Self::MapLimit(limit) => write!(
                f,
                "no stack: its guard would exceed this process' share of vm.max_map_count ({limit})"
            ),
        }
    }
}

impl std::error::Error for StackError {}

impl From<StackError> for io::Error {
    fn from(error: StackError) -> Self {
        Self::new(io::ErrorKind::OutOfMemory, error)
    }
}
