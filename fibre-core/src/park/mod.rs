//! The park side of a wait: all that leaves the stack of a fibre.
//!
//! * `suspend`: `park_until`, `yield_now`, `sleep`, `yield_point`;
//! * `cancel`: cancellation points, tokens, shields;
//! * `within`: what calls share that wait within a limit;
//! * `local`: fibre-local values;
//! * `interval`: ticks without drift;
//! * `big_stack`, `stack_use`: calls that need more stack, and how much a fibre has used;
//! * `model`: waiting without fibres, for models.

#[cfg(not(loom))]
pub(crate) mod big_stack;
#[cfg(not(loom))]
pub(crate) mod cancel;
#[cfg(not(loom))]
pub(crate) mod interval;
#[cfg(not(loom))]
pub(crate) mod local;
#[cfg(loom)]
mod model;
#[cfg(not(loom))]
pub(crate) mod stack_use;
#[cfg(not(loom))]
mod suspend;
mod within;

#[cfg(not(loom))]
pub use cancel::{cancellation_point, is_cancelled};
#[cfg(loom)]
pub use model::*;
#[cfg(not(loom))]
pub use suspend::*;
pub use within::{begin_within, given_up, within};
