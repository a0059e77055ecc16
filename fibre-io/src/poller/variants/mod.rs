//! The pollers other than the default one. A new one is a file here with its own story, its `mod`
//! line, and a row of fibre-core's table (`fibre-core/src/config/pollers.rs`), which all lists of
//! pollers come from. (`master` is the thread of the poller `fibre`.)

pub(super) mod fibre;
mod master;
pub(super) mod shared;
pub(super) mod thread;
