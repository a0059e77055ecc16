//! How a fibre begins and ends: the closure, its result, and the joiner.
//!
//! * `task`: a closure as a fibre, and the end of one;
//! * `join`: the handle;
//! * `join_arm`: the end of a fibre as an arm of selections;
//! * `join_future`: the same for asynchronous code;
//! * `scope_count`: the fibres of a scope that have not ended;
//! * `abandoned`, `detached`: fibres that never end, and failures that nobody learns of by a join;
//! * `parents`: which fibre has spawned which;
//! * `ending`: what a fibre does at its end, besides giving its result;
//! * `body`: the table of functions that each type of fibre has.

pub(crate) mod abandoned;
pub(crate) mod body;
pub(crate) mod detached;
pub(crate) mod ending;
pub(crate) mod join;
pub(crate) mod join_arm;
pub(crate) mod join_future;
pub(crate) mod parents;
pub(crate) mod scope_count;
pub(crate) mod task;
