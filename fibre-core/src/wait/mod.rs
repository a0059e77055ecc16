//! The wake side of a wait: what a waker touches.
//!
//! * `waiter`: one wait, and the outcome word that the first waker wins;
//! * `task_wait`: the wait of a task of asynchronous code;
//! * `limit`: what else may end a wait, and the error of calls that it ended;
//! * `limit_scope`: limits all waits of the calls within a time-out;
//! * `completion`: "it has happened", for one waiter;
//! * `timer`: deadlines, one heap for each processor;
//! * `wall_clock`: deadlines on `CLOCK_REALTIME`;
//! * `wait_object`: what a fibre or thread waits for, in one word;
//! * `since`: when fibres began to wait;
//! * `cancelled`: what a cancelled call fails with.

#[cfg_attr(loom, allow(dead_code, reason = "nobody looks for waits in a model"))]
pub(crate) mod cancelled;
pub mod completion;
pub(crate) mod limit;
#[cfg(not(loom))]
pub(crate) mod limit_scope;
#[cfg(all(test, not(loom)))]
pub mod no_fibre;
#[cfg(not(loom))]
pub(crate) mod since;
pub mod task_wait;
#[cfg(not(loom))]
pub(crate) mod timer;
#[cfg_attr(loom, allow(dead_code, reason = "nobody is seen to wait in a model"))]
pub(crate) mod wait_object;
pub mod waiter;
pub(crate) mod wall_clock;
