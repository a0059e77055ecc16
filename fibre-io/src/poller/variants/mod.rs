//! The pollers other than the default one. A new one is a file here, which tells its own story, its
//! `mod` line, and a row of fibre-core's table (`fibre-core/src/config/pollers.rs`): all lists of
//! pollers are made of that. (`master` is the thread of the poller `fibre`.)

pub(super) mod fibre;
mod master;
pub(super) mod shared;
pub(super) mod thread;
