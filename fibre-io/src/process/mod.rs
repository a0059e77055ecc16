//! Child processes, after `std::process`: the same names and meanings, but calls block the fibre.
//!
//! A fibre waits for a child on a descriptor (`pidfd`), and the child's pipes are the runtime's. A
//! thread that may block starts the child. The child gets signals as this program does, although
//! processors block them.
//!
//! Files:
//!
//! * `command`: a program to be started;
//! * `child`: a child process;
//! * `child_arm`: the end of one as an arm of selections.

mod child;
mod child_arm;
mod command;

pub use child::Child;
pub use child_arm::ChildArm;
pub use command::Command;
pub use std::process::{ExitStatus, Output, Stdio};

/// What is written to a child.
pub type ChildStdin = crate::pipe::PipeWriter;
/// What a child writes.
pub type ChildStdout = crate::pipe::PipeReader;
/// What a child writes to its standard error.
pub type ChildStderr = crate::pipe::PipeReader;
