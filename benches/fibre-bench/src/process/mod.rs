//! Other processes: the programs under measurement and the tools that load and
//! watch them.

mod command;
mod load;
pub(crate) mod programs;
mod server;
pub(crate) mod strace;
pub(crate) mod valgrind;
pub(crate) mod wrk;

pub(crate) use command::{installed, output_within};
pub(crate) use load::{Disturbance, Held, LoadCommand, Mode};
pub(crate) use server::Server;
