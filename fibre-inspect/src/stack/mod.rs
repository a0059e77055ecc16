//! The stack of a fibre or thread that does not run.
//!
//! * `memory`: reading memory that may not be there;
//! * `modules`: the program and its libraries, and their unwind tables;
//! * `unwind`: walking up.

pub(crate) mod memory;
pub(crate) mod modules;
pub(crate) mod unwind;
