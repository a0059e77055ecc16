//! Other processes: servers under measurement and the tools that load and
//! watch them.

mod command;
mod cores;
mod server;
pub(crate) mod strace;
pub(crate) mod wrk;

pub(crate) use command::output_within;
pub(crate) use cores::{Cores, Pinned};
pub(crate) use server::{Server, ServerCommand, prepare_servers};
