//! The atomic words that decide which processor, fibre or thread polls.
//!
//! * `poll_lock`: the right to poll an instance that several processors share (poller `shared`);
//! * `poll_turn`: whether the master or the poller fibre polls (poller `fibre`);
//! * `poll_request`: how idle processors call the poller's thread (pollers `thread-…`).

pub mod poll_lock;
pub mod poll_request;
pub mod poll_turn;
