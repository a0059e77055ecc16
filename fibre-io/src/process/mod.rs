//! Child processes, after `std::process`: the same names, the same meanings, but what blocks is the
//! fibre.
//!
//! A child is waited for by a descriptor (`pidfd`), and its pipes are the runtime's. It is started on
//! a thread that may block, and hears of signals as this program does, though processors block them.

mod child;
mod command;

pub use child::Child;
pub use command::Command;
pub use std::process::{ExitStatus, Output, Stdio};

/// What is written to a child.
pub type ChildStdin = crate::pipe::PipeWriter;
/// What a child writes.
pub type ChildStdout = crate::pipe::PipeReader;
/// What a child writes to its standard error.
pub type ChildStderr = crate::pipe::PipeReader;
