//! The park side of a wait: everything that leaves a fibre's stack.
//!
//! * `wait`: a wait, from its waiter to its outcome;
//! * `suspend`: `yield_now`, `yield_point`, and others that leave the stack without waiting;
//! * `leave`: how a fibre leaves its stack;
//! * `roused`: waits that a stopped cluster ends;
//! * `sleep`: `sleep`, `sleep_until`;
//! * `bounds`: how a limit scope changes the waits within it;
//! * `timeout`: limits for all waits of a closure;
//! * `shield`: what keeps cancellation and limit scopes out;
//! * `plain_calls`: whether a fibre's calls of the C library may be replaced;
//! * `cancel`: cancellation points, tokens, shields;
//! * `grace`: stretches that a cancellation spares until its limit;
//! * `within`: the common part of calls that wait within a limit;
//! * `local`: fibre-local values;
//! * `scoped`: scoped values;
//! * `ending`: drops long chains of nested objects;
//! * `interval`: ticks without drift;
//! * `arm`: the contract of what a selection waits for;
//! * `due`, `token_arm`: moments and cancellations as arms of selections;
//! * `big_stack`, `stack_use`: calls that need more stack, and how much a fibre has used;
//! * `turn`: which waiter a lock prefers, how that one goes on, and turns with locks;
//! * `model`: waiting without fibres, for models.

pub(crate) mod arm;
#[cfg(not(loom))]
pub(crate) mod big_stack;
#[cfg(not(loom))]
mod bounds;
#[cfg(not(loom))]
pub(crate) mod cancel;
pub(crate) mod due;
#[cfg(not(loom))]
pub(crate) mod ending;
#[cfg(not(loom))]
pub(crate) mod grace;
#[cfg(not(loom))]
pub(crate) mod interval;
#[cfg(not(loom))]
mod leave;
#[cfg(not(loom))]
pub(crate) mod local;
#[cfg(loom)]
mod model;
#[cfg(not(loom))]
mod plain_calls;
#[cfg(not(loom))]
mod roused;
#[cfg(not(loom))]
pub(crate) mod scoped;
#[cfg(not(loom))]
mod shield;
#[cfg(not(loom))]
mod sleep;
#[cfg(not(loom))]
pub(crate) mod stack_use;
#[cfg(not(loom))]
mod suspend;
#[cfg(not(loom))]
pub(crate) mod timeout;
#[cfg(not(loom))]
pub(crate) mod token_arm;
#[cfg(not(loom))]
mod turn;
#[cfg(not(loom))]
mod wait;
mod within;

#[cfg(not(loom))]
pub(crate) use bounds::exemptions;
#[cfg(not(loom))]
pub use bounds::{outside_scopes, unwind_if_over, without_unwinding};
#[cfg(not(loom))]
pub use cancel::{cancellation_point, is_cancelled};
#[cfg(loom)]
pub use model::*;
#[cfg(not(loom))]
pub use plain_calls::{begin_plain_calls, end_plain_calls, has_plain_calls, may_stand_in};
#[cfg(not(loom))]
pub(crate) use shield::Shield;
#[cfg(not(loom))]
pub use shield::{is_shielded, lower_shield, raise_shield};
#[cfg(not(loom))]
pub(crate) use sleep::doze;
#[cfg(not(loom))]
pub use sleep::{sleep, sleep_until};
#[cfg(not(loom))]
pub use suspend::*;
#[cfg(not(loom))]
pub use turn::{Affinity, WakeMode};
#[cfg(not(loom))]
pub use wait::{Resume, TaskWait, Wait, Waiter};
pub use within::{begin_within, given_up, within};
