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
//! * A fibre gets its stack when it first runs. If its spawner can report an error, the fibre has
//!   the promise of one from the start ([`pool`]). At its end it gives the stack back to its
//!   processor's [`StackCache`], which is last-in first-out: short fibres share one hot stack.
//! * Sizes are powers of two: *classes*. Free stacks of a class lie at three levels: processor
//!   (hot: with all pages), cluster ([`ClusterCache`]; warm: with the top pages) and system
//!   ([`pool`]; cold: without pages). They move in batches: towards processors on demand, and back
//!   when there are too many or they have not been needed for a while ([`decay`]).
//! * Below each stack lie 64 KiB that cannot be touched (see [`guard`]): code built
//!   without stack probes may step over a single page.
//! * The base is lowered by a small multiple of 64 bytes, which differs from stack to stack: equal
//!   offsets would put the hot ends of all stacks into the same few cache sets.
//! * Above the base is the *owner word*: the address of the fibre that is on the stack. With the
//!   list of slabs ([`slab`]) it tells which stack's guard was touched ([`overflow`]).
//! * Colour, owner word and the runtime's own frames lie in an extra page, so all of the requested
//!   size belongs to the fibre's own function.
//!
//! Files:
//!
//! * `switch`: the machine code that continues on another stack;
//! * `sanitizer`: what the runtime tells AddressSanitizer about switches;
//! * `context`: a computation on a stack of its own, which can be left and resumed;
//! * `size`: how large stacks are, and their classes;
//! * `error`: why there is no stack;
//! * `system`: the system calls that make stacks;
//! * `pages`: the memory under stacks: populated, looked at, given back;
//! * `cluster_cache`: the cluster level: warm stacks that processors exchange;
//! * `cache`: the processor level: the stacks of its next fibres, hot first;
//! * `statistics`: how many stacks there are, and how deep they have been used;
//! * `thread_block`: thread-locals of a fibre's own, which lie on its stack;
//! * `alternate`: the stack that a processor's thread handles signals on.

mod alternate;
mod cache;
mod cluster_cache;
pub(crate) mod context;
mod decay;
mod error;
mod guard;
mod overflow;
mod pages;
mod pool;
mod sanitizer;
mod size;
mod slab;
mod statistics;
mod switch;
mod system;
mod thread_block;

pub(crate) use alternate::AlternateStack;
pub(crate) use cache::StackCache;
pub(crate) use cluster_cache::ClusterCache;
pub use error::StackError;
pub use overflow::on_stack_overflow;
pub(crate) use overflow::{Fibre, OverflowHook, install as install_overflow_report};
pub(crate) use pool::{put_cold, take_one};
pub(crate) use size::{DEFAULT_STACK_SIZE, class_of, round_size};
pub use size::{GUARD_SIZE, MIN_STACK_SIZE, page_size};
pub(crate) use slab::{OwnerWord, Stack};
pub(crate) use statistics::stack_counts;
pub use statistics::{StackClass, StackCounts, ThreadBlockCounts, stack_statistics};
pub(crate) use statistics::{bounds_at, depth_at, owned_stacks};
pub(crate) use thread_block::{
    BlockEvent, DEPARTED_PLACE, Images, ThreadBlock, as_thread, end_of_thread, end_thread_locals,
    forget_values, listen as listen_to_blocks, prepare as prepare_threads, reset_thread,
};
